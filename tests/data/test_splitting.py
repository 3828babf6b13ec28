from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbt.data.dataset import cut, mixed

rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=40)
fractions = st.floats(0, 0.99)


@given(rows, fractions, st.integers(0, 2**32))
def test_the_parts_are_distinct_whole_and_never_cut_a_group(
    rows: list[tuple[int, int]], fraction: float, seed: int
) -> None:
    labels, groups = np.array([label for label, _ in rows], dtype=int), [group for _, group in rows]
    parts = cut(labels, fraction, seed=seed, groups=groups)
    assert sorted([*parts.kept, *parts.taken]) == list(range(len(rows)))
    assert not {groups[row] for row in parts.kept} & {groups[row] for row in parts.taken}
    assert set(labels[parts.kept]) == set(labels), "every label stays to be learnt"


@given(rows, fractions, st.integers(0, 2**32))
def test_a_seed_gives_the_same_cut_again(rows: list[tuple[int, int]], fraction: float, seed: int) -> None:
    labels, groups = np.array([label for label, _ in rows], dtype=int), [group for _, group in rows]
    one, other = (cut(labels, fraction, seed=seed, groups=groups) for _ in range(2))
    assert one.taken.tolist() == other.taken.tolist()


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.25, 0.5])
def test_each_label_gives_its_share(fraction: float) -> None:
    labels = np.array([0] * 700 + [1] * 200 + [2] * 100)
    parts = cut(labels, fraction, seed=3, groups=range(1000))
    assert Counter(labels[parts.taken].tolist()) == Counter(
        {label: round(fraction * size) for label, size in ((0, 700), (1, 200), (2, 100)) if fraction}
    )


def test_a_share_is_never_passed_by_large_groups() -> None:
    labels = np.zeros(1000, dtype=int)
    for seed in range(20):
        parts = cut(labels, 0.1, seed=seed, groups=[row // 30 for row in range(1000)])
        assert 60 < len(parts.taken) <= 100


def test_seeds_differ() -> None:
    labels = np.arange(100) % 2
    cuts = {tuple(cut(labels, 0.3, seed=seed, groups=range(100)).taken.tolist()) for seed in range(10)}
    assert len(cuts) == 10


def test_a_text_with_two_labels_stays_in_one_part() -> None:
    labels = np.array([0, 1] * 50)
    groups = [row // 2 for row in range(100)]  # every text has both labels
    for seed in range(20):
        parts = cut(labels, 0.3, seed=seed, groups=groups)
        assert not {groups[row] for row in parts.kept} & {groups[row] for row in parts.taken}
        assert len(parts.taken) == 30


def test_a_label_whose_only_text_has_another_label_too_is_kept() -> None:
    labels = np.array([0, 0, 0, 0, 1])
    for seed in range(20):
        parts = cut(labels, 0.5, seed=seed, groups=["a", "b", "c", "d", "d"])
        assert 4 in parts.kept
        assert 3 in parts.kept


@given(st.lists(st.integers(0, 3), max_size=60).map(sorted), st.integers(0, 2**32))
def test_the_first_texts_of_a_mixed_order_have_every_label_in_its_share(labels: list[int], seed: int) -> None:
    order = mixed(np.array(labels, dtype=int), seed=seed)
    assert sorted(order.tolist()) == list(range(len(labels)))
    assert mixed(np.array(labels, dtype=int), seed=seed).tolist() == order.tolist()
    sizes = Counter(labels)
    for taken in range(len(labels) + 1):
        found = Counter(labels[row] for row in order[:taken])
        for label, size in sizes.items():
            assert abs(found[label] - taken * size / len(labels)) <= max(len(sizes) / 2, 1)


def test_a_mixed_order_is_random_within_a_label() -> None:
    labels = np.array([0] * 50 + [1] * 50)
    one, other = mixed(labels, seed=0), mixed(labels, seed=1)
    assert one.tolist() != other.tolist()
    first = [row for row in one.tolist() if row < 50]
    assert first != sorted(first)
