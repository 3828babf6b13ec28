"""What belongs to no layer: concatenated bounds, and the limit above which nothing is written out."""

from __future__ import annotations

import pytest
import torch
from tests.strategies import random_conv

from sgbt.bounds import DENSE_LIMIT_BYTES, ConvBounds, ObservedRange, StackedCurvature, StackedGrowth
from sgbt.bounds.growth import human_size, require_affordable
from sgbt.core.errors import BoundError


def bounds(kernel: int, *, length: int = 4, pooling: str = "average", inputs=None) -> ConvBounds:
    conv = random_conv(2, 3, kernel, scale=1.0, seed=kernel)
    return ConvBounds.of(conv, length=length, pooling=pooling, inputs=inputs)


def test_concatenated_bounds_keep_each_parts_rows():
    parts = [bounds(1), bounds(2)]
    growth = StackedGrowth([part.growth for part in parts])
    curvature = StackedCurvature([part.curvature for part in parts])
    assert growth.shape == (6, 8)
    assert curvature.shape == (6, 8, 8)
    torch.testing.assert_close(growth.dense()[3:], parts[1].growth.dense())
    torch.testing.assert_close(curvature.entry(4, 1, 2), parts[1].curvature.entry(1, 1, 2))
    torch.testing.assert_close(growth.total(), parts[0].growth.total() + parts[1].growth.total())


def test_one_part_is_enough_to_spoil_a_proof():
    seen = ObservedRange.of(torch.randn(9, 2, dtype=torch.float64))
    growth = StackedGrowth([bounds(1).growth, bounds(2, inputs=seen).growth])
    assert not growth.proven
    with pytest.raises(BoundError, match="ObservedRange"):
        growth.apply(torch.zeros(8, dtype=torch.float64))
    curvature = StackedCurvature([bounds(1).curvature, bounds(2, pooling="max").curvature])
    assert "max pooling" in str(curvature.taylor_obstacle)
    curvature.apply(torch.zeros(8, dtype=torch.float64))


def stack_growth(parts):
    return StackedGrowth([part.growth for part in parts])


def stack_curvature(parts):
    return StackedCurvature([part.curvature for part in parts])


@pytest.mark.parametrize("stack", [stack_growth, stack_curvature])
def test_parts_on_different_inputs_cannot_be_concatenated(stack):
    with pytest.raises(BoundError, match="same inputs"):
        stack([bounds(1, length=4), bounds(1, length=5)])
    with pytest.raises(BoundError, match="same inputs"):
        stack([])


def test_the_limit_is_the_stated_one():
    like = torch.zeros((), dtype=torch.float64)
    require_affordable((DENSE_LIMIT_BYTES // 8,), like, where="here")
    with pytest.raises(BoundError, match=r"at most 1\.07 GB"):
        require_affordable((DENSE_LIMIT_BYTES // 8 + 1,), like, where="here")


def test_sizes_read_as_people_write_them():
    assert human_size(12) == "12 bytes"
    assert human_size(36_238_786_560_000) == "36.2 TB"
    assert human_size(5e16) == "50 PB"
