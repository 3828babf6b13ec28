"""A fetch that is ended takes its pip or npm with it, however it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import signal, sys
from pathlib import Path
from sgbt.resources.sources import Silent
from sgbt.resources.sources import Errand, NpmPackage
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background starts with it ignored
NpmPackage("thing", "1.0.0", "0" * 64, 1).fetch(Errand(Path(sys.argv[1]), (), Silent()))
"""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(met: object, seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if met():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_child_ends_too(tmp_path: Path, how: signal.Signals) -> None:
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/new && mv {tmp_path}/new {tmp_path}/pid\nexec sleep 600\n")
    npm.chmod(0o755)
    environment = os.environ | {"PATH": f"{npm.parent}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert until((tmp_path / "pid").exists)
        child = int((tmp_path / "pid").read_text())
        assert is_running(child)
        process.send_signal(how)
        assert process.wait(30) != 0
        assert until(lambda: not is_running(child)), "npm was left running"
    finally:
        process.kill()
