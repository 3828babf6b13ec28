"""BagOfWords: the worst case is the maximum over all substitutions, found here by trying every one of them."""

import math
from itertools import product

import pytest
import torch
from tests.small import with_random_weights

from sgbt.core.errors import ModelError
from sgbt.models import BagOfWords, TextClassifier, load_classifier, save_classifier, worst_case_logits
from sgbt.models.bag_of_words import worst_case as bag_worst_case
from sgbt.models.bag_of_words.features import FAMILIES, keys_at, places_of
from sgbt.threats import PADDING, UNKNOWN, SubstitutionIndex, Substitutions, SubstitutionTable, Vocabulary
from sgbt.threats.codes import community_codes

WORDS = 12


@pytest.fixture
def near_edges(monkeypatch):
    """Zones of one word each, so that short texts have many."""
    monkeypatch.setattr("sgbt.models.bag_of_words.positions.EDGES", (1, 2, 3, 4, 5, 6, 7))


def random_model(generator, *, classes=2, features=("before", "after", "pair", "triple"), codes=None, places=False):
    """A model with random weights, about half of whose possible features are listed."""
    model = BagOfWords(classes=classes, features=features, places=places).double()
    if codes is None:
        codes = torch.randint(1, 6, (WORDS,), generator=generator)
        codes[PADDING] = PADDING
    keys = torch.zeros(0, dtype=torch.int64)
    if features:
        size = int(codes.max()) + 1
        word, before, after = torch.meshgrid(
            torch.arange(1, WORDS), torch.arange(size), torch.arange(size), indexing="ij"
        )
        keys = keys_at(features, word, codes[word], before, after).flatten().unique()
        keys = keys[torch.rand(len(keys), generator=generator) < 0.5]
    model.adopt(codes=codes, keys=keys)
    return with_random_weights(model, generator)


def random_batch(generator, *, texts=4, longest=5, choices=3):
    """Random texts, some of them short, with random sets of words at every position: most are ambiguous."""
    lengths = torch.randint(0, longest + 1, (texts,), generator=generator)
    lengths[0] = longest
    mask = torch.arange(longest) < lengths.unsqueeze(1)
    ids = torch.randint(UNKNOWN, WORDS, (texts, longest, choices), generator=generator)
    allowed = torch.rand(ids.shape, generator=generator) < 0.5
    allowed[..., 0] = True
    allowed &= mask.unsqueeze(-1)
    allowed[..., 0] = True
    ids = torch.where(allowed, ids, ids[..., :1]).masked_fill(~mask.unsqueeze(-1), PADDING)
    return Substitutions(ids, allowed), mask


def enumerated(model, choices, allowed, label):
    """The greatest margins of one text of real words, by trying every combination."""
    options = [sorted(set(row[keep].tolist())) for row, keep in zip(choices, allowed, strict=True)]
    combinations = list(product(*options))
    variants = torch.tensor(combinations, dtype=torch.int64).reshape(len(combinations), len(options))
    logits = model(variants, torch.ones_like(variants, dtype=torch.bool))
    return (logits - logits[:, label : label + 1]).amax(dim=0)


@pytest.mark.parametrize("features", [(), ("before", "after"), ("before", "after", "pair", "triple"), FAMILIES])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("places", [False, True])
@pytest.mark.usefixtures("near_edges")
def test_worst_case_is_the_maximum_over_all_substitutions(features, classes, places):
    generator = torch.Generator().manual_seed(classes + len(features))
    for _ in range(25):
        model = random_model(generator, classes=classes, features=features, places=places)
        batch, mask = random_batch(generator)
        labels = torch.randint(0, classes, (len(batch),), generator=generator)
        worst = worst_case_logits(model, batch.ids, batch.allowed, mask, labels)
        for text, label in enumerate(labels.tolist()):
            length = int(mask[text].sum())
            exact = enumerated(model, batch.ids[text, :length], batch.allowed[text, :length], label)
            assert torch.allclose(worst[text], exact, atol=1e-12, rtol=0)


@pytest.mark.parametrize("places", [False, True])
def test_long_runs_of_ambiguous_words_are_exact_too(places):
    generator = torch.Generator().manual_seed(5)
    for _ in range(3):
        model = random_model(generator, features=FAMILIES, places=places)
        batch, mask = random_batch(generator, texts=2, longest=9, choices=2)
        labels = torch.tensor([0, 1])
        worst = worst_case_logits(model, batch.ids, batch.allowed, mask, labels)
        exact = enumerated(model, batch.ids[0], batch.allowed[0], 0)
        assert torch.allclose(worst[0], exact, atol=1e-12, rtol=0)


def test_a_table_with_ambiguous_and_unknown_words():
    """From words to the bound: substitutes outside the vocabulary, words that only the table knows, frequent words."""
    table = SubstitutionTable(
        {
            "good": ("fine", "great"),
            "fine": ("good", "okay"),
            "film": ("movie",),
            "odd": ("of", "queer"),
            "rare": ("good",),
        }
    )
    counts = {"good": 5, "fine": 4, "film": 6, "of": 200, "odd": 3, "the": 300, "movie": 2, "great": 2}
    vocabulary = Vocabulary(("good", "fine", "film", "of", "odd", "the", "movie", "great", "okay"))
    codes = torch.from_numpy(community_codes(vocabulary, table, counts))
    index = SubstitutionIndex.build(table, vocabulary)
    lines = ("the odd film of rare good", "good fine odd odd good", "rare unheard odd", "the")
    texts = [line.split() for line in lines]
    batch = index.for_words(texts)
    labels = torch.tensor([0, 1, 2, 0])
    generator = torch.Generator().manual_seed(11)
    sets = bag_worst_case.CodeSets.of(codes[batch.ids])
    assert int(sets.counts.max()) > 1
    assert not sets.coupled[3].any()
    for _ in range(20):
        model = random_model(generator, classes=3, features=FAMILIES, codes=torch.cat([codes, codes[:1]])[:WORDS])
        worst = worst_case_logits(model, batch.ids, batch.allowed, batch.mask, labels)
        for text, words in enumerate(texts):
            exact = enumerated(
                model, batch.ids[text, : len(words)], batch.allowed[text, : len(words)], int(labels[text])
            )
            assert torch.allclose(worst[text], exact, atol=1e-12, rtol=0)


def test_a_batch_that_is_too_large_is_done_in_pieces(monkeypatch):
    generator = torch.Generator().manual_seed(1)
    model = random_model(generator)
    batch, mask = random_batch(generator, texts=7)
    labels = torch.randint(0, 2, (7,), generator=generator)
    whole = worst_case_logits(model, batch.ids, batch.allowed, mask, labels)
    by_word = bag_worst_case.worst_by_word(model, batch.ids, batch.allowed, mask, labels)
    monkeypatch.setattr(bag_worst_case, "ENTRIES", 10)
    assert torch.equal(whole, worst_case_logits(model, batch.ids, batch.allowed, mask, labels))
    sizes = []
    monkeypatch.setattr(
        bag_worst_case, "_runs", lambda *asked, own=bag_worst_case._runs: sizes.append(len(asked[1])) or own(*asked)
    )
    pieces = bag_worst_case.worst_by_word(model, batch.ids, batch.allowed, mask, labels)
    assert torch.equal(by_word.fixed, pieces.fixed)
    assert torch.equal(by_word.gains, pieces.gains)
    assert max(sizes) < 7


@pytest.mark.parametrize("places", [False, True])
@pytest.mark.usefixtures("near_edges")
def test_padding_and_company_change_nothing(places):
    generator = torch.Generator().manual_seed(2)
    model = random_model(generator, classes=3, features=FAMILIES, places=places)
    batch, mask = random_batch(generator, texts=6, longest=6)
    labels = torch.randint(0, 3, (6,), generator=generator)
    together = worst_case_logits(model, batch.ids, batch.allowed, mask, labels)
    logits = model(batch.original, mask)
    for text in range(6):
        length = int(mask[text].sum())
        for width in {max(length, 1), 6}:
            alone = slice(text, text + 1), slice(0, width)
            rubbish = batch.ids[alone].clone()
            rubbish[:, length:] = 7  # what stands behind the mask is never read
            clean = model(rubbish[..., 0], mask[alone])
            worst = worst_case_logits(model, rubbish, batch.allowed[alone], mask[alone], labels[text : text + 1])
            assert torch.allclose(clean, logits[text : text + 1], atol=1e-12)
            assert torch.allclose(worst, together[text : text + 1], atol=1e-12)


def test_logits_are_counts_over_the_root_of_the_length():
    model = BagOfWords(features=()).double()
    model.adopt(codes=torch.arange(4), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0, 0], [1, 0], [0, 2], [3, 3]]))
        model.bias.copy_(torch.tensor([0.5, 0]))
    logits = model(torch.tensor([[1, 2, 2, 3], [2, 0, 0, 0], [0, 0, 0, 0]]))
    assert torch.allclose(logits, torch.tensor([[2.5, 3.5], [0.5, 2.0], [0.5, 0.0]], dtype=torch.float64))


@pytest.mark.usefixtures("near_edges")
def test_the_worst_case_word_by_word_adds_up_to_the_worst_case():
    """With every position free of the others, the fixed part and the largest gain of each word are the maximum."""
    generator = torch.Generator().manual_seed(8)
    model = random_model(generator, features=(), places=True)
    batch, mask = random_batch(generator, texts=6, longest=7)
    labels = torch.randint(0, 2, (6,), generator=generator)
    asked = (model, batch.ids, batch.allowed, mask, labels)
    model.codes.fill_(1)
    words = bag_worst_case.worst_by_word(*asked)
    gains = words.gains.masked_fill(~(batch.allowed & mask.unsqueeze(-1)).unsqueeze(-1), 0.0).amax(dim=2).sum(dim=1)
    assert torch.allclose(words.fixed + gains, worst_case_logits(*asked), atol=1e-12)
    own = model(batch.original, mask)
    assert torch.allclose(words.fixed, own - own.gather(1, labels.unsqueeze(1)), atol=1e-12)


def test_logits_count_words_by_their_distance_from_both_ends():
    model = BagOfWords(features=(), places=True).double()
    model.adopt(codes=torch.arange(3), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0, 0], [0, 1], [0, 0]]))
    evenly = model(torch.ones(1, 12, dtype=torch.int64)).detach()
    assert float(evenly[0, 1]) == pytest.approx(12**0.5)  # as without places, to begin with
    with torch.no_grad():
        model.places.start[0], model.places.end[1] = math.log(2), math.log(3)
    first = torch.tensor([[1] + [2] * 11, [2] * 5 + [1] + [2] * 6, [2] * 11 + [1]])
    # from the end: 5 words at distance 0 to 4, 5 at 5 to 9, 2 beyond; from the beginning the same
    factors = [2 if place < 5 else 1 for place in range(12)]
    factors = [factor * (3 if 5 <= 11 - place < 10 else 1) for place, factor in enumerate(factors)]
    root = sum(factor**2 for factor in factors) ** 0.5
    assert model(first)[:, 1].tolist() == pytest.approx([factors[0] / root, factors[5] / root, factors[11] / root])


def test_gradients_reach_the_weights_of_the_worst_words_and_no_others():
    generator = torch.Generator().manual_seed(3)
    model = random_model(generator, features=())
    ids = torch.tensor([[[2, 3], [4, 4]]])
    allowed = torch.tensor([[[True, True], [True, False]]])
    worst = worst_case_logits(model, ids, allowed, torch.ones(1, 2, dtype=torch.bool), torch.tensor([0]))
    worst[0, 1].backward()
    margin = (model.weight[:, 1] - model.weight[:, 0]).detach()
    chosen = 2 if margin[2] > margin[3] else 3
    expected = torch.zeros_like(model.weight)
    expected[[chosen, 4]] = torch.tensor([-1.0, 1.0], dtype=torch.float64) / 2**0.5
    assert torch.allclose(model.weight.grad, expected)


def test_gradients_through_runs_agree_with_differences():
    generator = torch.Generator().manual_seed(4)
    model = random_model(generator)
    batch, mask = random_batch(generator, texts=2, longest=4)
    labels = torch.tensor([0, 1])

    def loss():
        return torch.nn.functional.cross_entropy(
            worst_case_logits(model, batch.ids, batch.allowed, mask, labels), labels
        )

    loss().backward()
    assert torch.isfinite(model.weight.grad).all()
    moved = model.weight.grad.abs().amax(dim=1).nonzero().squeeze(1)
    assert int(moved.max()) >= WORDS  # features with codes are among them
    for row in moved[:: max(len(moved) // 8, 1)].tolist():
        with torch.no_grad():
            model.weight[row, 0] += 1e-6
            up = loss()
            model.weight[row, 0] -= 2e-6
            down = loss()
            model.weight[row, 0] += 1e-6
        assert float((up - down) / 2e-6) == pytest.approx(float(model.weight.grad[row, 0]), abs=1e-5)


def test_epsilon_draws_the_margins_towards_the_text_itself():
    generator = torch.Generator().manual_seed(6)
    model = random_model(generator)
    batch, mask = random_batch(generator)
    labels = torch.zeros(4, dtype=torch.int64)
    logits = model(batch.original, mask)
    none = worst_case_logits(model, batch.ids, batch.allowed, mask, labels, epsilon=0.0)
    assert torch.allclose(none, logits - logits[:, :1])


def test_no_texts():
    model = BagOfWords(classes=3)
    ids = torch.zeros(0, 4, 2, dtype=torch.int64)
    worst = worst_case_logits(model, ids, ids.bool(), ids[..., 0].bool(), torch.zeros(0, dtype=torch.int64))
    assert worst.shape == (0, 3)


@pytest.mark.parametrize("places", [False, True])
def test_a_folder_holds_the_features_and_codes(tmp_path, places):
    generator = torch.Generator().manual_seed(7)
    model = random_model(generator, classes=3, places=places).float()
    vocabulary = Vocabulary(tuple("abcdefghij"))
    classifier = TextClassifier(model, vocabulary, ("x", "y", "z"), SubstitutionTable({"a": ("b",)}))
    again = load_classifier(save_classifier(classifier, tmp_path / "run"))
    assert isinstance(again.model, BagOfWords)
    assert again.model.config == model.config
    texts = ["a b c d", "j i unheard a", "c"]
    assert (again.predict(texts).probabilities == classifier.predict(texts).probabilities).all()
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, again.model.state_dict()[name])


def test_keys_tell_features_apart_and_unlisted_ones_count_nothing():
    large = torch.tensor([(1 << 20) - 1, 0, 5])
    keys = keys_at(FAMILIES, large, large.flip(0), large, large)
    assert (keys >= 0).all()
    assert len(keys[:, :1].unique()) == 3
    assert places_of(torch.tensor([3, 5, 9]), torch.tensor([[5, 4], [9, 10]])).tolist() == [[1, -1], [2, -1]]
    assert places_of(torch.zeros(0, dtype=torch.int64), torch.tensor([5])).tolist() == [-1]


@pytest.mark.parametrize(
    "options",
    [{"features": ("sideways",)}, {"features": ("pair", "pair")}, {"classes": 1}, {"dropout": 1.0}, {"places": "no"}],
)
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(ModelError, match="expected"):
        BagOfWords(**options)


def test_too_many_words_are_refused():
    with pytest.raises(ModelError, match="fewer than"):
        BagOfWords().adopt(codes=torch.tensor([0, 1, 1 << 20]), keys=torch.zeros(0, dtype=torch.int64))
