"""BagOfNgrams: what it counts, and that its bound lies above every allowed text, found by trying every one of them."""

from itertools import product

import pytest
import torch
from tests.models.test_bag_of_words import WORDS, enumerated, random_batch

from sgbt.core.errors import ModelError
from sgbt.models import BagOfNgrams, TextClassifier, load_classifier, save_classifier, worst_case_logits
from sgbt.models.bag_of_ngrams.model import AT_THE_END, BITS, LARGEST, MAP_SHIFT
from sgbt.models.bag_of_ngrams.worst_case import gram_worst_by_word
from sgbt.models.blueprint import blueprint, build
from sgbt.threats import PADDING, UNKNOWN, Vocabulary


def random_model(generator, *, classes=2, longest=4, codes=5, ending=0, maps=1):
    """A model with random weights for about half of all runs of few codes."""
    more = (1.0,) * (maps - 1)
    model = BagOfNgrams(classes=classes, longest=longest, ending=ending, more_resolutions=more).double()
    coded = torch.randint(1, codes + 1, (maps, WORDS), generator=generator)
    coded[:, PADDING] = PADDING
    coded = coded if maps > 1 else coded[0]
    runs = [run for length in range(1, longest + 1) for run in product(range(1, codes + 1), repeat=length)]
    keys = torch.tensor([sum(code << BITS * place for place, code in enumerate(reversed(run))) for run in runs])
    if ending:
        keys = torch.cat([keys, keys | AT_THE_END])
    keys = torch.cat([keys | number << MAP_SHIFT for number in range(maps)])
    keys = keys[torch.rand(len(keys), generator=generator) < 0.5].sort().values
    model.adopt(codes=coded, keys=keys)
    with torch.no_grad():
        model.weight.copy_(torch.randn(model.weight.shape, generator=generator, dtype=torch.float64))
        model.bias.copy_(torch.randn(classes, generator=generator, dtype=torch.float64))
    return model


def test_each_run_of_codes_counts_once():
    model = BagOfNgrams(longest=2)
    codes = torch.tensor([0, 1, 2, 2, 3])
    model.adopt(codes=codes, keys=torch.tensor([2, 3, 2 << BITS | 2, 2 << BITS | 3]))
    with torch.no_grad():
        model.weight[:, 1] = torch.tensor([1.0, 10.0, 100.0, 1000.0])
        model.bias[0] = 0.5
    texts = torch.tensor([[2, 3, 2, 4, 4], [4, 2, 0, 0, 0], [0, 0, 0, 0, 0]])
    logits = model(texts)
    assert logits[:, 1].tolist() == [1111.0, 11.0, 0.0]  # 2 2 twice and 3 3 without a weight; 3, 2 but not 3 2; nothing
    assert logits[:, 0].tolist() == [0.5] * 3
    alone = model(texts[1:2, :2])
    assert torch.equal(alone, logits[1:2])


def test_every_map_has_weights_of_its_own():
    model = BagOfNgrams(longest=1, more_resolutions=(9.0,))
    model.adopt(codes=torch.tensor([[0, 1, 2, 2], [0, 1, 2, 3]]), keys=torch.tensor([2, 2 | 1 << MAP_SHIFT]))
    with torch.no_grad():
        model.weight[:, 1] = torch.tensor([1.0, 10.0])
    assert model(torch.tensor([[2], [3], [1]]))[:, 1].tolist() == [11.0, 1.0, 0.0]


def test_runs_among_the_last_words_add_a_weight_of_their_own():
    model = BagOfNgrams(longest=2, ending=3)
    model.adopt(codes=torch.tensor([0, 1, 2, 3]), keys=torch.tensor([2, 2 | AT_THE_END, (2 << BITS | 3) | AT_THE_END]))
    with torch.no_grad():
        model.weight[:, 1] = torch.tensor([1.0, 10.0, 100.0])
    texts = torch.tensor([[2, 3, 3, 3, 3], [3, 2, 3, 3, 3], [3, 3, 2, 3, 3], [2, 3, 2, 0, 0], [2, 0, 0, 0, 0]])
    assert model(texts)[:, 1].tolist() == [1.0, 1.0, 111.0, 111.0, 11.0]


@pytest.mark.parametrize("longest", [1, 2, 4])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("ending", "maps"), [(0, 1), (3, 1), (0, 2), (3, 3)])
def test_no_allowed_text_lies_above_the_bound(longest, classes, ending, maps):
    generator = torch.Generator().manual_seed(10 * longest + classes)
    tight = 0
    for _ in range(40):
        model = random_model(
            generator,
            classes=classes,
            longest=longest,
            codes=int(torch.randint(2, 6, (), generator=generator)),
            ending=ending,
            maps=maps,
        )
        batch, mask = random_batch(generator, longest=6)
        labels = torch.randint(0, classes, (len(batch),), generator=generator)
        worst = worst_case_logits(model, batch.ids, batch.allowed, mask, labels)
        for text, label in enumerate(labels.tolist()):
            length = int(mask[text].sum())
            exact = enumerated(model, batch.ids[text, :length], batch.allowed[text, :length], label)
            assert (worst[text] >= exact - 1e-9).all()
            assert worst[text, label] == 0
            tight += int(torch.allclose(worst[text], exact, atol=1e-9))
    assert tight > (40 if maps == 1 else 20)  # the bound is a bound, not just a large number


@pytest.mark.parametrize("ending", [0, 3])
def test_a_text_in_which_no_run_can_stand_twice_has_its_exact_worst_case(ending):
    generator = torch.Generator().manual_seed(3)
    model = random_model(generator, codes=11, ending=ending)
    model.adopt(codes=torch.arange(WORDS), keys=model.keys)
    with torch.no_grad():
        model.weight.copy_(torch.randn(model.weight.shape, generator=generator, dtype=torch.float64))
    ids = torch.tensor([[[1, 2], [3, 3], [4, 5], [6, 6], [7, 8], [9, 9]]])
    allowed = torch.ones_like(ids, dtype=torch.bool)
    mask, labels = torch.ones(1, 6, dtype=torch.bool), torch.tensor([1])
    worst = worst_case_logits(model, ids, allowed, mask, labels)
    assert torch.allclose(worst[0], enumerated(model, ids[0], allowed[0], 1), atol=1e-12)


def test_without_ambiguous_words_the_bound_is_the_text_itself():
    generator = torch.Generator().manual_seed(4)
    model = random_model(generator)
    model.codes.copy_(torch.tensor([PADDING, *[1 + word // 4 for word in range(1, WORDS)]]))
    ids = torch.tensor([[[4, 5], [8, 9], [1, 1]]])
    allowed, mask = torch.ones_like(ids, dtype=torch.bool), torch.ones(1, 3, dtype=torch.bool)
    logits = model(ids[..., 0])
    worst = worst_case_logits(model, ids, allowed, mask, torch.tensor([0]))
    assert torch.allclose(worst, logits - logits[:, :1], atol=1e-12)


@pytest.mark.parametrize(("ending", "maps"), [(0, 1), (2, 1), (2, 2)])
def test_more_substitutes_never_lower_the_bound_and_padding_changes_nothing(ending, maps):
    generator = torch.Generator().manual_seed(5)
    for _ in range(60):
        model = random_model(generator, codes=3, ending=ending, maps=maps)
        batch, mask = random_batch(generator, longest=6)
        labels = torch.zeros(len(batch), dtype=torch.int64)
        fewer = batch.allowed & (torch.rand(batch.allowed.shape, generator=generator) < 0.6)
        fewer[..., 0] = True
        few, many = (worst_case_logits(model, batch.ids, allowed, mask, labels) for allowed in (fewer, batch.allowed))
        assert (many >= few - 1e-9).all()
        assert (few >= model(batch.ids[..., 0], mask) - model(batch.ids[..., 0], mask)[:, :1] - 1e-9).all()
        padded = [torch.nn.functional.pad(part, (0, 0, 0, 3)) for part in (batch.ids, batch.allowed)]
        wide = worst_case_logits(model, *padded, torch.nn.functional.pad(mask, (0, 3)), labels)
        assert torch.allclose(wide, many, atol=1e-12)


@pytest.mark.parametrize(("ending", "maps"), [(0, 1), (4, 1), (0, 2), (4, 2)])
def test_the_bound_word_by_word_holds_for_every_text(ending, maps):
    generator = torch.Generator().manual_seed(6)
    for _ in range(30):
        model = random_model(generator, classes=3, ending=ending, maps=maps)
        batch, mask = random_batch(generator, texts=2, longest=9, choices=2)
        labels = torch.tensor([0, 2])
        found = gram_worst_by_word(model, batch.ids, batch.allowed, mask, labels)
        for _ in range(40):
            slots = torch.randint(0, 2, mask.shape, generator=generator)
            slots = slots * batch.allowed.gather(2, slots.unsqueeze(2)).squeeze(2)
            logits = model(batch.ids.gather(2, slots.unsqueeze(2)).squeeze(2), mask)
            own = logits - logits.gather(1, labels.unsqueeze(1))
            gains = found.gains.gather(2, slots[..., None, None].expand(-1, -1, 1, 3)).squeeze(2)
            assert (found.fixed + gains.sum(dim=1) >= own - 1e-9).all()


def test_padding_among_words_is_refused_because_the_bound_would_not_hold():
    model = random_model(torch.Generator().manual_seed(9))
    ids = torch.tensor([[[2, 3], [0, 0], [4, 5]]])
    mask = torch.tensor([[True, False, True]])
    with pytest.raises(ModelError, match="padding behind the words"):
        worst_case_logits(model, ids, torch.ones_like(ids, dtype=torch.bool), mask, torch.tensor([0]))


def test_codes_beyond_the_largest_are_unknown_and_options_are_checked():
    model = BagOfNgrams()
    model.adopt(codes=torch.tensor([0, 1, 2, LARGEST]), keys=torch.zeros(0, dtype=torch.int64))
    assert model.codes.tolist() == [0, 1, 2, UNKNOWN]
    endings = ({"ending": -1}, {"ending": 2.5}, {"ending": True}, {"ending": 10**30})
    more = ({"more_resolutions": (0.0,)}, {"more_resolutions": ("fine",)}, {"more_resolutions": (float("inf"),)})
    for wrong in ({"longest": 5}, {"classes": 1}, {"resolution": 0.0}, {"prior": 0.0}, {"minimum_count": 0}):
        with pytest.raises(ModelError, match="longest from 1 to 4"):
            BagOfNgrams(**wrong)
    for wrong in (*endings, *more):
        with pytest.raises(ModelError, match="ending a whole number from 0"):
            BagOfNgrams(**wrong)
    for wrong in (3.0, (1.0,) * 4):
        with pytest.raises(ModelError, match=r"expected a list of at most 3 numbers.*more_resolutions"):
            BagOfNgrams(more_resolutions=wrong)


@pytest.mark.parametrize(("ending", "maps"), [(0, 1), (2, 2)])
def test_a_folder_keeps_the_model(tmp_path, ending, maps):
    generator = torch.Generator().manual_seed(8)
    model = random_model(generator, ending=ending, maps=maps).float()
    words = Vocabulary(tuple(f"w{letter}" for letter in "abcdefghij"))
    classifier = TextClassifier(model, words, ("no", "yes"))
    read = load_classifier(save_classifier(classifier, tmp_path))
    texts = ["wa wb wc wd", "wj", ""]
    assert (read.predict(texts).probabilities == classifier.predict(texts).probabilities).all()


def test_an_option_of_a_later_version_leaves_the_identity_of_earlier_models_as_it_was():
    """Folders and certificates name a model by its blueprint: what is new is written only where it is used."""
    earlier = {"classes", "longest", "minimum_count", "resolution", "more_resolutions", "prior", "ending"}
    assert set(blueprint(BagOfNgrams())["options"]) == earlier
    used = blueprint(BagOfNgrams(label_weight=1.0))
    assert used["options"]["label_weight"] == 1.0
    assert build(used).config.label_weight == 1.0
    assert build(blueprint(BagOfNgrams())).config.label_weight == 0.0
    assert build(blueprint(BagOfNgrams(distinction=0.1))).config.distinction == 0.1
