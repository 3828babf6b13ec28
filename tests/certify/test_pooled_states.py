"""PooledStates: lines stay below the margin of every point of a box, touch it where they should, and only sink."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sgbt.certify.bilstm.pooled_states import PooledStates
from sgbt.certify.lines import Box

STEPS, DIRECTIONS, TEXTS, RIVALS, HIDDEN = 6, 2, 7, 3, 4
POOLINGS = ("last", "mean", "max")


def states(pooling: str, seed: int, width: float) -> PooledStates:
    """Boxes whose every side is up to `width` long, over texts of one word to all steps, with junk behind them."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    clean = drawn(STEPS, DIRECTIONS, TEXTS, HIDDEN)
    sides = [width * torch.rand(clean.shape, generator=generator, dtype=torch.float64) for _ in range(2)]
    lengths = torch.randint(1, STEPS + 1, (TEXTS,), generator=generator)
    lengths[0] = 1
    clean[:, :, 0] += 100.0  # what stands in padding would win, if it were read
    clean[0, :, 0] -= 100.0
    box = Box(clean - sides[0], clean + sides[1], clean)
    return PooledStates(pooling, drawn(DIRECTIONS, TEXTS, RIVALS, HIDDEN), drawn(TEXTS, RIVALS), box, lengths)


def inside(box: Box, seed: int) -> Tensor:
    """A point of a box, often on its sides."""
    generator = torch.Generator().manual_seed(seed)
    place = (2 * torch.rand(box.clean.shape, generator=generator, dtype=torch.float64) - 0.5).clamp(0, 1)
    return box.lower + place * (box.upper - box.lower)


def margin(pooled: PooledStates, hidden: Tensor) -> Tensor:
    """The margins of hidden states, text by text."""
    found = []
    for text, length in enumerate(pooled.lengths.tolist()):
        read = hidden[:length, :, text]
        feature = {"last": read[-1], "mean": read.mean(dim=0), "max": read.amax(dim=0)}[pooled.pooling]
        found.append(pooled.bias[text] + torch.einsum("drh,dh->r", pooled.head[:, text], feature))
    return torch.stack(found)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_margins_of_the_texts_themselves_are_those_of_the_pooled_states(pooling: str) -> None:
    pooled = states(pooling, 0, 1.0)
    assert torch.allclose(pooled.margins, margin(pooled, pooled.hidden.clean), atol=1e-12)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("width", [0.0, 0.1, 1.0, 5.0])
def test_no_point_of_the_box_has_a_margin_below_a_line(pooling: str, width: float) -> None:
    for seed in range(10):
        pooled = states(pooling, seed, width)
        other = pooled.hidden.shrunk(0.3)
        for line in [*pooled.below(), *pooled.below(pooled.hidden), *pooled.below(other)]:
            for point in range(30):
                hidden = inside(pooled.hidden, point)
                assert (line.at(hidden) <= margin(pooled, hidden) + 1e-12).all()


def test_the_line_that_follows_the_winners_is_the_margin_where_nothing_moves() -> None:
    pooled = states("max", 1, 0.0)
    for line in pooled.below():
        assert torch.allclose(line.at(pooled.hidden.clean), pooled.margins, atol=1e-12)


def test_a_maximum_that_cannot_change_hands_is_followed_exactly() -> None:
    pooled = states("max", 2, 1e-9)
    hidden = inside(pooled.hidden, 0)
    assert torch.allclose(pooled.below()[0].at(hidden), margin(pooled, hidden), atol=1e-12)


def test_following_a_state_and_the_constant_that_none_exceeds_are_each_better_somewhere() -> None:
    pooled = states("max", 3, 5.0)
    follows, flat = pooled.below()
    assert (follows.at(pooled.hidden.lower) > flat.at(pooled.hidden.lower)).any()
    box, lowest = pooled.hidden, []
    for line in (follows, flat):  # the least over the box: at a corner
        corner = torch.where(line.weight >= 0, box.lower.unsqueeze(3), box.upper.unsqueeze(3))
        lowest.append(line.offset + (line.weight * corner).sum(dim=(0, 1, 4)))
    assert (lowest[1] > lowest[0] + 1.0).any()


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_larger_box_never_raises_a_line(pooling: str) -> None:
    for seed in range(20):
        large = states(pooling, seed, 2.0)
        small = PooledStates(pooling, large.head, large.bias, large.hidden.shrunk(0.4), large.lengths)
        for reference in (None, large.hidden.shrunk(0.7)):
            for wide, narrow in zip(large.below(reference), small.below(reference), strict=True):
                assert torch.equal(wide.weight, narrow.weight)
                assert (wide.offset <= narrow.offset + 1e-12).all()


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("width", [0.1, 1.0, 5.0])
def test_every_difference_of_margins_is_a_difference_of_states_by_slopes_within_the_ends(
    pooling: str, width: float
) -> None:
    for seed in range(10):
        pooled = states(pooling, seed, width)
        low, high = pooled.slopes()
        assert (low <= high).all()
        for point in range(30):
            hidden = inside(pooled.hidden, point)
            moved = (hidden - pooled.hidden.clean).unsqueeze(3)
            least = torch.minimum(low * moved, high * moved).sum(dim=(0, 1, 4))
            most = torch.maximum(low * moved, high * moved).sum(dim=(0, 1, 4))
            change = margin(pooled, hidden) - pooled.margins
            assert (least - 1e-12 <= change).all()
            assert (change <= most + 1e-12).all()


def test_a_state_that_cannot_win_has_no_slope_and_one_that_always_wins_has_its_weight() -> None:
    pooled = states("max", 4, 1e-9)
    low, high = pooled.slopes()
    assert torch.equal(low, high)
    assert torch.equal((low != 0).sum(dim=0), torch.ones_like(pooled.head, dtype=torch.int64))
    assert torch.equal(low.sum(dim=0), pooled.head)
