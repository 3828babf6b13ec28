"""Boxes of sets of words and of LSTM states by compiled loops, against the plain way in float64: values, gradients."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import small
from torch import Tensor

from sgbt.models import BiLSTM, compiled_loops
from sgbt.models.box_recurrence import _plain, states_of_sets
from sgbt.models.set_extremes import extremes_of_sets
from sgbt.models.word_sets import WordSets
from sgbt.training import IBP, Certified


@pytest.fixture(autouse=True)
def _numba() -> None:
    pytest.importorskip("numba")


def drawn(seed: int, size: int) -> tuple[list[Tensor], Tensor, Tensor, Tensor]:
    """Boxes of sets and recurrent weights, places and lengths of texts, and which states are of words."""
    torch.manual_seed(seed)
    low = torch.randn(2, 6, 4 * size)
    recurrent = torch.randn(2, 4 * size, size) / size
    lengths = torch.randint(1, 9, (5,)).sort(descending=True).values
    places = torch.randint(0, 6, (2, 5, int(lengths[0]) + 1))
    real = (torch.arange(places.shape[2]).unsqueeze(1) < lengths)[:, None, :, None]
    return [low, low + torch.rand_like(low), recurrent], places, lengths, real


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**20), size=st.sampled_from((1, 3, 16)))
def test_states_and_their_gradients_are_those_of_the_plain_way(seed: int, size: int) -> None:
    tensors, places, lengths, real = drawn(seed, size)
    results = []
    for way, dtype in ((states_of_sets, torch.float32), (_plain, torch.float64)):
        asked = [tensor.to(dtype).requires_grad_() for tensor in tensors]
        states = [end.masked_fill(~real, 0) for end in way(*asked, places, lengths)]
        total = sum((number + 1) * end.square().sum() for number, end in enumerate(states))
        results.append([*states, *torch.autograd.grad(total, asked)])
    for one, other in zip(*results, strict=True):
        assert one.dtype == torch.float32
        assert (one - other).abs().max().item() <= 2e-6 * max(other.abs().max().item(), 1)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**20), epsilon=st.sampled_from((0.0, 0.3, 1.0)), equal=st.booleans())
def test_extremes_and_their_gradients_are_those_of_the_plain_way(seed: int, epsilon: float, equal: bool) -> None:
    torch.manual_seed(seed)
    ids, allowed = torch.randint(0, 9, (3, 7, 6)), torch.rand(3, 7, 6) < 0.4
    allowed[..., 0] = True
    sets = WordSets.of(ids, allowed)
    values = torch.randn(len(sets.words), 5, dtype=torch.float64)
    values = (values.round() if equal else values).requires_grad_()
    results = []
    for plain in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if plain:
                patch.setattr(compiled_loops, "installed", lambda: False)
            ends = extremes_of_sets(values, sets, epsilon=epsilon)
        total = ends[0].cos().sum() + ends[1].exp().sum()
        (alone,) = torch.autograd.grad(total, values, retain_graph=True)
        (first,) = torch.autograd.grad(total, values, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), values)
        results.append([*ends, first, second, alone])
    for one, other in zip(*results, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


def test_gradients_of_gradients_are_those_of_the_plain_way() -> None:
    tensors, places, lengths, real = drawn(7, 3)
    second = []
    for way in (states_of_sets, _plain):
        asked = [tensor.clone().requires_grad_() for tensor in tensors]
        total = sum(end.masked_fill(~real, 0).sin().sum() for end in way(*asked, places, lengths))
        first = torch.autograd.grad(total, asked, create_graph=True)
        second.append(torch.autograd.grad(sum(each.square().sum() for each in first), asked))
    for one, other in zip(*second, strict=True):
        assert one.abs().sum() > 0
        assert torch.allclose(one, other, atol=1e-4, rtol=1e-4)


def test_what_is_not_a_number_is_never_lost() -> None:
    (low, high, recurrent), places, lengths, real = drawn(3, 3)
    recurrent[0, 1, 0] = math.nan
    for states in states_of_sets(low, high, recurrent, places, lengths):
        assert bool(states[1:, 0].isnan().any(dim=-1)[real[1:, 0, :, 0]].all())
        assert not bool(states[:, 1].isnan().any())


@pytest.mark.parametrize("trainable", [False, True])
@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
def test_losses_and_gradients_of_training_are_those_of_the_plain_way_in_float64(
    pooling: str, trainable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = small.step_of([[], ["film"], *small.random_texts(6, 9, 2)], 2)
    for objective in (IBP(ramp_epochs=0), IBP(ramp_epochs=0, epsilon=0.4), Certified(ramp_epochs=0, beta=0, gamma=0)):
        losses, gradients = [], []
        for dtype in (torch.float32, torch.float64):
            model = small.model_of("bilstm", pooling=pooling, trainable_embedding=trainable, dtype=torch.float32)
            assert isinstance(model, BiLSTM)
            parts = objective.parts(model.to(dtype), step, {})
            losses.append(torch.stack(list(parts.values())).sum())
            losses[-1].backward()
            gradients.append({name: value.grad for name, value in model.named_parameters() if value.requires_grad})
        assert losses[0].dtype == torch.float32
        assert math.isclose(losses[0].item(), losses[1].item(), rel_tol=1e-6)
        for name, value in gradients[0].items():
            other = gradients[1][name]
            assert value is not None
            assert other is not None
            assert float((value - other).abs().max()) <= 5e-6 * max(float(other.abs().max()), 0.1), name
