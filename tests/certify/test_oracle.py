"""The oracle itself: it counts and reaches every variant, and refuses what is too many."""

from __future__ import annotations

import pytest
import torch
from tests.soundness.cases import random_cnn, random_question

from sgbt.certify import Specification, exhaustive, in_float64
from sgbt.certify.oracle import combinations_of
from sgbt.core.errors import CertificateError
from sgbt.core.shares import Share
from sgbt.threats import Substitutions


def test_variants_are_counted_with_and_without_a_budget() -> None:
    ids = torch.tensor([[[2, 3, 4], [5, 6, 5], [7, 7, 7]]])
    allowed = torch.tensor([[[True, True, True], [True, True, False], [True, False, False]]])
    counts = []
    for budget in (None, 0, 1, 2, 3):
        spec = Specification.of(
            Substitutions(ids, allowed), ids[..., 0] > 0, torch.tensor([0]), classes=2, budget=budget
        )
        counts.append(combinations_of(spec, 0))
    assert counts == [6, 1, 4, 6, 6]


def test_the_variant_it_names_has_the_margin_it_names() -> None:
    model = in_float64(random_cnn(3, classes=3, pooling="max"))
    spec = random_question(5, classes=3)
    for text in range(len(spec)):
        found = exhaustive(model, spec, text, batch_size=7)
        logits = model(found.texts, spec.mask[text].expand(len(found.texts), -1))
        reached = logits[:, spec.labels[text]] - logits.gather(1, spec.rivals[text].unsqueeze(1)).squeeze(1)
        assert torch.allclose(reached, found.margins, atol=1e-12)


def test_too_many_variants_are_refused() -> None:
    model = in_float64(random_cnn(3, classes=2, pooling="max"))
    spec = random_question(5, classes=2, words=12, choices=4)
    many = max(range(len(spec)), key=lambda text: combinations_of(spec, text))
    with pytest.raises(CertificateError, match="at most 10 variants"):
        exhaustive(model, spec, many, most=10)


def test_wilson_intervals_are_the_published_ones() -> None:
    low, high = Share(8, 10).interval
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert Share(0, 20).interval[0] == 0
    assert Share(20, 20).interval[1] == 1
    assert Share(0, 0).interval == (0.0, 1.0)
