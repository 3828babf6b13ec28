"""Numbers that are not finite prove nothing: no tier, budget or radius makes a certificate of them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from sgbt.certify import TIERS, Certificate, Specification, certify, explain, in_float64
from sgbt.certify.separable import SeparableBound
from sgbt.certify.tiers import bounds_of, lowest_of
from sgbt.certify.verifier import verifiers
from sgbt.certify.word_tables import WordTables
from sgbt.core.errors import CertificateError, ModelError
from sgbt.models import (
    BagOfWords,
    BiLSTM,
    BiLSTMConfig,
    TextClassifier,
    WordEmbedding,
    load_classifier,
    save_classifier,
)
from sgbt.models.folder import save_tensors
from sgbt.models.identity import weights_of
from sgbt.threats import Substitutions, SubstitutionTable, Vocabulary

WORDS = ("good", "bad", "film", "the")
TABLE = SubstitutionTable({"good": ("bad",)})
LONG = "film the " * 300 + "good"


def loud_bilstm() -> TextClassifier:
    """Recurrent weights so large that interval adjoints overflow on a long text."""
    torch.manual_seed(5)
    model = BiLSTM(WordEmbedding(torch.randn(6, 4)), BiLSTMConfig(hidden=8))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "weight_" in name:
                weight.mul_(3)
    return TextClassifier(model.eval(), Vocabulary(WORDS), ("no", "yes"), TABLE, max_length=1000)


def bag_with(number: float) -> TextClassifier:
    model = BagOfWords(features=())
    model.adopt(codes=torch.tensor([0, 1, 2, 3, 4, 5]), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        model.weight[2:, 1] = torch.tensor([1.0, number, 0.1, 0.1])
    return TextClassifier(model.eval(), Vocabulary(WORDS), ("no", "yes"), TABLE, max_length=1000)


def question_of(budget: int | None, words: int = 3) -> Specification:
    ids = torch.tensor([[[2, 3]] * words])
    allowed = torch.ones_like(ids, dtype=torch.bool)
    mask = torch.ones(1, words, dtype=torch.bool)
    return Specification.of(Substitutions(ids, allowed), mask, torch.tensor([1]), classes=2, budget=budget)


@pytest.mark.parametrize("budget", [1, 2, 5, None])
def test_a_bilstm_whose_gradients_overflow_certifies_no_text_that_one_swap_flips(budget: int | None) -> None:
    classifier = loud_bilstm()
    before, after = classifier.predict([LONG, LONG.replace("good", "bad")]).labels
    assert before != after
    (proof,) = certify(classifier, [LONG], max_substitutions=budget)
    assert not proof.certified
    assert proof.radius in (None, 0)
    told = explain(classifier, LONG, max_substitutions=budget)
    assert math.isfinite(told.base)
    assert all(math.isfinite(word.drop) for word in told.words)


@pytest.mark.parametrize("tier", [tier for tier in TIERS if tier not in ("full", "exact")])
def test_no_tier_is_above_the_margin_of_a_swap(tier: str) -> None:
    """Every bound of every tier by itself, its radius too."""
    classifier = loud_bilstm()
    precise = in_float64(classifier.model)
    words = LONG.split()
    ids = torch.tensor([[classifier.vocabulary.encode([word, "bad" if word == "good" else word]) for word in words]])
    allowed = (ids != ids[..., :1]) | (torch.arange(2) == 0)
    label = int(precise(ids[..., 0]).argmax())
    flipped = precise(ids[..., 1])[0]
    worst = float(flipped[label] - flipped[1 - label])
    mask = torch.ones(ids.shape[:2], dtype=torch.bool)
    spec = Specification.of(Substitutions(ids, allowed), mask, torch.tensor([label]), classes=2, budget=1)
    with torch.no_grad():
        bounds = bounds_of(tier, verifiers(precise, spec, WordTables()))
    assert worst < 0
    assert float(lowest_of(bounds)) <= worst
    assert all(int(bound.radius(torch.zeros(1, dtype=torch.float64))) <= 0 for bound in bounds)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("budget", [0, 1, 2, None])
def test_a_gain_that_is_not_finite_may_cost_everything(odd: float, budget: int | None) -> None:
    spec = question_of(budget)
    gains = torch.tensor([[0.1], [odd], [-0.2]], dtype=torch.float64)
    bound = SeparableBound(spec, torch.tensor([[5.0]], dtype=torch.float64), gains)
    assert bound.lowest().tolist() == [[5.0 if budget == 0 else -math.inf]]
    assert bound.radius(torch.zeros(1, dtype=torch.float64)).tolist() == [0]
    assert (bound + bound).lowest().tolist() == [[10.0 if budget == 0 else -math.inf]]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_constant_that_is_not_finite_proves_nothing(odd: float) -> None:
    spec = question_of(1)
    gains = torch.tensor([[0.1], [math.inf], [-0.2]], dtype=torch.float64)
    bound = SeparableBound(spec, torch.tensor([[odd]], dtype=torch.float64), gains)
    other = SeparableBound(spec, torch.tensor([[5.0]], dtype=torch.float64), gains.clamp(max=0))
    for each in (bound, other + bound, bound + other):
        assert each.lowest().tolist() == [[-math.inf]]
        assert each.radius(torch.zeros(1, dtype=torch.float64)).tolist() == [-1]


def test_sums_of_finite_gains_that_overflow_prove_nothing() -> None:
    spec = question_of(None)
    gains = torch.full((3, 1), -1e308, dtype=torch.float64)
    bound = SeparableBound(spec, torch.tensor([[1e308]], dtype=torch.float64), gains)
    assert bound.lowest().tolist() == [[-math.inf]]
    high = SeparableBound(spec, torch.tensor([[1.7e308]], dtype=torch.float64), -gains)
    assert (high + high).lowest().tolist() == [[-math.inf]]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("budget", [None, 1])
def test_weights_that_are_not_finite_are_refused_before_certifying(odd: float, budget: int | None) -> None:
    with pytest.raises(CertificateError, match="weight"):
        certify(bag_with(odd), ["film the good"], max_substitutions=budget)


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_weights_that_are_not_finite_are_refused_on_load_and_not_saved(odd: float, tmp_path: Path) -> None:
    save_classifier(bag_with(1.0), tmp_path)
    save_tensors(weights_of(bag_with(odd).model), tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="weight"):
        load_classifier(tmp_path)
    with pytest.raises(ModelError, match=r"finite numbers in weight, got .* in the model to be saved"):
        save_classifier(bag_with(odd), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def proof_of(**changed: object) -> dict[str, object]:
    whole: dict[str, object] = {
        "index": 0, "verdict": "certified", "label": 1, "predicted": 1, "margin": 1.0, "tier": "ibp", "slack": 0.1,
        "words": 3, "read": 3, "replaceable": 1, "table_hash": "t", "model_hash": "m", "text_hash": "x",
        "tiers": ["ibp"],
    }  # fmt: skip
    return whole | changed


@pytest.mark.parametrize(
    "odd",
    [
        {"margin": math.inf},
        {"margin": math.nan, "verdict": "abstained"},
        {"slack": math.inf, "verdict": "certified"},
        {"slack": math.nan, "verdict": "abstained"},
    ],
)
def test_a_certificate_of_numbers_that_are_not_finite_is_refused(odd: dict[str, object]) -> None:
    with pytest.raises(CertificateError):
        Certificate.from_row(proof_of(**odd))


def test_rows_are_json_and_those_of_earlier_versions_load() -> None:
    abstained = Certificate.from_row(proof_of(verdict="abstained", margin=-math.inf))
    text = json.dumps(abstained.to_row(), allow_nan=False)
    assert Certificate.from_row(json.loads(text)) == abstained
    assert Certificate.from_row(json.loads(json.dumps(proof_of(verdict="abstained", margin=-math.inf)))) == abstained
