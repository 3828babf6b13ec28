"""Tightened boxes hold every state that a substitution can reach, and are nowhere wider than intervals."""

from __future__ import annotations

import itertools

import pytest
import torch
from tests.soundness.cases import random_bilstm, random_question

from sgbt.certify import in_float64
from sgbt.certify.bilstm.boxes import lstm_boxes, shrunk_boxes
from sgbt.certify.bilstm.tightened import tightened
from sgbt.certify.specification import Specification
from sgbt.certify.word_tables import WordTables

ENDS = ("gates", "before", "after", "hidden")


@pytest.mark.parametrize("lookback", [1, 2, 16])
@pytest.mark.parametrize("gain", [1.0, 4.0])
def test_every_reachable_state_lies_in_the_tightened_boxes(lookback: int, gain: float) -> None:
    narrower = 0
    for seed in range(3):
        model = in_float64(random_bilstm(seed, classes=2, pooling="last", gain=gain))
        spec = random_question(seed, classes=2, texts=3, words=5)
        wide = lstm_boxes(model, spec, WordTables())
        around = shrunk_boxes(wide, 0.5)
        tight = tightened(wide, around, spec, lookback=lookback)
        for name in ENDS:
            outer, inner = getattr(wide, name), getattr(tight, name)
            assert (inner.lower >= outer.lower - 1e-12).all()
            assert (inner.upper <= outer.upper + 1e-12).all()
            narrower += int((inner.upper - inner.lower < outer.upper - outer.lower - 1e-6).sum())
        for text in range(len(spec)):
            for steps in reached(model, spec, text):
                real = int(spec.lengths[text].clamp(min=1))
                for name in ENDS:
                    inner, value = getattr(tight, name), getattr(steps, name).clean[:real, :, 0]
                    assert (value >= inner.lower[:real, :, text] - 1e-9).all(), (name, lookback)
                    assert (value <= inner.upper[:real, :, text] + 1e-9).all(), (name, lookback)
    assert narrower > 0


def reached(model, spec, text):  # type: ignore[no-untyped-def]
    """The states of every variant of a text, each run by itself."""
    slots = [row.nonzero().squeeze(1).tolist() for row in spec.allowed[text]]
    for taken in itertools.islice(itertools.product(*slots), 60):
        ids = spec.ids[text, torch.arange(len(taken)), list(taken)].view(1, -1, 1)
        own = Specification(
            ids,
            torch.ones_like(ids, dtype=torch.bool),
            spec.mask[text : text + 1],
            spec.labels[text : text + 1],
            2,
        )
        yield lstm_boxes(model, own, WordTables())
