"""The paired test against enumeration of all signs, and against McNemar's exact test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbt.core.errors import SgbtError
from sgbt.evaluate import compare
from sgbt.evaluate.significance import packed, sign_flip, unpacked


@given(st.lists(st.integers(-3, 3), max_size=9))
def test_it_is_the_share_of_sign_patterns_at_least_as_far_from_zero(differences: list[int]) -> None:
    sums = [
        sum(sign * each for sign, each in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    wanted = np.mean([abs(each) >= abs(sum(differences)) for each in sums])
    assert sign_flip(np.array(differences, dtype=np.int64)) == pytest.approx(wanted)


@given(st.integers(0, 40), st.integers(0, 40))
def test_with_one_seed_it_is_mcnemars_exact_test(only_first: int, only_second: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    first = np.array([True] * only_first + [False] * only_second + [True] * 5)
    second = np.array([False] * only_first + [True] * only_second + [True] * 5)
    found = compare([first], [second])
    both = only_first + only_second
    assert found.p_value == pytest.approx(stats.binomtest(only_first, both, 0.5).pvalue if both else 1.0)
    assert (found.only_first, found.only_second) == (only_first, only_second)


def test_many_texts_neither_overflow_nor_take_long() -> None:
    random = np.random.default_rng(0)
    first = [random.random(25_000) < 0.80 for _ in range(3)]
    second = [random.random(25_000) < 0.79 for _ in range(3)]
    assert 0 < compare(first, second).p_value < 0.01
    assert compare(first, first).p_value == 1


def test_other_texts_are_refused() -> None:
    with pytest.raises(SgbtError, match="the same texts and seeds"):
        compare([np.ones(3, bool)], [np.ones(4, bool)])


@given(st.lists(st.booleans(), max_size=40))
def test_outcomes_survive_packing(held: list[bool]) -> None:
    assert unpacked(packed(held)).tolist() == held


def test_outcomes_that_were_cut_are_refused() -> None:
    with pytest.raises(SgbtError, match="outcomes that sgbt wrote"):
        unpacked({"texts": 90, "held": "00"})
