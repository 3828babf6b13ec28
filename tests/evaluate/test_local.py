"""The local executor takes as many workers as there are cores and memory for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sgbt.core.errors import EvaluationError
from sgbt.evaluate import Store, local
from sgbt.evaluate.local import MEMORY_PER_WORKER, LocalExecutor


@pytest.mark.parametrize(("gigabytes", "expected"), [(0, 1), (3, 1), (5, 2), (9, 4), (100, 4)])
def test_memory_limits_what_nobody_chose_and_one_always_fits(
    gigabytes: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MEMORY_PER_WORKER == 2 << 30
    monkeypatch.setattr(local, "cores", lambda: 4)
    monkeypatch.setattr(local, "available_memory", lambda: float(gigabytes << 30))
    assert LocalExecutor(Store(tmp_path)).room == expected
    assert LocalExecutor(Store(tmp_path), workers=3).room == 3  # a chosen number stands


def test_no_worker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="one worker or more, got 0"):
        LocalExecutor(Store(tmp_path), workers=0)


WORKER = """
import sys
from sgbt.evaluate import worker
sys.platform = sys.argv[1]
worker.Store = lambda folder: sys.exit(7)  # it has come to work
worker.main(["store"])
"""


@pytest.mark.parametrize(("system", "code"), [("linux", 0), ("win32", 7)])
def test_an_orphan_does_not_start_but_on_windows_a_launcher_may_stand_between(system: str, code: int) -> None:
    orphan = os.environ | {"SGBT_BENCH_PARENT": "1"}
    assert subprocess.run([sys.executable, "-c", WORKER, system], env=orphan, check=False).returncode == code
