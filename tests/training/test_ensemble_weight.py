"""Late fusion: the ensemble weight of the network, chosen on dev."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from tests import small
from torch import Tensor

from sgbt.certify import certify
from sgbt.evaluate.gather import curve_of
from sgbt.models import Sum
from sgbt.models.folder import training_note
from sgbt.training import LateFusion, Run
from sgbt.training.recipes import LARGEST_WEIGHT, best_weight


def leads(texts: int, classes: int, seed: int, right: float) -> tuple[Tensor, Tensor, Tensor]:
    """Random worst-case logits, zero at the label, with the labels; those of the network are lower by `right`."""
    drawn = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (texts,), generator=drawn)
    own, beside = (torch.randn(texts, classes, generator=drawn) for _ in range(2))
    zeroed = [each.scatter(1, labels.unsqueeze(1), 0.0) for each in (own - right, beside - 0.5)]
    return zeroed[0], zeroed[1], labels


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_no_other_weight_has_less_loss(classes: int, seed: int) -> None:
    own, beside, labels = leads(80, classes, seed, right=0.4)
    found = best_weight(own, beside, labels)

    def loss(weight: float) -> float:
        return float(F.cross_entropy(beside.double() + weight * own.double(), labels))

    assert 0 < found < LARGEST_WEIGHT
    assert loss(found) <= min(loss(LARGEST_WEIGHT * step / 1000) for step in range(1001)) + 1e-9


def test_a_network_that_is_wrong_has_no_weight_and_one_that_is_always_right_the_largest() -> None:
    own, beside, labels = leads(80, 2, 0, right=-3.0)
    assert best_weight(own, beside, labels) == 0.0
    assert best_weight(-own.abs(), beside, labels) == LARGEST_WEIGHT


def test_texts_without_a_finite_bound_are_left_out() -> None:
    own, beside, labels = leads(40, 2, 1, right=0.4)
    odd = torch.tensor([[torch.inf, 0.0]])
    more = best_weight(torch.cat([own, own[:1]]), torch.cat([beside, odd]), torch.cat([labels, torch.tensor([1])]))
    assert more == pytest.approx(best_weight(own, beside, labels))
    assert best_weight(own[:1], odd, torch.tensor([1])) == 1.0
    assert best_weight(own[:0], beside[:0], labels[:0]) == 1.0


def asked(folder: Path, *, choose_weight: bool = False) -> Run:
    return small.tied_cnn(folder, LateFusion("linear", {"features": (), "places": True}, choose_weight=choose_weight))


def test_the_head_is_scaled_and_dev_scores_the_weighted_sum(tmp_path: Path) -> None:
    plain, weighted = asked(tmp_path / "plain"), asked(tmp_path / "weighted", choose_weight=True)
    weight = weighted.about["ensemble_weight"]
    assert weight != 1.0
    one, other = plain.model.model, weighted.model.model
    assert isinstance(one, Sum)
    assert isinstance(other, Sum)
    for name, value in one.parts[0].named_parameters():
        scale = weight if name.startswith("head.") else 1.0
        assert torch.allclose(scale * value, other.parts[0].get_parameter(name))
    proofs = list(certify(weighted.model, small.dataset().dev, tiers=["ibp"]))
    share = sum(proof.stays for proof in proofs) / len(proofs)
    assert weighted.dev["certified"] == pytest.approx(share)


def test_a_run_that_is_asked_for_again_is_weighted_once(tmp_path: Path) -> None:
    first, again = asked(tmp_path, choose_weight=True), asked(tmp_path, choose_weight=True)
    assert first.log.rows == again.log.rows
    ids = torch.tensor([[2, 5, 9, 3]])
    assert torch.equal(first.model.model(ids), again.model.model(ids))


def test_the_weight_is_in_the_note_and_adds_no_epoch_to_the_log(tmp_path: Path) -> None:
    plain, weighted = asked(tmp_path / "plain"), asked(tmp_path / "weighted", choose_weight=True)
    assert training_note(tmp_path / "weighted")["ensemble_weight"] == weighted.about["ensemble_weight"]
    assert training_note(tmp_path / "weighted")["dev"] == weighted.dev
    assert curve_of(weighted.log.rows) == curve_of(plain.log.rows)
    assert [each["epoch"] for each in curve_of(weighted.log.rows)] == [1]
