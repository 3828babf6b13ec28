"""What tests of several packages share: a private cache, the checkout's root, and the data kept beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("untimed", deadline=None)  # a busy machine is no fault
settings.load_profile("untimed")

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `SGBT_CACHE` and no `SGBT_DATA`: what a test finds, it made."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("SGBT_CACHE", str(cache))
    monkeypatch.delenv("SGBT_DATA", raising=False)
    return cache


@pytest.fixture
def sgbt_command() -> Command:
    """Run the command line in a process of its own, as a person does; options go to `subprocess.run`."""

    def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from sgbt.cli import main; main()", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]

    return run


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder `shared/data` beside the checkout (for a linked worktree: beside the checkout it is linked to)."""
    chosen = os.environ.get("SGBT_SHARED")
    folder = Path(chosen) if chosen else _main_checkout().parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"no {folder / 'data'} on this machine")
    return folder / "data"


@pytest.fixture(scope="session")
def imdb_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache into which the command line fetched IMDB, from nothing; one for all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    cache = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "imdb-cache"
    environment = {key: value for key, value in os.environ.items() if key != "SGBT_DATA"} | {"SGBT_CACHE": str(cache)}
    command = [sys.executable, "-c", "from sgbt.cli import main; main()", "data", "get", "imdb"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 2:
        pytest.skip(f"no provider of imdb answers: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return cache


@pytest.fixture
def imdb(imdb_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment in which `load_dataset("imdb")` finds what was fetched."""
    monkeypatch.setenv("SGBT_CACHE", str(imdb_cache))
    monkeypatch.delenv("SGBT_DATA", raising=False)
    return imdb_cache


def _main_checkout() -> Path:
    asked = ["git", "-C", str(ROOT), "rev-parse", "--path-format=absolute", "--git-common-dir"]
    try:
        return Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()).parent
    except (OSError, subprocess.CalledProcessError):
        return ROOT
