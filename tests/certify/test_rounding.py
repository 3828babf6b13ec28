"""What rounding may do is proven: computed states, margins and labels against arithmetic of fifty digits."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from typing import Any

import mpmath
import pytest
import torch
from tests.reference.exactly import without_allowances
from tests.reference.precise import bilstm_margins, bilstm_states
from tests.soundness.cases import VOCABULARY, random_embedding

from sgbt.certify import Specification, certify, float64_allowance, in_float64, margin_bounds, rounding_slack
from sgbt.certify.bilstm.boxes import enclosed_states
from sgbt.certify.bilstm.rounding import units_in_bounds
from sgbt.certify.cnn.rounding import ACTIVATION_UNITS, proven_gap
from sgbt.certify.tiers import DEFAULT_TIERS
from sgbt.models import BagOfWords, BiLSTM, BiLSTMConfig, Sum, TextClassifier, TextCNN, WordEmbedding
from sgbt.threats import SubstitutionTable, Vocabulary

WORDS = tuple(f"w{number}" for number in range(2, VOCABULARY))


def loud(seed: int, factor: float, *, pooling: str = "last", projection: int | None = None) -> BiLSTM:
    torch.manual_seed(seed)
    words = WordEmbedding(torch.randn(VOCABULARY, 4), projection=projection)
    model = BiLSTM(words, BiLSTMConfig(hidden=3, pooling=pooling, projection=projection))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name != "embedding.weight":
                weight.mul_(factor)
    return model.eval()


def classifier_of(model: object, **options: object) -> TextClassifier:
    return TextClassifier(model, Vocabulary(WORDS), ("no", "yes"), **options)  # type: ignore[arg-type]


def text_of(length: int, seed: int) -> list[int]:
    return torch.randint(2, VOCABULARY, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


CASES = [(1.0, 3, None), (3.0, 60, None), (8.0, 40, None), (2.0, 20, 5)]


@pytest.mark.parametrize(("factor", "length", "projection"), CASES)
def test_boxes_hold_the_states_as_computed_and_as_they_are(factor: float, length: int, projection: int | None) -> None:
    """Boxes of a text without substitutes are as wide as rounding; errors that grow through the text widen them."""
    stored = loud(int(factor), factor, projection=projection)
    model, ids = in_float64(stored), text_of(length, 1)
    assert isinstance(model, BiLSTM)
    with torch.no_grad():
        vectors = model.embedding(torch.tensor([ids]))
        lower, upper = enclosed_states(model, vectors)
        computed = [model.forwards(vectors)[0][0], model.backwards(vectors.flip(1))[0][0]]
    truth = bilstm_states(model, ids)
    for direction in (0, 1):
        low, high, states = lower[:, direction, 0], upper[:, direction, 0], computed[direction]
        assert (low <= states).all()
        assert (states <= high).all()
        for step, unit in itertools.product(range(length), range(3)):
            exact = truth[direction][step][unit]
            assert mpmath.mpf(float(low[step, unit])) <= exact <= mpmath.mpf(float(high[step, unit]))
    assert float((upper - lower).amin()) > 0
    if factor == 1.0:
        assert float((upper - lower).amax()) < 1e-11


@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
@pytest.mark.parametrize("factor", [1.0, 3.0])
@pytest.mark.parametrize("seed", [3])
def test_a_bilstm_decides_in_float64_and_no_tier_is_above_its_margins(factor: float, pooling: str, seed: int) -> None:
    """A text with one word to replace: both versions in fifty digits and as the classifier computes them."""
    classifier = classifier_of(loud(seed, factor, pooling=pooling), max_length=64)
    ids = text_of(30, seed - 1)
    other = [*ids[:12], (ids[12] - 1) % 20 + 2, *ids[13:]]
    encoded = classifier.encode([" ".join(f"w{word}" for word in version) for version in (ids, other)])
    logits = classifier.logits_of(encoded)
    label = int(logits[0].argmax())
    computed = logits[:, label] - logits[:, 1 - label]
    truth = [margins[label] for margins in bilstm_margins(in_float64(classifier.model), [ids, other])]
    assert all(abs(exact - float(own)) < 1e-6 for exact, own in zip(truth, computed, strict=True))
    slots = torch.tensor([[[own, new] for own, new in zip(ids, other, strict=True)]])
    allowed = (slots != slots[..., :1]) | (torch.arange(2) == 0)
    spec = Specification(slots, allowed, torch.ones(1, 30, dtype=torch.bool), torch.tensor([label]), 2)
    slack = rounding_slack(classifier)
    for tier in DEFAULT_TIERS[:-1]:
        bound = float(margin_bounds(tier, in_float64(classifier.model), spec))
        assert bound <= float(computed.min()) + slack
        assert bound <= min(truth) + slack
    assert slack < 1e-7


@pytest.mark.parametrize(("name", "function"), [("tanh", mpmath.tanh), ("sigmoid", lambda z: 1 / (1 + mpmath.exp(-z)))])
def test_activations_are_within_the_units_assumed(name: str, function: Any) -> None:
    sizes = torch.logspace(-8, 2.5, 1500, dtype=torch.float64)
    points = torch.cat([sizes, -sizes])
    with mpmath.workdps(60):
        for z, own in zip(points.tolist(), getattr(points, name)().tolist(), strict=True):
            exact = function(mpmath.mpf(z))
            assert abs(own - exact) <= ACTIVATION_UNITS * 2.0**-53 * abs(exact) + 1e-300


def test_the_count_of_roundings_is_above_every_tier_s() -> None:
    """The sums of docs/theory/certificates.md, for each coefficient, against the one formula that stands for all."""
    for steps, hidden, width in itertools.product((1, 2, 3, 10, 100, 1000), (1, 2, 3, 64, 500), (1, 4, 300)):
        counted = int(units_in_bounds(torch.tensor(steps), hidden, width))
        crown_p = 33 + (steps + 3) * (2 * hidden + 3 * steps + 41)
        crown_q = 34 + 3.25 * (2 * hidden + 3 * steps + 40)
        crown_g = 8 * steps * hidden + 16 * hidden + 2 * steps + 7 * width + 47
        gbm_p, gbm_q, gbm_g = 36 * (steps + 3) + 130, 200, 12 * width + 40 * hidden + 4 * steps + 106
        taylor_p, taylor_q = gbm_p + 20 * (steps + 3) + 60, gbm_q + 160
        assert counted >= max(crown_p, crown_q, crown_g, gbm_p, gbm_q, gbm_g, taylor_p, taylor_q)


def with_exact_head(seed: int, factor: float, pooling: str) -> BiLSTM:
    """One feature and its opposite are the logits, so that the head adds no rounding of its own."""
    model = loud(seed, factor, pooling=pooling).requires_grad_(False)
    model.head.weight.zero_()
    model.head.bias.zero_()
    model.head.weight[:, seed % 6] = torch.tensor([1.0, -1.0])
    return model


@pytest.mark.parametrize("tier", DEFAULT_TIERS[:-1])
def test_every_tier_allows_for_rounding_where_it_shows(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code with float32 in place of float64, and with its unit: errors are half a billion times as large.

    Texts without substitutes, whose bound is their margin but for rounding; without the allowances some lie below it.
    """
    above = 0
    cases = itertools.product((1.0, 1.5, 2.0), (("last", 40), ("max", 40), ("last", 120), ("max", 120)))
    for seed, (factor, (pooling, length)) in enumerate(cases):
        model = with_exact_head(seed, factor, pooling)
        ids = torch.tensor([text_of(length, seed)]).unsqueeze(-1)
        everywhere = torch.ones_like(ids, dtype=torch.bool)
        spec = Specification(ids, everywhere, everywhere[..., 0], torch.tensor([seed % 2]), 2)
        sides = [model(ids[..., 0])[0].double(), in_float64(model)(ids[..., 0])[0]]
        computed, truth = (float(logits[seed % 2] - logits[1 - seed % 2]) for logits in sides)
        assert computed != truth
        bound = float(margin_bounds(tier, model, spec))
        assert bound <= min(computed, truth)
        assert bound > -50 or length > 40  # errors of float32 may outgrow the margin in a long text
        with monkeypatch.context() as without:
            without_allowances(without)
            above += float(margin_bounds(tier, model, spec)) > min(computed, truth)
    assert above > 0, "nothing to allow for: the test shows nothing"


def test_a_classifier_notices_however_its_weights_change() -> None:
    classifier = classifier_of(loud(1, 1.0))
    texts = ["w3 w4 w5"]
    before = classifier.predict(texts).probabilities
    assert (classifier.predict(texts).probabilities == before).all()
    assert classifier.deciding is classifier.deciding
    for change in (
        lambda model: model.head.weight.data.mul_(2),
        lambda model: setattr(model.head.bias, "data", model.head.bias.data + 1 - 2 * torch.eye(2)[0]),
        lambda model: model.embedding.weight.data.mul_(1.5),
        lambda model: setattr(model.embedding, "weight", torch.nn.Parameter(model.embedding.weight + 1)),
    ):
        change(classifier.model)
        after = classifier.predict(texts).probabilities
        assert (after != before).any()
        fresh = replace(classifier, model=copy.deepcopy(classifier.model))
        assert (fresh.predict(texts).probabilities == after).all()
        exact = in_float64(classifier.model)(torch.tensor([classifier.vocabulary.encode(texts[0].split())]))
        assert torch.allclose(torch.from_numpy(after), exact.softmax(dim=1), rtol=0, atol=1e-12)
        before = after


def test_neither_training_mode_nor_gradients_nor_stored_precision_change() -> None:
    model = loud(1, 1.0).train()
    classifier = classifier_of(model)
    classifier.predict(["w3 w4"])
    assert model.training
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert model.embedding.precision is None


@pytest.mark.parametrize("kind", ["projection", "two networks", "three networks with weights"])
def test_the_slack_of_a_textcnn_in_float32_is_proven(kind: str) -> None:
    torch.manual_seed(0)
    words = WordEmbedding(torch.randn(VOCABULARY, 6) * 3, projection=4 if kind == "projection" else None)
    model = TextCNN(
        words, filters=4, kernel_sizes=(2, 3), projection=4 if kind == "projection" else None, pooling="mean"
    )
    whole: object = model
    other = TextCNN(random_embedding(2, codes=True), filters=4, kernel_sizes=(1,))
    if kind == "two networks":
        whole = Sum((model, other))
    if kind == "three networks with weights":
        whole = Sum((model, other, TextCNN(random_embedding(3), filters=4, kernel_sizes=(2,))), (0.7, 3.1, 1.0))
    classifier = classifier_of(whole.eval(), max_length=50)  # type: ignore[attr-defined]
    ids = torch.randint(1, VOCABULARY, (500, 50), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        off = classifier.model(ids).double() - in_float64(classifier.model)(ids)  # type: ignore[operator]
    worst = float((off.amax(dim=1) - off.amin(dim=1)).amax())
    assert 0 < worst < rounding_slack(classifier) < 1e-2


def test_half_precision_is_stored_and_float64_decides() -> None:
    torch.manual_seed(0)
    words = WordEmbedding(torch.randn(VOCABULARY, 6))
    model = TextCNN(words, filters=4, kernel_sizes=(2, 3)).half().eval()
    classifier = classifier_of(model)
    ids = classifier.encode(["w3 w9 w17 w4"])
    exact = in_float64(model)(torch.tensor([[3, 9, 17, 4]]))
    assert torch.allclose(classifier.logits_of(ids), exact, rtol=0, atol=1e-12)
    assert rounding_slack(classifier) < 1e-6


@pytest.mark.parametrize("words", [10, 4000])
def test_a_linear_model_is_off_by_less_than_its_slack(words: int) -> None:
    """Weights from tiny to huge, added up in float64 and in fifty digits."""
    generator = torch.Generator().manual_seed(words)
    model = BagOfWords(features=())
    model.adopt(codes=torch.arange(VOCABULARY), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        model.weight.copy_(
            torch.randn(model.weight.shape, generator=generator)
            * 10.0 ** torch.randint(-6, 6, (VOCABULARY, 1), generator=generator)
        )
    classifier = classifier_of(model.eval(), max_length=words)
    ids = text_of(words, 3)
    logits = classifier.logits_of(classifier.encode([" ".join(f"w{word}" for word in ids)]))[0]
    with mpmath.workdps(50):
        exact = [
            sum(mpmath.mpf(float(model.weight.detach()[word, side])) for word in ids) / mpmath.sqrt(words)
            for side in (0, 1)
        ]
        off = abs((exact[1] - exact[0]) - mpmath.mpf(float(logits[1] - logits[0])))
    assert off < rounding_slack(classifier) < 1e-3


def test_the_allowance_of_a_linear_model_grows_with_the_words_that_it_reads() -> None:
    model = BagOfWords(features=())
    model.adopt(codes=torch.arange(VOCABULARY), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        model.weight.fill_(1.0)
    short, long = (float64_allowance(model, longest=longest) for longest in (100, 1_000_000))
    assert 0 < short < 1e-9 < long


def test_a_projection_adds_to_the_gap() -> None:
    torch.manual_seed(0)
    plain = TextCNN(WordEmbedding(torch.eye(6).repeat(5, 1)), filters=4, kernel_sizes=(2,)).double()
    projected = copy.deepcopy(plain)
    projected.embedding.projection = torch.nn.Linear(6, 6).double()
    with torch.no_grad():  # the same function, computed with one more product
        projected.embedding.projection.weight.copy_(torch.eye(6))
        projected.embedding.projection.bias.zero_()
    assert proven_gap(plain, longest=9) < proven_gap(projected, longest=9)


def test_certificates_of_a_bilstm_state_a_small_slack_and_hold() -> None:
    table = SubstitutionTable({"w3": ("w4", "w5"), "w9": ("w10",)})
    classifier = classifier_of(loud(2, 1.0), table=table, max_length=40)
    texts = [" ".join(f"w{word}" for word in text_of(12, seed)) for seed in range(20)]
    proofs = certify(classifier, texts)
    assert any(proof.certified for proof in proofs)
    assert all(proof.slack < 1e-7 for proof in proofs)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200))
def test_states_and_margins_of_many_models_lie_in_their_boxes(seed: int) -> None:
    """Weights up to eight times as large as they begin, texts of up to 300 words, with and without a projection."""
    random = torch.Generator().manual_seed(seed)
    factor = float(torch.rand(1, generator=random)) * 7 + 1
    length = int(torch.randint(1, 301, (1,), generator=random))
    test_boxes_hold_the_states_as_computed_and_as_they_are(1.0 + factor, length, 5 if seed % 4 == 0 else None)
    test_a_bilstm_decides_in_float64_and_no_tier_is_above_its_margins(
        1 + factor / 8, ("last", "mean", "max")[seed % 3], seed
    )
