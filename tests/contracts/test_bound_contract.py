"""What every bound must do, whatever its layer. A new bound joins by adding a case to tests/contracts/cases.py."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contracts.cases import CASES, MAX_CASES, SMOOTH_CASES, Case
from tests.contracts.search import ascend
from tests.reference.cell import hessians, jacobians
from tests.strategies import points_in, radii, random_box, seeds, shrink
from torch import Tensor

from sgbt.bounds import Interval, local_second_order, proposition_one
from sgbt.core.errors import BoundError

# Float64 rounding of a few dozen operations on numbers of order 1 to 100.
ROUNDING = {"rtol": 1e-11, "atol": 1e-12}
# Float32 has 24 bits: a pre-activation is a sum of some ten products of size up to ten, hence off by about 1e-5, and
# derivatives inherit that times a Lipschitz constant of order one. Certificates are decided in float64.
SINGLE = {"rtol": 2e-4, "atol": 2e-5}

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
smooth_case = pytest.mark.parametrize("case", SMOOTH_CASES, ids=lambda case: case.name)
quick = settings(max_examples=12, deadline=None)


def exceeds(value: Tensor, bound: Tensor, *, rtol: float, atol: float) -> bool:
    return bool((value > bound * (1 + rtol) + atol).any())


def check_enclosure(case: Case, radius: float, seed: int, *, count: int, starts: int, dtype: torch.dtype) -> None:
    """No sampled, corner or ascent-found point has a derivative above the bound."""
    module, box = case.module(dtype), random_box(case.inputs, radius, seed, dtype)
    function, bounds = case.function(module), case.bounds(module, box)
    tolerance = ROUNDING if dtype == torch.float64 else SINGLE
    growth, curvature = (bound.dense().detach() for bound in (bounds.growth, bounds.curvature))
    points = points_in(box, count, seed)
    if starts:
        points = torch.cat((points, ascend(function, box, growth, curvature, starts=starts, seed=seed)))
    assert box.contains(points)
    assert not exceeds(jacobians(function, points).abs(), growth, **tolerance)
    assert not exceeds(hessians(function, points).abs(), curvature, **tolerance)
    for tight, operator in ((growth, bounds.growth), (curvature, bounds.curvature)):
        assert not exceeds(tight, operator.dense(factorised=True), **tolerance)


@every_case
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@given(radius=radii, seed=seeds)
@quick
def test_no_derivative_exceeds_the_bound(case: Case, dtype: torch.dtype, radius: float, seed: int) -> None:
    check_enclosure(case, radius, seed, count=400, starts=0, dtype=dtype)


@every_case
@pytest.mark.parametrize("radius", [0.05, 0.5, 3.0])
def test_gradient_ascent_finds_no_point_above_the_bound(case: Case, radius: float) -> None:
    check_enclosure(case, radius, seed=17, count=100, starts=60, dtype=torch.float64)


@pytest.mark.soak
@every_case
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("radius", [0.0, 0.01, 0.3, 1.0, 3.0])
def test_long_search_finds_no_point_above_the_bound(case: Case, radius: float, seed: int) -> None:
    check_enclosure(case, radius, seed, count=4000, starts=400, dtype=torch.float64)


@every_case
@given(seed=seeds)
@quick
def test_bound_is_exact_at_a_point(case: Case, seed: int) -> None:
    """A box of zero width: what is left is the derivative itself, to 1e-9."""
    module, box = case.module(torch.float64), random_box(case.inputs, 0.0, seed)
    function, bounds = case.function(module), case.bounds(module, box)
    for derivatives, operator in ((jacobians, bounds.growth), (hessians, bounds.curvature)):
        true = derivatives(function, box.lower[None])[0].abs()
        torch.testing.assert_close(operator.dense(), true, rtol=0, atol=1e-9)


@every_case
@given(radius=radii, seed=seeds)
@quick
def test_shrinking_the_box_never_loosens_the_bound(case: Case, radius: float, seed: int) -> None:
    module, box = case.module(torch.float64), random_box(case.inputs, radius, seed)
    outer, inner = case.bounds(module, box), case.bounds(module, shrink(box, seed + 1))
    for wide, narrow in ((outer.growth, inner.growth), (outer.curvature, inner.curvature)):
        for factorised in (False, True):
            less, more = narrow.dense(factorised=factorised), wide.dense(factorised=factorised)
            assert not exceeds(less, more, **ROUNDING)
        assert not exceeds(narrow.total(), wide.total(), **ROUNDING)


@every_case
@given(radius=radii, seed=seeds)
@quick
def test_total_is_the_sum_of_factorised_entries_with_gradients(case: Case, radius: float, seed: int) -> None:
    module, box = case.module(torch.float64), random_box(case.inputs, radius, seed)
    parameters = list(module.parameters())
    for name in ("growth", "curvature"):
        results = []
        for total in (lambda op: op.total(), lambda op: op.dense(factorised=True).sum()):
            value = total(getattr(case.bounds(module, box), name))
            slopes = torch.autograd.grad(value, parameters, allow_unused=True, materialize_grads=True)
            results.append((value, slopes))
        (closed, closed_slopes), (summed, summed_slopes) = results
        torch.testing.assert_close(closed, summed, rtol=1e-10, atol=1e-10)
        for mine, theirs in zip(closed_slopes, summed_slopes, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-10)
        signed = getattr(case.bounds(module, box), name).dense().sum()
        assert closed >= signed - 1e-10


@every_case
def test_every_parameter_gets_a_gradient_from_both_totals(case: Case) -> None:
    """Over boxes around one text, where the ranges do not all hold the peaks of phi' and phi''."""
    module, box = case.module(torch.float64), random_box(case.inputs, 0.1, seed=4)
    used = {name: p for name, p in module.named_parameters() if "_l" not in name or _belongs(case, name)}
    for operator in ("growth", "curvature"):
        total = getattr(case.bounds(module, box), operator).total()
        slopes = torch.autograd.grad(total, list(used.values()), retain_graph=True)
        for name, slope in zip(used, slopes, strict=True):
            assert torch.isfinite(slope).all(), f"{operator}: {name}"
            assert slope.abs().max() > 1e-8, f"{operator}: {name}"


def _belongs(case: Case, name: str) -> bool:
    """Whether a parameter of an nn.LSTM is one of the direction and layer that the case bounds."""
    layer = case.name[-1]
    return f"_l{layer}" in name and name.endswith("_reverse") == ("backward" in case.name)


@every_case
@given(radius=radii, seed=seeds)
@quick
def test_totals_have_the_gradients_that_finite_differences_have(case: Case, radius: float, seed: int) -> None:
    """Along a random direction in parameter space, away from kinks of the bound."""
    module, box = case.module(torch.float64), random_box(case.inputs, radius, seed)
    random = torch.Generator().manual_seed(seed)
    directions = [torch.randn(p.shape, generator=random, dtype=p.dtype) for p in module.parameters()]

    def totals(step: float) -> Tensor:
        with torch.no_grad():
            for p, d in zip(module.parameters(), directions, strict=True):
                p.add_(step * d)
        bounds = case.bounds(module, box)
        return torch.stack((bounds.growth.total(), bounds.curvature.total()))

    step = 1e-6
    here = totals(0.0)
    slopes = []
    for value in here:
        grads = torch.autograd.grad(
            value, list(module.parameters()), retain_graph=True, allow_unused=True, materialize_grads=True
        )
        slopes.append(sum((g * d).sum() for g, d in zip(grads, directions, strict=True)))
    ahead, behind = totals(step).detach(), totals(-2 * step).detach()
    forward, backward = (ahead - here.detach()) / step, (here.detach() - behind) / step
    for slope, one, other in zip(slopes, forward, backward, strict=True):
        # at a kink the subgradient lies between the one-sided slopes
        room = 1e-3 * (1 + abs(float(one)) + abs(float(other)))
        assert min(one, other) - room <= slope <= max(one, other) + room


@every_case
@given(seed=seeds)
@quick
def test_entries_and_contractions_agree_with_the_dense_operator(case: Case, seed: int) -> None:
    module, box = case.module(torch.float64), random_box(case.inputs, 0.5, seed)
    bounds = case.bounds(module, box)
    delta = torch.randn(2, 3, case.inputs, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    growth, curvature = bounds.growth.dense(), bounds.curvature.dense()
    assert growth.shape == bounds.growth.shape
    assert curvature.shape == bounds.curvature.shape
    outputs = growth.shape[0]
    for i in range(outputs):
        for j in range(0, case.inputs, 2):
            torch.testing.assert_close(bounds.growth.entry(i, j), growth[i, j], **ROUNDING)
            for k in range(case.inputs):
                torch.testing.assert_close(bounds.curvature.entry(i, j, k), curvature[i, j, k], **ROUNDING)
    loose_growth, loose_curvature = (b.dense(factorised=True) for b in (bounds.growth, bounds.curvature))
    expected = torch.einsum("ij,...j->...i", loose_growth, delta.abs())
    torch.testing.assert_close(bounds.growth.apply(delta), expected, **ROUNDING)
    expected = torch.einsum("ijk,...j,...k->...i", loose_curvature, delta.abs(), delta.abs()) / 2
    torch.testing.assert_close(bounds.curvature.apply(delta), expected, **ROUNDING)
    torch.testing.assert_close(curvature, curvature.transpose(1, 2), **ROUNDING)


@every_case
@given(radius=radii, seed=seeds)
@quick
def test_proposition_one_and_growth_alone_enclose_the_output(case: Case, radius: float, seed: int) -> None:
    module, box = case.module(torch.float64), random_box(case.inputs, radius, seed)
    function, bounds = case.function(module), case.bounds(module, box)
    start, end = points_in(box, 200, seed), points_in(box, 200, seed + 1)
    before, after = (torch.func.vmap(function)(points) for points in (start, end))
    enclosure = proposition_one(before, bounds.growth, bounds.curvature, end - start)
    assert enclosure.contains(after, slack=1e-11)
    growth_alone = Interval.symmetric(bounds.growth.apply(end - start) + 1e-11)
    assert growth_alone.contains(after - before)
    assert Interval(enclosure.lower - before, enclosure.upper - before).contains(growth_alone, slack=1e-10)


@smooth_case
@given(radius=radii, seed=seeds)
@quick
def test_local_second_order_encloses_the_change(case: Case, radius: float, seed: int) -> None:
    module, box = case.module(torch.float64), random_box(case.inputs, radius, seed)
    function, bounds = case.function(module), case.bounds(module, box)
    start, end = points_in(box, 200, seed), points_in(box, 200, seed + 1)
    change = torch.func.vmap(function)(end) - torch.func.vmap(function)(start)
    gradient = jacobians(function, start)
    assert local_second_order(gradient, bounds.curvature, end - start).contains(change, slack=1e-11)
    everywhere = Interval(box.lower - start, box.upper - start)
    assert local_second_order(gradient, bounds.curvature, everywhere).contains(change, slack=1e-11)


@smooth_case
def test_local_second_order_is_tighter_than_growth_for_small_displacements(case: Case) -> None:
    module, box = case.module(torch.float64), random_box(case.inputs, 1.0, seed=3)
    function, bounds = case.function(module), case.bounds(module, box)
    start = box.midpoint[None]
    delta = 0.01 * (points_in(box, 50, seed=5) - start)
    local = local_second_order(jacobians(function, start), bounds.curvature, delta)
    paper = proposition_one(torch.func.vmap(function)(start), bounds.growth, bounds.curvature, delta)
    assert (local.radius.sum() / paper.radius.sum()).item() < 0.25


@pytest.mark.parametrize("case", MAX_CASES, ids=lambda case: case.name)
def test_max_pooled_curvature_is_no_taylor_remainder(case: Case) -> None:
    module, box = case.module(torch.float64), random_box(case.inputs, 1.0, seed=3)
    curvature = case.bounds(module, box).curvature
    delta = torch.zeros(case.inputs, dtype=torch.float64)
    if "kernel 4" in case.name:  # a single window: nothing is pooled, so the expansion holds
        assert curvature.remainder(Interval.point(delta)).abs().max() == 0
        return
    with pytest.raises(BoundError, match="max pooling"):
        local_second_order(torch.zeros(curvature.shape[:2], dtype=torch.float64), curvature, delta)
    with pytest.raises(BoundError, match="max pooling"):
        curvature.remainder(Interval.point(delta))


@every_case
@given(seed=seeds, data=st.data())
@quick
def test_bounds_hold_over_huge_and_lopsided_boxes(case: Case, seed: int, data: st.DataObject) -> None:
    """Boxes of width up to 2,000, where most gates are saturated somewhere and sigma' underflows."""
    width = data.draw(st.sampled_from([30.0, 1000.0]))
    module, random = case.module(torch.float64), torch.Generator().manual_seed(seed)
    one, other = (width * (2 * torch.rand(2, case.inputs, generator=random, dtype=torch.float64) - 1)).unbind()
    box = Interval(torch.minimum(one, other), torch.maximum(one, other))
    function, bounds = case.function(module), case.bounds(module, box)
    points = points_in(box, 200, seed)
    assert not exceeds(jacobians(function, points).abs(), bounds.growth.dense(), rtol=1e-9, atol=1e-9)
    assert not exceeds(hessians(function, points).abs(), bounds.curvature.dense(), rtol=1e-9, atol=1e-9)
    assert torch.isfinite(bounds.curvature.total())
