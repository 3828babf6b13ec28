"""Word dropout: dropped words are unknown, without substitutes, and the same ones for the same seed."""

from __future__ import annotations

import pytest
import torch
from tests.small import model_of, random_texts, step_of

from sgbt.core.errors import TrainingError
from sgbt.threats.vocabulary import PADDING, UNKNOWN
from sgbt.training import Certified
from sgbt.training.objectives.certified import with_words_dropped

STEP = step_of(random_texts(64, 12, seed=0))


def dropped(share: float, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    step = with_words_dropped(STEP, share)
    hit = (step.ids == UNKNOWN) & (STEP.ids != UNKNOWN)
    choices = step.choices
    assert bool((step.ids == choices.ids[..., 0]).all())
    assert not bool(choices.allowed[..., 1:][hit].any())
    assert bool((choices.ids[~hit] == STEP.choices.ids[~hit]).all())
    assert bool((choices.allowed[~hit] == STEP.choices.allowed[~hit]).all())
    assert bool((step.ids[~STEP.mask] == PADDING).all())
    return hit


def test_about_the_share_asked_for_is_dropped_and_the_seed_decides_which() -> None:
    hit = dropped(0.25)
    assert float(hit.sum()) / float(STEP.mask.sum()) == pytest.approx(0.25, abs=0.07)
    assert bool((hit == dropped(0.25)).all())
    assert bool((hit != dropped(0.25, seed=1)).any())


def test_no_dropout_is_the_batch_itself_and_full_dropout_leaves_nothing() -> None:
    assert with_words_dropped(STEP, 0.0) is STEP
    assert bool((dropped(1.0) == STEP.mask).all())


def test_the_objective_reads_the_batch_that_is_left() -> None:
    model = model_of("cnn", trainable_embedding=True)
    whole = Certified(word_dropout=1.0, beta=0, gamma=0, compactness=0, ramp_epochs=0, kappa=0.5)
    with torch.no_grad():
        parts = whole.parts(model, STEP, {})
    nothing_known = model(STEP.ids.masked_fill(STEP.mask, UNKNOWN), STEP.mask)
    expected = torch.nn.functional.cross_entropy(nothing_known, STEP.labels).detach()
    assert float(parts["cross_entropy"]) == pytest.approx(0.5 * float(expected), rel=1e-5)
    assert float(parts["worst_case"]) == pytest.approx(0.5 * float(expected), rel=1e-4)  # nothing can be replaced
    with pytest.raises(TrainingError, match="word_dropout"):
        Certified(word_dropout=1.5)
