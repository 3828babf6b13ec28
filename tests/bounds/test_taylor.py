from __future__ import annotations

import pytest
import torch
from tests.strategies import points_in, random_box, random_cell, random_conv

from sgbt.bounds import ConvBounds, Interval, LSTMCellBounds, ObservedRange, local_second_order, proposition_one
from sgbt.core.errors import BoundError


def lstm_bounds(inputs):
    cell = random_cell(2, 1, scale=1.0, seed=0)
    return LSTMCellBounds.of(cell, inputs=inputs, hidden=random_box(1, 0.5, 1), cell_state=random_box(1, 0.5, 2))


def test_proposition_one_is_never_better_than_growth_alone():
    bounds = lstm_bounds(random_box(2, 0.5, 0))
    delta = torch.randn(100, 4, dtype=torch.float64)
    output = torch.zeros(100, 1, dtype=torch.float64)
    both = proposition_one(output, bounds.growth, bounds.curvature, delta)
    alone = Interval.symmetric(bounds.growth.apply(delta))
    assert both.contains(alone)


def test_a_box_of_displacements_covers_each_of_them():
    bounds = lstm_bounds(random_box(2, 0.5, 0))
    gradient = torch.randn(1, 4, dtype=torch.float64)
    box = random_box(4, 0.3, 5)
    whole = local_second_order(gradient, bounds.curvature, box)
    each = local_second_order(gradient, bounds.curvature, points_in(box, 200, 6))
    assert whole.expand(200, 1).contains(each, slack=1e-12)


def test_a_lopsided_box_leaves_less_than_its_symmetric_hull():
    curvature = lstm_bounds(random_box(2, 0.5, 0)).curvature
    box = Interval(torch.zeros(4, dtype=torch.float64), torch.tensor([1.0, 2.0, 0.5, 1.0], dtype=torch.float64))
    assert bool((curvature.remainder(box) < curvature.apply(box.upper)).all())


def test_shapes_that_do_not_fit_are_refused():
    bounds = lstm_bounds(random_box(2, 0.5, 0))
    other = ConvBounds.of(random_conv(2, 1, 2, scale=1.0, seed=0), length=4, pooling="average")
    delta = torch.zeros(4, dtype=torch.float64)
    with pytest.raises(BoundError, match="two bounds of one map"):
        proposition_one(torch.zeros(1), bounds.growth, other.curvature, delta)
    with pytest.raises(BoundError, match="gradient of shape"):
        local_second_order(torch.zeros(2, 4), bounds.curvature, delta)
    with pytest.raises(BoundError, match="displacement"):
        local_second_order(torch.zeros(1, 4), bounds.curvature, delta[:3])


def test_bounds_over_observed_ranges_cannot_certify():
    seen = ObservedRange.of(torch.randn(9, 2, dtype=torch.float64))
    bounds = lstm_bounds(seen)
    delta = torch.zeros(4, dtype=torch.float64)
    with pytest.raises(BoundError, match="ObservedRange"):
        proposition_one(torch.zeros(1, dtype=torch.float64), bounds.growth, bounds.curvature, delta)
    with pytest.raises(BoundError, match="ObservedRange"):
        local_second_order(torch.zeros(1, 4, dtype=torch.float64), bounds.curvature, delta)
