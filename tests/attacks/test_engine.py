"""The engine's scores are the model's own, for every kind of network and every kind of question."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from tests.attacks.world import KINDS, World

from sgbt.attacks import attack
from sgbt.attacks.queries.classifier import ClassifierEngine
from sgbt.attacks.queries.engine import IdQuery, PlainEngine, Query, WordSwaps, query_engine
from sgbt.attacks.queries.prefix_tree import WIDTH, PrefixTree, ReadSchedule
from sgbt.attacks.space import MASKED, SearchSpace, State
from sgbt.core.errors import AttackError
from sgbt.models import BagOfWords, Sum, TextClassifier
from sgbt.models.bag_of_words.features import FAMILIES, keys_at
from sgbt.models.bag_of_words.model import neighbours

LENGTHS = (0, 1, 2, 3, 5, 30)


def random_states(space: SearchSpace, count: int, seed: int = 0) -> State:
    rng = np.random.default_rng(seed)
    limits = space.substitutes + 1
    return (rng.integers(0, limits, size=(count, len(space))) * (rng.random((count, len(space))) < 0.4)).astype(
        np.int32
    )


def engine_of(classifier: TextClassifier, space: SearchSpace) -> ClassifierEngine:
    return ClassifierEngine(classifier, space, query_engine(classifier.model))


def asked_directly(classifier: TextClassifier, space: SearchSpace, states: State) -> np.ndarray:
    texts = [
        " ".join(
            "zzunknown" if number == MASKED else options[number]
            for options, number in zip(space.options, state, strict=True)
        )
        for state in states.tolist()
    ]
    return classifier.predict(texts).probabilities


@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_scores_equal_the_models_own(
    kind: str, length: int, single: bool, world: World, classifier_of: Callable[..., TextClassifier]
) -> None:
    classifier = classifier_of(kind)
    text = world.text(np.random.default_rng(length), length=length, label=0)
    words = ["strange", "nowhere", *text.split()][:length]
    space = SearchSpace.of(words, world.table, length=classifier.max_length)
    model = classifier.model.float() if single else classifier.model.double()
    try:
        engine = engine_of(classifier, space)
        states = random_states(space, 12)
        assert np.abs(engine.answer(Query(states)).texts - asked_directly(classifier, space, states)).max() < 1e-5
        owners = np.repeat(np.arange(12), length * 3)
        positions = np.tile(np.repeat(np.arange(length), 3), 12)
        choices = np.tile(np.array([MASKED, 0, 1]), 12 * length)
        choices = np.minimum(choices, space.substitutes[positions]) if length else choices
        swaps = WordSwaps(owners, positions, choices)
        found = engine.answer(Query(states, swaps))
        assert np.abs(found.texts - asked_directly(classifier, space, states)).max() < 1e-5
        if length:
            changed = asked_directly(classifier, space, swaps.applied(states))
            assert np.abs(found.swaps - changed).max() < 1e-5
    finally:
        model.double()


@pytest.fixture(params=[False, True], ids=["evenly", "places"])
def linear(world: World, request: pytest.FixtureRequest) -> TextClassifier:
    """A BagOfWords with weights for every family of features, and codes that several words share."""
    texts, _ = world.texts(60, length=12, seed=4)
    ids = torch.tensor(np.array([world.vocabulary.encode(text.split()) for text in texts]))
    codes = torch.arange(len(world.vectors)) // 2
    around = neighbours(codes[ids])
    keys = torch.unique(keys_at(FAMILIES, ids, codes[ids], *around))
    model = BagOfWords(features=FAMILIES, places=request.param).double()
    model.adopt(codes=codes, keys=keys)
    model.weight.data = torch.randn(model.weight.shape, generator=torch.Generator().manual_seed(0)).double()
    for side in () if model.places is None else (model.places.start, model.places.end):
        side.data = torch.randn(side.shape, generator=torch.Generator().manual_seed(1)).double()
    return TextClassifier(model, world.vocabulary, ("no", "yes"), world.table)


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "plain"])
@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("length", LENGTHS)
def test_scores_of_a_linear_model(length: int, single: bool, fast: bool, world: World, linear: TextClassifier) -> None:
    """Its own fast way, and the way of a network that has none: every distinct text goes through the model."""
    model = linear.model.float() if single else linear.model
    words = ["nowhere", *world.text(np.random.default_rng(2), length=30, label=0).split()][:length]
    space = SearchSpace.of(words, world.table)
    states = random_states(space, 9)
    owners = np.repeat(np.arange(9), 2 * length)
    positions = np.tile(np.arange(length), 18)
    masked = WordSwaps(owners, positions, np.resize([MASKED, 0], len(owners)))
    every = WordSwaps(np.zeros(len(space.swaps[0]), np.int64), *space.swaps)
    network = query_engine(model) if fast else PlainEngine(model)
    for swaps in (masked, every):
        found = ClassifierEngine(linear, space, network).answer(Query(states, swaps))
        assert np.abs(found.texts - asked_directly(linear, space, states)).max() < 1e-5
        if len(swaps):
            assert np.abs(found.swaps - asked_directly(linear, space, swaps.applied(states))).max() < 1e-5


def test_a_linear_model_is_attacked(world: World, linear: TextClassifier) -> None:
    """The same texts and queries with its fast way as without one; gradient says that it cannot."""
    texts, _ = world.texts(12, length=9)
    for method in ("greedy", "genetic:openattack", "pso:openattack", "pwws"):
        rows = attack(linear, texts, world.table, method=method)
        plain = attack(lambda asked: linear.predict(asked).probabilities, texts, world.table, method=method)
        assert [(row.perturbed, row.queries) for row in rows] == [(row.perturbed, row.queries) for row in plain]
        assert "success" in {row.status for row in rows}
    with pytest.raises(AttackError, match="gradient"):
        attack(linear, texts[:1], world.table, method="gradient")


def assert_alike_in_company(classifier: TextClassifier, spaces: list[SearchSpace], questions: list[Query]) -> None:
    """To the last bit, the answers to several questions together are those to each alone."""
    network = query_engine(classifier.model)
    engines = [ClassifierEngine(classifier, space, network) for space in spaces]
    together = ClassifierEngine.together(engines, questions)
    for space, question, answer in zip(spaces, questions, together, strict=True):
        alone = engine_of(classifier, space).answer(question)
        np.testing.assert_array_equal(alone.texts, answer.texts)
        np.testing.assert_array_equal(alone.swaps, answer.swaps)


@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
def test_a_linear_model_answers_alike_in_any_company(single: bool, world: World, linear: TextClassifier) -> None:
    if single:
        linear.model.float()
    rng = np.random.default_rng(8)
    spaces = [SearchSpace.of(world.text(rng, length=own, label=0).split(), world.table) for own in (9, 1, 30, 17)]
    questions = [
        Query(random_states(space, 5), WordSwaps(np.zeros(len(space.swaps[0]), np.int64), *space.swaps))
        for space in spaces
    ]
    assert_alike_in_company(linear, spaces, questions)


def test_more_contents_than_numbers_can_tell_apart(
    world: World, classifier_of: Callable[..., TextClassifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows are then told apart by comparing them, and forgotten after each question: the answers are the same."""
    space = SearchSpace.of(world.text(np.random.default_rng(3), length=20, label=1).split(), world.table)
    swaps = WordSwaps(np.zeros(len(space.swaps[0]), np.int64), *space.swaps)
    question = Query(random_states(space, 3), swaps)
    usual = engine_of(classifier_of("cnn"), space).answer(question)
    monkeypatch.setattr("sgbt.attacks.queries.text_windows.KEYS", 1.0)
    found = engine_of(classifier_of("cnn"), space).answer(question)
    np.testing.assert_array_equal(found.texts, usual.texts)
    np.testing.assert_array_equal(found.swaps, usual.swaps)
    whole = Query(random_states(space, 30))
    monkeypatch.undo()
    usual = engine_of(classifier_of("cnn"), space).answer(whole)
    monkeypatch.setattr("sgbt.attacks.queries.text_windows.KEYS", 1.0)
    np.testing.assert_array_equal(engine_of(classifier_of("cnn"), space).answer(whole).texts, usual.texts)


def test_a_full_pool_forgets_and_goes_on(
    world: World, classifier_of: Callable[..., TextClassifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    space = SearchSpace.of(world.text(np.random.default_rng(4), length=20, label=1).split(), world.table)
    questions = [Query(random_states(space, 10, seed)) for seed in range(5)]
    engine = engine_of(classifier_of("cnn"), space)
    usual = [engine.answer(question).texts for question in questions]
    monkeypatch.setattr("sgbt.attacks.queries.caches.MOST", 200)
    engine = engine_of(classifier_of("cnn"), space)
    for question, expected in zip(questions, usual, strict=True):
        np.testing.assert_array_equal(engine.answer(question).texts, expected)


def test_few_and_many_positions_agree(world: World, classifier_of: Callable[..., TextClassifier]) -> None:
    """Running maxima (many positions) and direct ones (few) are two ways to the same value."""
    words = world.text(np.random.default_rng(3), length=40, label=1).split()
    space = SearchSpace.of(words, world.table)
    engine = engine_of(classifier_of("cnn"), space)
    positions, choices = space.swaps
    zero = np.zeros(len(positions), np.int64)
    many = engine.answer(Query(space.original[None], WordSwaps(zero, positions, choices))).swaps
    each = [WordSwaps(zero[:1], positions[at : at + 1], choices[at : at + 1]) for at in range(len(positions))]
    one = [engine.answer(Query(space.original[None], swaps)).swaps for swaps in each]
    np.testing.assert_array_equal(many, np.concatenate(one))


def test_a_tree_reads_each_beginning_once() -> None:
    texts = np.array([[1, 2, 3], [1, 2, 4], [0, 2, 3], [1, 2, 3], [1, 5, 3]])
    tree = PrefixTree.of(texts)
    np.testing.assert_array_equal(tree.texts[tree.branch_of], texts)
    for step in range(3):
        beginnings = {tuple(row[: step + 1]) for row in texts.tolist()}
        assert (tree.starts <= step).sum() == len(beginnings)
    for branch, (parent, start) in enumerate(zip(tree.parents, tree.starts, strict=True)):
        assert (parent < 0) == (start == 0)
        if start:
            assert tree.starts[parent] < start
            np.testing.assert_array_equal(tree.texts[parent][:start], tree.texts[branch][:start])


def test_a_plan_reads_every_text_both_ways() -> None:
    """Followed step by step, the rows of a text have read its words from the left and from the right."""
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 3, size=(count, length)) for count, length in ((40, 5), (1, 9), (7, 1), (30, 8))]
    plan = ReadSchedule.of(texts)
    read: list[tuple[int, ...]] = [()] * (plan.rows + 1)
    before = (plan.middle, plan.middle)
    for words, span, (start, stop) in zip(plan.words, plan.spans, pairwise(plan.edges), strict=True):
        assert span[0] <= before[0] <= plan.middle <= before[1] <= span[1]  # whoever reads goes on reading
        assert all(end % WIDTH == 0 for end in (span[0], span[1], plan.middle))
        assert ((plan.born[start:stop] >= span[0]) & (plan.born[start:stop] < span[1])).all()
        for row, parent in zip(plan.born[start:stop], plan.parents[start:stop], strict=True):
            read[row] = read[parent]
        for row in range(*span):
            read[row] += (int(words[row]),)
        before = span
    assert read[-1] == ()
    given = [text for own in texts for text in own.tolist()]
    for text, left, right in zip(given, *plan.row_of, strict=True):
        assert read[left] == tuple(2 * word for word in text)
        assert read[right] == tuple(2 * word + 1 for word in reversed(text))


@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_do_not_depend_on_the_company(
    kind: str, single: bool, world: World, classifier_of: Callable[..., TextClassifier]
) -> None:
    """To the last bit: so a text's row is the same whatever is attacked beside it."""
    classifier = classifier_of(kind)
    rng = np.random.default_rng(8)
    model = classifier.model.float() if single else classifier.model.double()
    try:
        spaces = [
            SearchSpace.of(world.text(rng, length=length, label=0).split(), world.table) for length in (9, 1, 30, 17, 9)
        ]
        questions = [
            Query(random_states(space, count), WordSwaps(np.zeros(len(space.swaps[0]), np.int64), *space.swaps))
            for space, count in zip(spaces, (1, 2, 40, 3, 5), strict=True)
        ]
        assert_alike_in_company(classifier, spaces, questions)
    finally:
        model.double()


@pytest.mark.parametrize("kind", ["cnn", "bilstm-mean", "two-channel", "beside-words", "weighted-sum"])
def test_slopes_are_the_derivative_of_the_lead(
    kind: str, world: World, classifier_of: Callable[..., TextClassifier]
) -> None:
    """How the label's lead changes when a word vector moves a little towards a substitute.

    A BagOfWords has no vectors: there the lead moves by a share of what the substitute changes.
    """
    classifier = classifier_of(kind)
    model = classifier.model
    words = world.text(np.random.default_rng(5), length=12, label=1).split()
    space = SearchSpace.of(words, world.table)
    slopes = engine_of(classifier, space).slopes(space.original, 0)
    assert np.abs(slopes[:, 0]).max() < 1e-12
    terms = model.terms if isinstance(model, Sum) else [(1.0, model)]
    ids = torch.tensor([world.vocabulary.encode(words)])
    step = 1e-5

    def lead(place: int, word: str, share: float) -> float:
        logits = torch.zeros(2, dtype=torch.float64)
        for weight, part in terms:
            if isinstance(part, BagOfWords):
                other_ids = ids.clone()
                other_ids[0, place] = world.vocabulary.id_of(word)
                logits = logits + weight * (part(ids)[0] + share * (part(other_ids) - part(ids))[0])
                continue
            vectors = part.embedding(part.embedding.encode(ids)).detach().clone()
            other = part.embedding(part.embedding.encode(torch.tensor([world.vocabulary.id_of(word)])))[0]
            vectors[0, place] += share * (other - vectors[0, place])
            logits = logits + weight * part.from_vectors(vectors, torch.ones_like(ids, dtype=torch.bool))[0]
        return float(logits[0] - logits[1])

    with torch.no_grad():
        for place in space.replaceable[:6]:
            for choice, word in enumerate(space.options[place]):
                measured = (lead(place, word, step) - lead(place, word, -step)) / (2 * step)
                assert slopes[place, choice] == pytest.approx(measured, abs=1e-5)


class Parity(torch.nn.Module):
    """A model of somebody else's: it counts words with an even id."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        even = (ids % 2 == 0).sum(dim=1) * self.scale
        return torch.stack([even, ids.shape[1] - even], dim=1)


def test_a_model_of_another_package_registers_an_engine_of_its_own() -> None:
    """Until it does, it is asked in the plain way; from then on it is asked by its engine."""
    model = Parity()
    assert isinstance(query_engine(model), PlainEngine)
    asked = []

    class Counting(PlainEngine):
        def answers(self, opened: object, queries: object) -> object:
            asked.append(queries)
            return super().answers(opened, queries)  # type: ignore[arg-type]

    query_engine.register(Parity, Counting)
    engine = query_engine(model)
    assert isinstance(engine, Counting)
    swaps = WordSwaps(np.array([0, 0]), np.array([1, 2]), np.array([1, 1]))
    query = IdQuery(np.zeros((1, 3), np.int32), np.array([[2, 4, 5]]), swaps, np.array([3, 8]))
    (found,) = engine.answers([engine.open(query.ids, 3)], [query])
    np.testing.assert_array_equal(found.texts, [[2, 1]])
    np.testing.assert_array_equal(found.swaps, [[1, 2], [3, 0]])
    assert asked == [[query]]
