"""The local executor takes as many workers as there are cores and memory for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgbt.errors import EvaluationError
from sgbt.evaluate import Store, local
from sgbt.evaluate.local import MEMORY_PER_WORKER, LocalExecutor, available_memory, cores


@pytest.mark.parametrize(("gigabytes", "expected"), [(0, 1), (3, 1), (5, 2), (9, 4), (100, 4)])
def test_memory_limits_what_nobody_chose_and_one_always_fits(
    gigabytes: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MEMORY_PER_WORKER == 2 << 30
    monkeypatch.setattr(local, "cores", lambda: 4)
    monkeypatch.setattr(local, "available_memory", lambda: float(gigabytes << 30))
    assert LocalExecutor(Store(tmp_path)).room == expected
    assert LocalExecutor(Store(tmp_path), workers=3).room == 3  # a chosen number stands


def test_what_this_machine_has() -> None:
    assert cores() >= 1
    assert available_memory() > 1 << 20


def test_no_worker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="one worker or more, got 0"):
        LocalExecutor(Store(tmp_path), workers=0)
