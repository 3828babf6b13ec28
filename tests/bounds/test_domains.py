from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from tests.strategies import generator, points_in, random_box, random_cell, seeds, sizes

from sgbt.bounds import (
    Interval,
    LSTMGates,
    ObservedRange,
    cell_state_box,
    embedding_table_box,
    hidden_state_box,
    reachable_cell_state,
    substitution_box,
)
from sgbt.core.errors import BoundError


def test_embedding_table_box_holds_every_word_and_no_more():
    table = torch.randn(30, 4)
    box = embedding_table_box(table)
    assert box.contains(table.amin(0))
    assert box.contains(table.amax(0))
    assert box.shape == (4,)


def test_substitution_box_holds_the_allowed_words_only():
    table = torch.arange(10.0)[:, None].expand(10, 2)
    ids = torch.tensor([[3, 5, 9], [7, 0, 0]])
    allowed = torch.tensor([[True, True, False], [True, False, False]])
    box = substitution_box(table, ids, allowed)
    assert box.lower.tolist() == [[3.0, 3.0], [7.0, 7.0]]
    assert box.upper.tolist() == [[5.0, 5.0], [7.0, 7.0]]
    with pytest.raises(BoundError, match="at least one allowed"):
        substitution_box(table, ids, torch.zeros_like(allowed))


def test_substitution_box_lets_gradients_reach_the_embedding():
    table = torch.randn(10, 2, requires_grad=True)
    box = substitution_box(table, torch.tensor([[3, 5]]), torch.tensor([[True, True]]))
    (slope,) = torch.autograd.grad((box.upper - box.lower).sum(), table)
    assert slope[[3, 5]].abs().sum() == 4
    assert slope.abs().sum() == 4


@given(d0=sizes, d=sizes, seed=seeds)
@settings(max_examples=20, deadline=None)
def test_states_of_any_text_stay_in_the_proven_boxes(d0, d, seed):
    """Random words in the box, and words chosen greedily to drive the state out."""
    cell, words = random_cell(d0, d, scale=1.0, seed=seed), random_box(d0, 1.0, seed)
    hidden = hidden_state_box(d)
    gates = LSTMGates.of(cell).reach(words, hidden).gates
    steps = 12
    forever, within = reachable_cell_state(gates), reachable_cell_state(gates, steps=steps)
    assert forever.contains(within, slack=1e-9)
    h, c = torch.zeros(2, 40, d, dtype=torch.float64)
    for t in range(1, steps + 1):
        v = points_in(words, 40, seed + t)
        if t % 2:
            v = v.clone().requires_grad_()
            slope = torch.autograd.grad(cell(v, (h, c))[1].sum(), v)[0]
            v = torch.where(slope > 0, words.upper, words.lower)
        h, c = (state.detach() for state in cell(v, (h, c)))
        assert hidden.contains(h)
        assert cell_state_box(d, steps=t).contains(c)
        assert within.contains(c, slack=1e-12)
        assert forever.contains(c, slack=1e-12)


def test_the_fixed_point_is_attained_by_a_constant_gate():
    """f = 0, I = 0 and g = 1 at every step: c tends to sigma(0) tanh(1) / (1 - sigma(0))."""
    gates = Interval.point(torch.tensor([[0.0], [0.0], [1.0], [0.0]], dtype=torch.float64))
    box = reachable_cell_state(gates)
    assert box.lower.item() == 0.0
    assert box.upper.item() == pytest.approx(float(torch.tanh(torch.tensor(1.0, dtype=torch.float64))))


def test_a_forget_gate_that_rounds_to_one_has_no_fixed_point():
    gates = Interval.point(torch.tensor([[0.0], [1e4], [1.0], [0.0]], dtype=torch.float64))
    with pytest.raises(BoundError, match="give steps"):
        reachable_cell_state(gates)
    assert reachable_cell_state(gates, steps=7).upper.item() == pytest.approx(7 * 0.5 * 0.7615941559557649)
    with pytest.raises(BoundError, match="not negative"):
        reachable_cell_state(gates, steps=-1)
    with pytest.raises(BoundError, match="not negative"):
        cell_state_box(3, steps=-1)


def test_an_observed_range_is_no_interval():
    seen = ObservedRange.of(torch.randn(4, 5, 3, generator=generator(0)))
    assert not isinstance(seen, Interval)
    assert seen.seen.shape == (3,)
    more = seen.widen(torch.full((1, 3), 9.0))
    assert more.seen.upper.tolist() == [9.0] * 3
    assert torch.equal(more.seen.lower, seen.seen.lower)
    assert ObservedRange.of(torch.zeros(3)).seen.shape == (3,)


def test_an_observed_range_is_data_without_gradient():
    """The one detach of this package: values seen on a batch are not parameters to be trained through the bound."""
    batch = torch.randn(4, 3, requires_grad=True)
    assert not ObservedRange.of(batch).seen.lower.requires_grad
