"""The command asks glibc to keep freed memory, where there is one to ask."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import pytest

from sgbt.cli.app import M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, keep_freed_memory


def test_freed_memory_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[int, int] = {}
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=asked.__setitem__))
    keep_freed_memory()
    assert asked[M_TRIM_THRESHOLD] > asked[M_MMAP_THRESHOLD] > 16 << 20


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_without_glibc_nothing_happens(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    assert keep_freed_memory() is None  # type: ignore[func-returns-value]
