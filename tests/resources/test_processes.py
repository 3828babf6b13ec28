"""Kills and races: what processes of their own do to one data home."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT
from tests.resources.things import CONTENT, PATH, Behaviour, served

from sgbt.core.files import user_cache

SCRIPT = """
import sys
from sgbt.resources import get
from tests.resources.things import install
install(sys.argv[1])
print("ready", flush=True)
print(get("thing").provider, flush=True)
"""


@contextmanager
def getting(address: str) -> Iterator[subprocess.Popen[str]]:
    """A process that gets the thing from `address`, and is about to."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, address], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until_it_is_under_way(home: Path) -> None:
    deadline = time.monotonic() + 60
    while not list(home.glob(".partial-*/**/thing.txt")):
        assert time.monotonic() < deadline, "no download began"
        time.sleep(0.01)


def test_a_kill_in_the_middle_of_a_download_is_recovered_from() -> None:
    home = user_cache() / "data"
    behaviour = Behaviour(sent=len(CONTENT) // 2)
    with served(behaviour) as address:
        with getting(address) as process:
            wait_until_it_is_under_way(home)
            process.kill()
            assert process.wait() == -9
        assert list(home.glob(".partial-*")), "the kill came too late to test anything"
        assert not (home / PATH).exists()
        behaviour.sent = len(CONTENT)
        behaviour.go.set()
        with getting(address) as process:
            out, problems = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "first\n"), problems
    assert (home / PATH).read_bytes() == CONTENT
    assert sorted(path.name for path in home.iterdir()) == [".lock-thing", "things"]
    assert behaviour.requests == 2


def test_two_processes_at_once_fetch_it_once() -> None:
    home = user_cache() / "data"
    behaviour = Behaviour(sent=len(CONTENT) // 2, rest=True)
    with served(behaviour) as address, getting(address) as one:
        wait_until_it_is_under_way(home)
        with getting(address) as other:
            behaviour.go.set()
            outs = [process.communicate(timeout=60)[0] for process in (one, other)]
    assert behaviour.requests == 1
    assert outs == ["first\n", f"data home {home}\n"]
    assert (home / PATH).read_bytes() == CONTENT
