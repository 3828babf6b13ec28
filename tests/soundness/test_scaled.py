"""Substitutes drawn towards the word: the bounds hold for the vectors in between, one by one."""

from __future__ import annotations

import itertools

import pytest
import torch
from tests.soundness.cases import random_bilstm, random_cnn, random_question

from sgbt.certify import TIERS, Specification, exhaustive, in_float64, margin_bounds
from sgbt.core.errors import CertificateError


@pytest.mark.parametrize("kind", ["cnn-max", "cnn-mean", "bilstm-last"])
@pytest.mark.parametrize("scale", [0.0, 0.3])
def test_no_combination_of_scaled_substitutes_goes_below_a_bound(kind: str, scale: float) -> None:
    maker = random_cnn if kind.startswith("cnn") else random_bilstm
    for seed in range(3):
        model = in_float64(maker(seed, classes=3, pooling=kind.split("-")[1]))
        whole = random_question(seed, classes=3, words=4)
        spec = Specification(whole.ids, whole.allowed, whole.mask, whole.labels, 3, None, scale)
        exact = torch.stack([scaled_worst(model, spec, text) for text in range(len(spec))])
        for tier in TIERS:
            bound = margin_bounds(tier, model, spec)
            assert (bound <= exact + 1e-9).all(), tier
            if scale == 0 or (tier == "exact" and kind == "cnn-mean"):
                assert torch.allclose(bound, exact, atol=1e-9), tier


def scaled_worst(model: torch.nn.Module, spec: Specification, text: int) -> torch.Tensor:
    vectors = model.embedding(spec.ids[text])
    moved = vectors[:, :1] + spec.scale * (vectors - vectors[:, :1])
    slots = [row.nonzero().squeeze(1).tolist() for row in spec.allowed[text]]
    variants = torch.stack([moved[torch.arange(len(slots)), list(taken)] for taken in itertools.product(*slots)])
    logits = model.from_vectors(variants, spec.mask[text].expand(len(variants), -1))
    return (logits[:, spec.labels[text]].unsqueeze(1) - logits[:, spec.rivals[text]]).amin(dim=0)


def test_the_oracle_refuses_what_no_text_is() -> None:
    whole = random_question(0, classes=2)
    spec = Specification(whole.ids, whole.allowed, whole.mask, whole.labels, 2, None, 0.5)
    with pytest.raises(CertificateError, match="substitutes as they are"):
        exhaustive(random_cnn(0, classes=2, pooling="max"), spec, 0)
