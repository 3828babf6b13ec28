"""The table of extrema, line by line, against autograd."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import precisions

from sgbt.bounds import ACTIVATIONS, GELU, RELU, SIGMOID, SOFTPLUS, TANH, Activation, Interval
from sgbt.core.errors import BoundError

SMOOTH = (SIGMOID, TANH, GELU, SOFTPLUS)
LINES = [(activation, order) for activation in SMOOTH for order in range(len(activation.derivatives))]
every_line = pytest.mark.parametrize(("activation", "order"), LINES, ids=lambda value: getattr(value, "name", value))
# Off the 17.0-20.0 stretch: torch's softplus turns linear at 20, where the true slope still lacks 2e-9.
GRID = torch.linspace(-16.0, 16.0, 64_001, dtype=torch.float64)


def autograd_slope(function, z):
    z = z.clone().requires_grad_()
    return torch.autograd.grad(function(z).sum(), z)[0]


@every_line
def test_each_formula_is_the_derivative_of_the_one_before(activation, order):
    if order == 0:
        reference = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}.get(activation.name)
        reference = reference or getattr(torch.nn.functional, activation.name)
        torch.testing.assert_close(activation(GRID), reference(GRID))
        return
    slope = autograd_slope(lambda z: activation(z, order=order - 1), GRID)
    torch.testing.assert_close(activation(GRID, order=order), slope, rtol=1e-9, atol=1e-12)


@every_line
def test_turning_points_are_exactly_where_the_slope_changes_sign(activation, order):
    """None missing, none invented, each a zero of the slope."""
    line = activation.derivatives[order]
    slope = autograd_slope(line.evaluate, GRID)
    changes = (slope[:-1] * slope[1:] < 0) | ((slope[:-1] == 0) & (slope[1:] != 0))
    found = GRID[:-1][changes]
    assert len(found) == len(line.turning_points)
    expected = torch.tensor(sorted(line.turning_points), dtype=torch.float64)
    assert bool((found - expected).abs().max() < 1e-3) if len(found) else True
    if line.turning_points:
        assert autograd_slope(line.evaluate, expected).abs().max() < 1e-12


@every_line
def test_limits_are_what_the_tails_tend_to(activation, order):
    line = activation.derivatives[order]
    for end, limit in zip((-200.0, 200.0), line.limits, strict=True):
        value = float(line.evaluate(torch.tensor(end, dtype=torch.float64)))
        assert value == pytest.approx(200.0 if math.isinf(limit) else limit, abs=1e-12)


@every_line
@given(ends=st.tuples(st.floats(-12, 12), st.floats(-12, 12)), dtype=precisions)
@settings(max_examples=60, deadline=None)
def test_ranges_enclose_samples_and_are_attained(activation, order, ends, dtype):
    box = Interval(torch.tensor([min(ends)], dtype=dtype), torch.tensor([max(ends)], dtype=dtype))
    result = activation.range(box, order=order)
    samples = torch.linspace(0, 1, 2001, dtype=dtype) * (box.upper - box.lower) + box.lower
    values = activation(samples.clamp(box.lower, box.upper), order=order)
    rounding = 1e-13 if dtype == torch.float64 else 2e-6  # evaluation rounds by a few units in the last place
    assert bool((values >= result.lower - rounding).all() and (values <= result.upper + rounding).all())
    step = float(box.upper - box.lower) / 2000
    between = 20 * step**2 + rounding  # a turning point between two samples: no line of the table curves more than 20
    assert float(values.min() - result.lower) <= between
    assert float(result.upper - values.max()) <= between


@pytest.mark.parametrize("activation", SMOOTH, ids=lambda activation: activation.name)
@given(ends=st.tuples(st.floats(-6, 6), st.floats(-6, 6)))
@settings(max_examples=40, deadline=None)
def test_ranges_in_one_pass_are_the_ranges_one_by_one(activation, ends):
    box = Interval(*(torch.full((2, 3), end, dtype=torch.float64) for end in sorted(ends)))
    together = activation.ranges(box, orders=4)
    assert together.shape == (4, 2, 3)
    for order in range(4):
        alone = activation.range(box, order=order)
        torch.testing.assert_close(together.lower[order], alone.lower, rtol=0, atol=1e-15)
        torch.testing.assert_close(together.upper[order], alone.upper, rtol=0, atol=1e-15)


def test_range_over_reals_has_the_known_suprema():
    def largest(activation, order):
        return max(abs(end) for end in activation.range_over_reals(order=order))

    assert largest(SIGMOID, 1) == pytest.approx(1 / 4)
    assert largest(SIGMOID, 2) == pytest.approx(1 / (6 * math.sqrt(3)))
    assert largest(SIGMOID, 3) == pytest.approx(1 / 8)
    assert largest(TANH, 1) == pytest.approx(1)
    assert largest(TANH, 2) == pytest.approx(4 / (3 * math.sqrt(3)))
    assert largest(TANH, 3) == pytest.approx(2)
    assert largest(SOFTPLUS, 1) == 1
    assert largest(SOFTPLUS, 2) == pytest.approx(1 / 4)
    assert largest(GELU, 1) == pytest.approx(1.128904145)
    assert largest(GELU, 2) == pytest.approx(2 / math.sqrt(2 * math.pi))
    assert RELU.range_over_reals(order=1) == (0.0, 1.0)


def test_the_papers_constants_are_valid_but_loose():
    """Section 'Proofs': sigma'' in [-1/6, 1/6] and tanh'' in [-4/3, 4/3]; the true suprema are 1.73 times smaller."""
    assert max(SIGMOID.range_over_reals(order=2)) < 1 / 6 / 1.7
    assert max(TANH.range_over_reals(order=2)) < 4 / 3 / 1.7


@pytest.mark.parametrize("activation", [SIGMOID, TANH], ids=lambda a: a.name)
def test_tails_keep_their_relative_precision(activation):
    """s (1 - s) is zero from 37 on; the derivative is not."""
    rate = 1.0 if activation is SIGMOID else 2.0
    z = torch.tensor([40.0, 200.0], dtype=torch.float64)
    expected = (1 if activation is SIGMOID else 4) * torch.exp(-rate * z)
    torch.testing.assert_close(activation(z, order=1), expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(activation(-z, order=1), expected, rtol=1e-12, atol=0)


def test_gelu_survives_numbers_whose_square_overflows():
    z = torch.tensor([-1e200, 1e200], dtype=torch.float64)
    for order, expected in ((1, [0.0, 1.0]), (2, [0.0, 0.0]), (3, [0.0, 0.0])):
        assert GELU(z, order=order).tolist() == expected


def test_relu_slope_over_a_box_around_its_kink():
    box = Interval(torch.tensor([-1.0, 0.5, -2.0]), torch.tensor([1.0, 2.0, -1.0]))
    assert RELU.range(box, order=1).lower.tolist() == [0.0, 1.0, 0.0]
    assert RELU.range(box, order=1).upper.tolist() == [1.0, 1.0, 0.0]
    assert not RELU.smooth


def test_ranges_have_gradients_where_an_end_decides():
    upper = torch.tensor([-0.5], dtype=torch.float64, requires_grad=True)
    box = Interval(torch.tensor([-2.0], dtype=torch.float64), upper)
    (slope,) = torch.autograd.grad(TANH.range(box, order=1).upper.sum(), upper)
    torch.testing.assert_close(slope, TANH(upper.detach(), order=2))


def test_names_and_orders_that_do_not_exist_are_refused():
    assert Activation.named("tanh") is TANH
    assert Activation.named(GELU) is GELU
    assert set(ACTIVATIONS) == {"tanh", "sigmoid", "gelu", "softplus", "relu"}
    with pytest.raises(BoundError, match="swish"):
        Activation.named("swish")
    with pytest.raises(BoundError, match="order"):
        TANH.range(Interval.point(torch.zeros(1)), order=4)
