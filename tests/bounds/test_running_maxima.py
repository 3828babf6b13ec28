"""Weighted sums of running maxima against the plain way."""

from __future__ import annotations

import pytest
import torch

from sgbt.bounds.running_maxima import sum_of_running_maxima


def plainly(taps, first, last):
    forward = [first[at] * taps[: at + 1].amax(0).sum(1) for at in range(len(taps))]
    backward = [last[at] * taps[at:].amax(0).sum(1) for at in range(len(taps))]
    return torch.stack(forward + backward).sum(0)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_value_and_gradient_equal_the_plain_way(count):
    torch.manual_seed(count)
    taps = torch.rand(count, 4, 6, dtype=torch.float64, requires_grad=True)
    first, last = torch.rand(count).tolist(), torch.rand(count).tolist()
    weights = torch.rand(4, dtype=torch.float64)
    ours, plain = sum_of_running_maxima(taps, first, last), plainly(taps, first, last)
    torch.testing.assert_close(ours, plain)
    expected = torch.autograd.grad((plain * weights).sum(), taps)[0]
    torch.testing.assert_close(torch.autograd.grad((ours * weights).sum(), taps)[0], expected)


def test_gradient_of_a_tie_goes_to_one_tap_and_is_not_lost():
    taps = torch.ones(3, 1, 1, dtype=torch.float64, requires_grad=True)
    sum_of_running_maxima(taps, [0.0, 0.0, 5.0], [0.0, 2.0, 0.0]).sum().backward()
    assert float(taps.grad.sum()) == 7.0
    assert bool(((taps.grad == 0) | (taps.grad > 1)).all())
