from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from tests.contracts.cases import trained_cell
from tests.reference.cell import function_of_cell, hessians, jacobians
from tests.reference.slow_lstm import core_spans, tight_entry
from tests.strategies import points_in, precisions, radii, random_box, random_cell, scales, seeds, sizes
from torch import nn

from sgbt.bounds import Interval, LSTMCellBounds, LSTMGates, ObservedRange, cell_state_box, embedding_table_box
from sgbt.core.errors import BoundError

many = settings(max_examples=25, deadline=None)


def boxes(d0, d, radius, seed, dtype=torch.float64):
    return {
        "inputs": random_box(d0, radius, seed, dtype),
        "hidden": random_box(d, radius, seed + 1, dtype),
        "cell_state": random_box(d, radius, seed + 2, dtype),
    }


@given(d0=sizes, d=sizes, scale=scales, radius=radii, seed=seeds, dtype=precisions)
@many
def test_no_derivative_of_any_cell_exceeds_its_bound(d0, d, scale, radius, seed, dtype):
    """Sizes, weights (zero ones too) and boxes all drawn."""
    cell, domain = random_cell(d0, d, scale=scale, seed=seed, dtype=dtype), boxes(d0, d, radius, seed, dtype)
    bounds = LSTMCellBounds.of(cell, **domain)
    points = torch.cat([points_in(box, 300, seed + n) for n, box in enumerate(domain.values())], dim=1)
    # float32: gates are sums of up to eight products of size up to 30, so off by 1e-5, and psi'' is Lipschitz
    rtol, atol = (1e-11, 1e-12) if dtype == torch.float64 else (1e-3, 1e-4)
    growth, curvature = bounds.growth.dense().detach(), bounds.curvature.dense().detach()
    function = function_of_cell(cell)
    assert bool((jacobians(function, points).abs() <= growth * (1 + rtol) + atol).all())
    assert bool((hessians(function, points).abs() <= curvature * (1 + rtol) + atol * max(1, scale**2)).all())


@given(d0=sizes, d=sizes, radius=radii, seed=seeds)
@many
def test_entries_equal_the_slow_scalar_transcription(d0, d, radius, seed):
    cell, domain = random_cell(d0, d, scale=1.0, seed=seed), boxes(d0, d, radius, seed)
    bounds, gates = LSTMCellBounds.of(cell, **domain), LSTMGates.of(cell)
    reach = gates.reach(domain["inputs"], domain["hidden"])
    growth, curvature, jacobian = bounds.growth.dense(), bounds.curvature.dense(), gates.jacobian().detach()
    loose = bounds.curvature.dense(factorised=True)
    for i in range(d):
        gradient, hessian = core_spans(reach.gates, domain["cell_state"], i)
        for j in range(d0 + 2 * d):
            column = jacobian[:, i, j]
            centre = sum((s.lo + s.hi) / 2 * float(w) for s, w in zip(gradient, column, strict=True))
            spread = sum((s.hi - s.lo) / 2 * abs(float(w)) for s, w in zip(gradient, column, strict=True))
            assert growth[i, j].item() == pytest.approx(abs(centre) + spread, rel=1e-10, abs=1e-12)
            k = (j + i) % (d0 + 2 * d)
            other = jacobian[:, i, k]
            expected = tight_entry(hessian, column, other)
            assert curvature[i, j, k].item() == pytest.approx(expected, rel=1e-10, abs=1e-12)
            factorised = sum(
                abs(float(column[a])) * hessian[a][b].mag * abs(float(other[b])) for a in range(5) for b in range(5)
            )
            assert loose[i, j, k].item() == pytest.approx(factorised, rel=1e-10, abs=1e-12)


def test_reference_function_is_what_torch_computes():
    cell = random_cell(3, 2, scale=1.0, seed=0)
    x = torch.randn(3 + 4, dtype=torch.float64)
    expected, _ = cell(x[None, :3], (x[None, 3:5], x[None, 5:]))
    torch.testing.assert_close(function_of_cell(cell)(x), expected[0])


def test_one_direction_of_an_lstm_is_the_cell_with_its_weights():
    torch.manual_seed(3)
    lstm = nn.LSTM(3, 2, bidirectional=True, dtype=torch.float64)
    cell = nn.LSTMCell(3, 2, dtype=torch.float64)
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).copy_(getattr(lstm, name + "_l0_reverse"))
    domain = boxes(3, 2, 0.5, 1)
    expected = LSTMCellBounds.of(cell, **domain).curvature.dense()
    torch.testing.assert_close(LSTMCellBounds.of(lstm, direction="backward", **domain).curvature.dense(), expected)
    assert not torch.allclose(LSTMCellBounds.of(lstm, **domain).curvature.dense(), expected)


def test_blocks_are_the_six_cases_of_proposition_2():
    d0, d = 3, 2
    bounds = LSTMCellBounds.of(random_cell(d0, d, scale=1.0, seed=2), **boxes(d0, d, 0.5, 4))
    growth, curvature = bounds.growth.dense(), bounds.curvature.dense()
    parts = {"v": slice(0, d0), "h": slice(d0, d0 + d), "c": slice(d0 + d, d0 + 2 * d)}
    for name, columns in parts.items():
        torch.testing.assert_close(getattr(bounds.growth.blocks, name), growth[:, columns])
    for name in ("vv", "vh", "vc", "hh", "hc", "cc"):
        block = curvature[:, parts[name[0]], parts[name[1]]]
        torch.testing.assert_close(getattr(bounds.curvature.blocks, name), block)
    off_diagonal = ~torch.eye(d, dtype=torch.bool)
    assert bounds.growth.blocks.c[off_diagonal].abs().max() == 0  # output i sees its own cell state only
    assert bounds.curvature.blocks.vc.transpose(1, 2)[off_diagonal].abs().max() == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kind", ["fresh", "trained"])
def test_every_parameter_gets_a_gradient_over_the_default_domain(kind, dtype):
    """A whole embedding table, |h| <= 1 and what c can reach: what a training run uses."""
    torch.manual_seed(0)
    cell = nn.LSTMCell(50, 16, dtype=dtype) if kind == "fresh" else trained_cell(dtype)
    table = torch.randn(200, cell.input_size, dtype=dtype)
    bounds = LSTMCellBounds.of(cell, inputs=embedding_table_box(table), steps=20)
    for total in (bounds.growth.total(), bounds.curvature.total()):
        slopes = torch.autograd.grad(total, list(cell.parameters()), retain_graph=True)
        for (name, _), slope in zip(cell.named_parameters(), slopes, strict=True):
            assert torch.isfinite(slope).all(), name
            blocks = slope.reshape(4, -1)  # each gate's own share
            assert bool((blocks.abs().amax(1) > 0).all()), name


@pytest.mark.parametrize("steps", [None, 30])
def test_default_domain_holds_at_every_step_of_any_text(steps):
    torch.manual_seed(1)
    cell = nn.LSTMCell(4, 3, dtype=torch.float64)
    table = 2 * torch.randn(50, 4, dtype=torch.float64)
    bounds = LSTMCellBounds.of(cell, inputs=embedding_table_box(table), steps=steps)
    assert bounds.growth.proven
    growth, curvature, function = bounds.growth.dense(), bounds.curvature.dense(), function_of_cell(cell)
    h, c = torch.zeros(2, 20, 3, dtype=torch.float64)
    for _ in range(30):
        v = table[torch.randint(50, (20,))]
        points = torch.cat((v, h, c), dim=1).detach()
        assert bool((jacobians(function, points).abs() <= growth + 1e-12).all())
        assert bool((hessians(function, points).abs() <= curvature + 1e-12).all())
        h, c = cell(v, (h, c))


def test_totals_agree_with_dense_sums_at_a_real_size():
    """d0 = 100, d = 32 in float64, gradients included, to 1e-10 relative; a tenth of the paper's layer."""
    torch.manual_seed(0)
    cell = nn.LSTMCell(100, 32, dtype=torch.float64)
    domain = {
        "inputs": Interval.symmetric(torch.ones(100, dtype=torch.float64)),
        "cell_state": cell_state_box(32, steps=5),
    }
    parameters = list(cell.parameters())
    for name in ("growth", "curvature"):
        operator = getattr(LSTMCellBounds.of(cell, **domain), name)
        closed, summed = operator.total(), operator.dense(factorised=True).sum()
        torch.testing.assert_close(closed, summed, rtol=1e-10, atol=0)
        slopes = [torch.autograd.grad(value, parameters, retain_graph=True) for value in (closed, summed)]
        for mine, theirs in zip(*slopes, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-10 * closed.item())
        assert closed >= operator.dense().sum()


def test_dense_refuses_above_its_limit_and_says_the_size():
    cell = nn.LSTMCell(2000, 64)
    bounds = LSTMCellBounds.of(cell, inputs=Interval.symmetric(torch.ones(2000)), steps=3)
    with pytest.raises(BoundError, match=r"\(64, 2128, 2128\), which would take 1\.16 GB") as excinfo:
        bounds.curvature.dense()
    assert "total()" in str(excinfo.value)
    assert torch.isfinite(bounds.curvature.total())
    assert bounds.curvature.entry(0, 0, 2127).ndim == 0
    assert bounds.curvature.blocks.cc.shape == (64, 64, 64)  # a part that is small enough


def test_indices_and_displacements_that_do_not_exist_are_refused():
    bounds = LSTMCellBounds.of(random_cell(3, 2, scale=1.0, seed=0), **boxes(3, 2, 0.5, 0))
    for call in (
        lambda: bounds.growth.entry(2, 0),
        lambda: bounds.growth.entry(0, -1),
        lambda: bounds.curvature.entry(0, 0, 7),
        lambda: bounds.growth.apply(torch.zeros(6, dtype=torch.float64)),
        lambda: bounds.curvature.apply(torch.full((7,), float("nan"), dtype=torch.float64)),
    ):
        with pytest.raises(BoundError, match="expected"):
            call()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"direction": "backward"}, "direction"),
        ({"layer": 1}, "layer"),
        ({"inputs": Interval.point(torch.zeros(4))}, "inputs"),
        ({"hidden": Interval.point(torch.zeros(3))}, "hidden"),
        ({"cell_state": Interval.point(torch.zeros(2, 2))}, "cell_state"),
        ({"inputs": Interval(torch.zeros(3), torch.full((3,), torch.inf))}, "bounded"),
    ],
)
@pytest.mark.parametrize("make", [nn.LSTMCell, nn.LSTM], ids=["cell", "lstm"])
def test_what_does_not_fit_is_refused(make, arguments, complaint):
    with pytest.raises(BoundError, match=complaint):
        LSTMCellBounds.of(make(3, 2), **{"inputs": Interval.point(torch.zeros(3)), **arguments})


def test_projections_are_refused():
    with pytest.raises(BoundError, match="proj_size"):
        LSTMCellBounds.of(nn.LSTM(3, 4, proj_size=2), inputs=Interval.point(torch.zeros(3)))


def test_a_box_that_expands_will_do():
    cell = random_cell(3, 2, scale=1.0, seed=0)
    wide = LSTMCellBounds.of(cell, inputs=Interval.symmetric(torch.ones(3)))
    scalar = LSTMCellBounds.of(cell, inputs=Interval.symmetric(torch.tensor(1.0)))
    torch.testing.assert_close(wide.curvature.total(), scalar.curvature.total())


def test_an_observed_range_regularises_and_never_certifies():
    cell = random_cell(3, 2, scale=1.0, seed=0)
    seen = ObservedRange.of(torch.randn(8, 5, 3, dtype=torch.float64))
    bounds = LSTMCellBounds.of(cell, inputs=seen)
    assert not bounds.growth.proven
    slopes = torch.autograd.grad(bounds.growth.total() + bounds.curvature.total(), list(cell.parameters()))
    assert all(slope.abs().max() > 0 for slope in slopes)
    delta = torch.zeros(7, dtype=torch.float64)
    for call in (
        lambda: bounds.growth.apply(delta),
        lambda: bounds.curvature.apply(delta),
        lambda: bounds.curvature.remainder(Interval.point(delta)),
    ):
        with pytest.raises(BoundError, match="ObservedRange"):
            call()
