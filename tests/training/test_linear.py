"""Training of linear models: blocks agree with the model, and a run learns, resumes, repeats and certifies."""

import math
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.small import with_random_weights

from sgbt.core.errors import SgbtError, TrainingError
from sgbt.data import Split, TextDataset
from sgbt.data.tokenised import RaggedIds
from sgbt.models import BagOfWords, BagOfWordsConfig, load_classifier, worst_case_logits
from sgbt.models.bag_of_words import options as bag_options
from sgbt.models.bag_of_words import tables as bag_tables
from sgbt.models.bag_of_words.blocks import margins, options_of, pieces, positions_of
from sgbt.models.bag_of_words.features import FAMILIES, keys_at, with_word, word_of
from sgbt.models.bag_of_words.options import PositionKinds, PositionOptions, RowSets, frequent_keys
from sgbt.threats import PADDING, SubstitutionIndex, SubstitutionTable, Vocabulary
from sgbt.threats.codes import community_codes, community_levels
from sgbt.training import (
    GBM,
    IBP,
    PRESETS,
    SEM,
    Certified,
    ClusterMeans,
    Residual,
    Standard,
    TiedWords,
    TrainingMethod,
    train,
)
from sgbt.training.beginning import whole_vocabulary
from sgbt.training.config import with_options
from sgbt.training.linear import words as linear
from sgbt.training.linear.words import fit_features
from sgbt.training.loop.steps import Corpus, Examples
from sgbt.training.sharing import TiedWeights

QUICK = replace(PRESETS["linear"], epochs=8, patience=8, batch_size=40, learning_rate=0.1, minimum_count=1)
TABLE = SubstitutionTable(
    {"good": ("fine", "great"), "fine": ("good",), "bad": ("poor", "of"), "poor": ("bad",), "film": ("movie",)}
)


def reviews(*, texts=120, seed=0, classes=2):
    """Texts whose label shows in their words; the words of a label are substitutes of each other."""
    generator = np.random.default_rng(seed)
    marks = [("good", "fine", "great"), ("bad", "poor"), ("strange", "odd")][:classes]
    rest = ("the", "film", "movie", "of", "a", "was", "plot")

    def split(name, number):
        labels = generator.integers(0, classes, number)
        lines = []
        for label in labels:
            words = [*generator.choice(marks[label], 3), *generator.choice(rest, generator.integers(2, 9))]
            lines.append(" ".join(generator.permutation(words)))
        return Split(name, tuple(lines), labels)

    names = ("positive", "negative", "strange")[:classes]
    return TextDataset("toy", names, split("train", texts), split("dev", texts // 3), split("test", texts // 3))


def run_of(folder, *, listener=None):
    """One short run, the same every time."""
    config = replace(QUICK, checkpoint_seconds=0.0)
    options = {"objective": IBP(kappa=1.0), "substitutions": TABLE, "config": config}
    return train(BagOfWords(dropout=0.2), reviews(), out=folder, listener=listener, **options)


def random_corpus(generator, *, words=9, texts=6, classes=3, places=False, features=FAMILIES):
    """A random vocabulary, table and texts, with a model whose weights are random."""
    names = [f"w{number}" for number in range(words)]
    rng = np.random.default_rng(int(torch.randint(0, 1 << 30, (1,), generator=generator)))
    entries = {
        name: tuple(other for other in rng.choice([*names, "elsewhere"], rng.integers(1, 3), False) if other != name)
        for name in [*names[: words // 2], "outside"]
    }
    table = SubstitutionTable({name: found for name, found in entries.items() if found})
    vocabulary = Vocabulary(tuple(names))
    counts = {name: int(rng.choice([1, 500])) for name in names}
    index = SubstitutionIndex.build(table, vocabulary)
    lines = [list(rng.choice([*names, "outside", "unheard"], rng.integers(0, 7))) for _ in range(texts)]
    flat = np.concatenate([index.rows_of(line) for line in lines])
    rows = RaggedIds(flat, np.concatenate([[0], np.cumsum([len(line) for line in lines])]))
    examples = Examples(rows, rng.integers(0, classes, texts), len(vocabulary), index)
    model = BagOfWords(classes=classes, features=features, minimum_count=1, places=places).double()
    fit_features(model, Corpus(vocabulary, counts, table), examples)
    return with_random_weights(model, generator), examples, index.for_words(lines)


@pytest.mark.parametrize("places", [False, True])
def test_blocks_agree_with_the_model_and_are_never_below_the_exact_worst_case(places, monkeypatch):
    monkeypatch.setattr("sgbt.models.bag_of_words.positions.EDGES", (1, 2, 3, 4, 5, 6, 7))
    generator = torch.Generator().manual_seed(0)
    exact_somewhere = looser_somewhere = False
    for _ in range(40):
        model, examples, batch = random_corpus(generator, places=places)
        labels = torch.from_numpy(examples.labels)
        logits = model(batch.original, batch.mask)
        exact = worst_case_logits(model, batch.ids, batch.allowed, batch.mask, labels)
        sets = RowSets.of(model.codes, examples.substitutions)
        seen = 0
        for piece in pieces(model, examples.rows, examples.labels, np.arange(len(labels)), sets):
            found = margins(piece, model.weight, model.bias, model.places, clean=True, worst=True)
            own = logits[piece.rows] - logits[piece.rows, piece.label].unsqueeze(1)
            assert torch.allclose(found.clean, own, atol=1e-12)
            assert (found.worst >= exact[piece.rows] - 1e-12).all()
            for place, row in enumerate(piece.rows.tolist()):
                codes = model.codes[batch.ids[row]]
                if (codes == codes[:, :1]).all():
                    assert torch.allclose(found.worst[place], exact[row], atol=1e-12)
                    exact_somewhere = True
                looser_somewhere |= bool((found.worst[place] > exact[row] + 1e-9).any())
            seen += len(piece.rows)
        assert seen == len(labels)
    assert exact_somewhere
    assert looser_somewhere  # otherwise this test has no ambiguous words in it


def test_a_text_without_words_trains_like_any_other() -> None:
    """In float32 too, and with factors for places: it adds nothing to the logits, and nothing that is not a number."""
    generator = torch.Generator().manual_seed(2)
    seen = False
    for _ in range(20):
        model, examples, _ = random_corpus(generator, places=True)
        model = model.float()
        sets = RowSets.of(model.codes, examples.substitutions)
        for piece in pieces(model, examples.rows, examples.labels, np.arange(len(examples.labels)), sets):
            found = margins(piece, model.weight, model.bias, model.places, clean=True, worst=True)
            assert bool(found.clean.isfinite().all() and found.worst.isfinite().all())
            seen |= bool((piece.words.sum(dim=1) == 0).any())
            found.worst.sum().backward()
        assert all(bool(own.grad.isfinite().all()) for own in model.places.parameters())
    assert seen


@pytest.mark.parametrize("places", [False, True])
def test_gradients_of_blocks_are_those_of_the_worst_case(places, monkeypatch):
    monkeypatch.setattr("sgbt.models.bag_of_words.positions.EDGES", (1, 2, 3, 4, 5, 6, 7))
    generator = torch.Generator().manual_seed(1)
    compared = 0
    for _ in range(30):
        model, examples, batch = random_corpus(generator, places=places)
        moved = [model.weight, *(model.places.parameters() if places else ())]
        labels = torch.from_numpy(examples.labels)
        codes = model.codes[batch.ids]
        steady = (codes == codes[..., :1]).all(dim=2).all(dim=1)
        rows = steady.nonzero().squeeze(1).numpy()
        if not len(rows):
            continue
        exact = worst_case_logits(model, batch.ids, batch.allowed, batch.mask, labels)[rows]
        expected = torch.autograd.grad((exact**2).sum(), moved)
        sets = RowSets.of(model.codes, examples.substitutions)
        total = sum(
            (margins(piece, model.weight, model.bias, model.places, clean=False, worst=True).worst ** 2).sum()
            for piece in pieces(model, examples.rows, examples.labels, rows, sets)
        )
        found = torch.autograd.grad(total, moved)
        assert all(torch.allclose(*both, atol=1e-10) for both in zip(found, expected, strict=True))
        compared += int(all(gradient.abs().sum() > 0 for gradient in expected))
    assert compared > 5


def test_the_first_option_is_the_text_itself():
    sets = RowSets(
        words=torch.tensor([[0, 0], [1, 1], [2, 3], [3, 3]]),
        word_counts=torch.tensor([1, 1, 2, 1]),
        codes=torch.tensor([[0, 0], [1, 1], [7, 5], [5, 5]]),
        code_counts=torch.tensor([1, 1, 2, 1]),
        ranks=torch.tensor([[0, 0], [0, 0], [0, 1], [0, 0]]),
    )
    first = torch.tensor([True, False, True, True])
    kinds = PositionKinds.of(torch.tensor([3, 2, 3, 3]), first, sets, alone=False)
    assert kinds.counts.tolist() == [2, 1, 1]  # the last two texts are the same
    options = PositionOptions.of(kinds, sets)
    at = kinds.of_position.tolist()
    assert [options.widths[kind].item() for kind in at] == [2, 2, 1, 1]
    assert [kinds.calm(sets)[kind].item() for kind in at] == [False, False, True, True]
    slots = [slice(start, start + width) for start, width in zip(options.starts, options.widths, strict=True)]
    assert [options.words[slots[kind]].tolist() for kind in at] == [[3, 3], [2, 3], [3], [3]]
    assert [options.before[slots[kind]].tolist() for kind in at] == [[0, 0], [5, 5], [0], [0]]
    assert [options.after[slots[kind]].tolist() for kind in at] == [[7, 5], [0, 0], [0], [0]]
    alone = PositionKinds.of(torch.tensor([3, 2, 3, 3]), first, sets, alone=True)
    assert alone.rows.tolist() == [2, 3]
    assert not alone.earlier.any()
    assert not alone.later.any()


def test_options_that_memory_cannot_hold_are_refused_and_single_words_never_are(monkeypatch):
    monkeypatch.setattr(linear, "MOST_LISTED", 100)
    monkeypatch.setattr(linear, "MOST_FEATURES", 100)
    options = {"objective": IBP(kappa=1.0), "substitutions": TABLE, "config": QUICK}
    with pytest.raises(TrainingError, match=r"in a BagOfWords; let it read single words \(features = \[\]\)"):
        train(BagOfWords(), reviews(), **options)
    assert train(BagOfWords(features=()), reviews(), **options).dev["certified"] > 0.5


FAMILY_CHOICES = [("before", "after", "pair", "triple"), FAMILIES, ("skip",), ("around",), ("after", "triple")]


@pytest.mark.parametrize("features", FAMILY_CHOICES)
def test_options_that_are_not_listed_give_the_margins_of_those_that_are(features, monkeypatch):
    """Words, neighbours and weights at random, many of them ambiguous; several sizes of groups and parts."""
    monkeypatch.setattr("sgbt.models.bag_of_words.positions.EDGES", (1, 2, 3, 4, 5, 6, 7))
    generator = torch.Generator().manual_seed(5)
    unlisted = 0
    for turn in range(30):
        model, examples, _ = random_corpus(generator, words=12, texts=9, places=bool(turn % 2), features=features)
        monkeypatch.setattr(bag_tables, "SCORES_AT_ONCE", (1, 7, 1 << 20)[turn % 3])
        monkeypatch.setattr(bag_options, "OPTIONS_AT_ONCE", (3, 1 << 20)[turn % 2])
        sets = RowSets.of(model.codes, examples.substitutions)
        both = [
            list(pieces(model, examples.rows, examples.labels, np.arange(1, 9), sets, options=options))
            for options in (None, options_of(model, examples.rows, sets))
        ]
        for one, other in zip(*both, strict=True):
            assert torch.equal(one.rows, other.rows)
            found = []
            for piece in (one, other):
                asked = margins(piece, model.weight, model.bias, model.places, clean=True, worst=True)
                gradient = torch.autograd.grad((asked.worst**2).sum() + asked.clean.sum(), model.weight)[0]
                found.append((asked.clean, asked.worst, gradient))
            assert all(torch.allclose(*pair, atol=1e-12) for pair in zip(*found, strict=True))
            assert other.unlisted is not None
            unlisted += len(other.unlisted)
    assert unlisted > 100


@pytest.mark.parametrize("features", FAMILY_CHOICES)
def test_features_are_counted_as_if_every_option_was_listed(features, monkeypatch):
    generator = torch.Generator().manual_seed(6)
    seen = set()
    for turn in range(20):
        monkeypatch.setattr(bag_options, "OPTIONS_AT_ONCE", (3, 1 << 20)[turn % 2])
        monkeypatch.setattr(bag_options, "KEYS_AT_ONCE", (20, 1 << 20)[turn // 2 % 2])
        model, examples, _ = random_corpus(generator, texts=20, features=features)
        sets = RowSets.of(model.codes, examples.substitutions)
        flat, _, first = positions_of(examples.rows, np.arange(20))
        kinds = PositionKinds.of(flat, first, sets, alone=False)
        options = PositionOptions.of(kinds, sets)
        keys = keys_at(features, options.words, model.codes[options.words], options.before, options.after)
        listed, where = keys.flatten().unique(return_inverse=True)
        times = kinds.counts.repeat_interleave(options.widths).unsqueeze(1).expand_as(keys).flatten()
        counts = torch.zeros_like(listed).index_add(0, where, times)
        for minimum in (1, 2, 5):
            found = frequent_keys(features, kinds, sets, model.codes, minimum_count=minimum)
            assert torch.equal(found, listed[counts >= minimum])
            seen.add(len(found))
    assert len(seen) > 5


@pytest.mark.parametrize("limit", ["MOST_LISTED", "MOST_LISTED_AT_ONCE"])
def test_options_that_are_not_listed_train_to_the_same_weights(limit, monkeypatch):
    options = {"objective": IBP(kappa=0.8), "substitutions": TABLE, "config": QUICK}
    listed = train(BagOfWords(resolution=50.0, minimum_count=1, places=True), reviews(), **options)
    monkeypatch.setattr(linear, limit, 0)
    made = []
    monkeypatch.setattr(linear, "options_of", lambda *asked: made.append(options_of(*asked)) or made[-1])
    tables = train(BagOfWords(resolution=50.0, minimum_count=1, places=True), reviews(), **options)
    assert [len(each.rows) > 10 for each in made] == [True, True]  # of train and of dev
    assert listed.model.identity == tables.model.identity
    assert listed.log.rows[-1]["dev"] == tables.log.rows[-1]["dev"]


def test_single_words_take_memory_by_word_and_not_by_position():
    """A table in which a word has a hundred substitutes, and a text of ten thousand words."""
    words = [f"w{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(100)]
    table = SubstitutionTable({word: tuple(other for other in words if other != word) for word in words})
    vocabulary = Vocabulary(tuple(words))
    index = SubstitutionIndex.build(table, vocabulary)
    model = BagOfWords(features=())
    codes = torch.ones(len(vocabulary), dtype=torch.int64)
    model.adopt(codes=codes, keys=torch.zeros(0, dtype=torch.int64))
    rows = RaggedIds(np.random.default_rng(0).integers(2, 102, 10_000), np.array([0, 4000, 10_000]))
    sets = RowSets.of(model.codes, index)
    for piece in pieces(model, rows, np.array([0, 1]), np.arange(2), sets):
        assert sum(cells.features.numel() for cells in piece.cells) <= 100 * 100
        assert sum(len(cells.zone) for cells in piece.cells) >= 4000


@pytest.mark.parametrize(("given", "told"), [(["much"], "a list of numbers for ties"), ([0.0], "ties above 0")])
def test_ties_are_numbers_above_zero(given, told):
    assert with_options(BagOfWordsConfig(), {"ties": [10, 30.5]}, "model").ties == (10, 30.5)
    assert with_options(BagOfWordsConfig(ties=()), {"ties": [3.0]}, "model").ties == (3.0,)
    for wrong in (30.0, ("a",), (math.inf,)):
        with pytest.raises(SgbtError, match="ties above 0"):
            BagOfWords(ties=wrong)
    with pytest.raises(SgbtError, match=told):
        with_options(BagOfWordsConfig(), {"ties": given}, "model")


def test_small_tables_are_tied_too():
    """At the usual resolutions every word of this table is alone; then those of resolution 1 are taken."""
    words = Vocabulary.build(dict.fromkeys([*TABLE.entries, "great", "of", "movie"], 1), minimum_count=0)
    assert (community_levels(words, TABLE, {}, resolutions=BagOfWordsConfig().ties) == np.arange(len(words))).all()
    data = reviews()
    tied = train(BagOfWords(), data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK).model.model.weight
    free = train(BagOfWords(ties=()), data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK)
    assert tied.shape == free.model.model.weight.shape
    assert not torch.allclose(tied, free.model.model.weight)


def test_without_features_nothing_is_ambiguous_and_ties_are_all_that_differs():
    """One code for all words: then every position is free of the others, and the worst case is a sum."""
    data = reviews(texts=200)
    weights = []
    for ties in ((), (1.0, 30.0)):
        model = BagOfWords(features=(), ties=ties)
        run = train(model, data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK)
        assert set(run.model.model.codes.tolist()) == {0, 1}
        assert len(run.model.model.weight) == len(run.model.vocabulary)
        weights.append(run.model.model.weight)
    assert not torch.allclose(*weights)


def test_ties_are_communities_at_every_level():
    """The covariance of two weights is the number of levels that put their words together over 1 + levels."""
    generator = torch.Generator().manual_seed(2)
    tied = 0
    for _ in range(10):
        model, _, _ = random_corpus(generator)
        size, features = len(model.codes), len(model.weight)
        levels = torch.randint(2, 5, (2, size), generator=generator)
        levels[:, :2] = torch.arange(2)  # padding and unknown are by themselves
        ties = TiedWeights.of(model, levels)
        matrix = ties.ties.matrix.to_dense()
        assert torch.equal(ties.ties.transposed.to_dense(), matrix.T)
        covariance = matrix @ matrix.T
        assert torch.allclose(covariance.diagonal(), torch.ones(features, dtype=torch.float64))
        word = [*range(size), *word_of(model.keys).tolist()]
        rest = [*(("word",) for _ in range(size)), *((key,) for key in with_word(model.keys, 0 * model.keys).tolist())]
        for one in range(features):
            for other in range(one):
                alike = word[one] >= 0 and word[other] >= 0 and rest[one] == rest[other]
                shared = int((levels[:, word[one]] == levels[:, word[other]]).sum()) if alike else 0
                assert covariance[one, other] == pytest.approx(shared / 3)
                tied += shared
        parts = torch.randn(ties.parts, 2, generator=generator, dtype=torch.float64, requires_grad=True)
        found = ties.weights(parts)
        assert torch.allclose(found, matrix @ parts)
        (gradient,) = torch.autograd.grad((found**2).sum(), parts)
        assert torch.allclose(gradient, 2 * matrix.T @ found)
        assert (gradient.abs().sum(dim=1) > 0).all()  # every part moves
    assert tied > 100


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("features", [(), ("before", "after", "pair", "triple")])
def test_a_run_learns_and_certifies(classes, features):
    data = reviews(classes=classes)
    run = train(
        BagOfWords(classes=classes, features=features, minimum_count=1),
        data,
        objective=IBP(kappa=1.0),
        substitutions=TABLE,
        config=QUICK,
    )
    assert run.dev["accuracy"] > 0.9
    assert run.dev["certified"] > 0.8
    assert run.dev["certified"] <= run.dev["accuracy"]
    predicted = run.model.predict(data.test.texts).probabilities.argmax(axis=1)
    assert (predicted == data.test.labels).mean() > 0.9
    assert not run.model.model.weight[PADDING].any()


def test_worst_case_training_certifies_more_than_standard_training():
    data = reviews(texts=200)
    certified = {}
    for objective in (Standard(), Certified(kappa=1.0)):
        run = train(BagOfWords(), data, objective=objective, substitutions=TABLE, config=QUICK)
        index = SubstitutionIndex.build(TABLE, run.model.vocabulary)
        batch = index.for_words([text.split() for text in data.test.texts])
        labels = torch.from_numpy(data.test.labels)
        worst = worst_case_logits(run.model.model, batch.ids, batch.allowed, batch.mask, labels)
        others = worst.scatter(1, labels.unsqueeze(1), -torch.inf).amax(dim=1)
        certified[objective.name] = int((others < 0).sum())
    assert certified["certified"] >= certified["standard"]
    assert certified["certified"] > 0


def test_without_substitutions_words_have_codes_of_their_own():
    run = train(BagOfWords(minimum_count=1), reviews(), config=QUICK)
    assert run.dev["accuracy"] > 0.9
    assert run.model.model.codes.tolist() == list(range(len(run.model.vocabulary)))


def test_the_same_seed_gives_the_same_weights_and_a_folder_gives_them_back(tmp_path):
    data = reviews()
    options = {"objective": Certified(kappa=0.7), "substitutions": TABLE, "config": QUICK}
    one = train(BagOfWords(dropout=0.3), data, seed=3, out=tmp_path / "run", **options)
    two = train(BagOfWords(dropout=0.3), data, seed=3, **options)
    other = train(BagOfWords(dropout=0.3), data, seed=4, **options)
    assert torch.equal(one.model.model.weight, two.model.model.weight)
    assert not torch.equal(one.model.model.weight, other.model.model.weight)
    loaded = load_classifier(tmp_path / "run")
    assert torch.equal(loaded.model.weight, one.model.model.weight)
    assert loaded.table == TABLE
    again = train(BagOfWords(dropout=0.3), data, seed=3, out=tmp_path / "run", **options)  # finished: nothing to do
    assert torch.equal(again.model.model.weight, one.model.model.weight)


def test_a_killed_run_goes_on_to_the_same_weights(tmp_path):
    script = textwrap.dedent(
        """
        import os, signal, sys
        sys.path.insert(0, sys.argv[2])
        import test_linear as t
        from sgbt.training.loop.listeners import Listeners

        class Killer(Listeners):
            def step(self, number, parts, accuracy, examples):
                if self.now == 6 and number == 1:
                    os.kill(os.getpid(), signal.SIGKILL)

            def epoch(self, number, of, steps):
                self.now = number

        t.run_of(sys.argv[1], listener=Killer())
        """
    )
    here = str(Path(__file__).parent)
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path / "killed"), here], check=False)
    assert killed.returncode == -signal.SIGKILL
    resumed, whole = run_of(tmp_path / "killed"), run_of(tmp_path / "whole")
    assert torch.equal(resumed.model.model.weight, whole.model.model.weight)
    assert [row.get("parts") for row in resumed.log.rows] == [row.get("parts") for row in whole.log.rows]


def test_objectives_that_mean_nothing_for_a_linear_model_are_refused():
    for objective in (
        GBM(),
        SEM(),
        IBP(epsilon=0.5),
        Certified(beta=0.5),
        TrainingMethod(Certified(), recipe=Residual("grams")),
        TrainingMethod(Certified(), initialiser=ClusterMeans()),
        TrainingMethod(Certified(), sharing=TiedWords((1.0,))),
    ):
        with pytest.raises(TrainingError, match="linear model"):
            objective.for_linear_model()
    assert Standard().for_linear_model() == Standard()
    assert Certified(kappa=0.4, beta=0.0).for_linear_model() == IBP(kappa=0.4, ramp_epochs=0.0)


def test_the_vocabulary_has_frequent_words_and_the_whole_table():
    vocabulary = whole_vocabulary({"the": 9, "once": 1, "film": 1}, TABLE, minimum_count=2)
    assert "once" not in vocabulary
    assert vocabulary.words[0] == "the"
    assert set(vocabulary.words) == {"the", "good", "fine", "great", "bad", "poor", "of", "film", "movie"}
    assert SubstitutionIndex.build(TABLE, vocabulary).complete
    assert whole_vocabulary({"the": 9, "once": 1}, None, minimum_count=1).words == ("the", "once")


def test_substitutes_are_counted_as_features():
    table = SubstitutionTable({"good": ("fine",)})
    vocabulary = Vocabulary(("good", "fine", "film"))
    index = SubstitutionIndex.build(table, vocabulary)
    rows = index.rows_of(["good", "film"] * 3)
    examples = Examples(RaggedIds(rows, np.array([0, 2, 4, 6])), np.zeros(3, np.int64), len(vocabulary), index)
    model = BagOfWords(features=("after",), minimum_count=3)
    fit_features(model, Corpus(vocabulary, {}, table), examples)
    codes = torch.from_numpy(community_codes(vocabulary, table, {}))
    assert torch.equal(model.codes, codes)
    fine, film = vocabulary.id_of("fine"), vocabulary.id_of("film")
    listed = model.features(torch.tensor([fine]), torch.tensor([0]), codes[[film]])
    assert int(listed[0, 1]) > 0
    assert int(model.features(torch.tensor([fine]), torch.tensor([0]), codes[[fine]])[0, 1]) == 0
