"""The geometry against a brute-force reading of the definition."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbt.bounds.windows import Windows
from sgbt.core.errors import BoundError

geometries = st.builds(
    lambda kernel, padding, extra: Windows(max(1, kernel - 2 * padding) + extra, kernel, padding),
    st.integers(1, 5),
    st.integers(0, 4),
    st.integers(0, 7),
)


def reads(windows: Windows) -> set[tuple[int, int, int]]:
    """All (window, word, tap) that meet."""
    return {
        (t, t - windows.padding + tap, tap)
        for t in range(windows.count)
        for tap in range(windows.kernel)
        if 0 <= t - windows.padding + tap < windows.length
    }


@given(geometries)
@settings(max_examples=80, deadline=None)
def test_words_taps_and_windows_meet_as_defined(windows):
    meetings = reads(windows)
    for word in range(windows.length):
        assert list(windows.taps(word)) == sorted({tap for _, p, tap in meetings if p == word})
        for other in range(windows.length):
            both = {t for t, p, _ in meetings if p == word} & {t for t, p, _ in meetings if p == other}
            assert list(windows.shared(word, other)) == sorted(both)
    covered = [p for run, _ in windows.groups() for p in range(run.start, run.stop)]
    assert covered == [p for p in range(windows.length) if len(windows.taps(p))]
    assert all(list(range(taps.start, taps.stop)) == list(windows.taps(run.start)) for run, taps in windows.groups())
    assert len(windows.groups()) <= 2 * windows.kernel - 1
    inside = windows.inside(torch.zeros(1))
    assert {(t, tap) for tap, t in inside.nonzero().tolist()} == {(t, tap) for t, _, tap in meetings}
    numbers = torch.arange(1.0, windows.count + 1)[None]
    seen = windows.per_word(numbers)[0]
    expected = torch.zeros(windows.length, windows.kernel)
    for t, p, tap in meetings:
        expected[p, tap] = t + 1
    assert torch.equal(seen, expected)


@given(geometries, st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_unrolled_windows_are_the_convolution(windows, d0):
    weights = torch.randn(2, d0, windows.kernel, dtype=torch.float64)
    text = torch.randn(3, windows.length * d0, dtype=torch.float64)
    z = windows.convolve(text, weights)
    assert z.shape == (3, 2, windows.count)
    for t in range(windows.count):
        torch.testing.assert_close(text @ windows.unrolled(weights, t).T, z[:, :, t])


def test_a_text_without_window_cannot_be_described():
    with pytest.raises(BoundError, match="at least 3 words"):
        Windows(2, 3, 0)
    with pytest.raises(BoundError, match="at least 1 words"):
        Windows(0, 1, 2)
