"""What the machine refuses: a full disk, a folder without permission, a download cut short, a port that is taken."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest
from tests.cli.demo_world import __file__ as DEMO
from tests.cli.demo_world import made_up
from tests.cli.walked import TRAIN, run
from tests.conftest import ROOT
from tests.resources.things import CONTENT, Behaviour, Given, served, thing

from sgbt.resources import CATALOGUE
from sgbt.resources.sources import WebAddress

RESULTS = str(ROOT / "results" / "imdb-linear")
SGBT = [sys.executable, "-m", "sgbt"]
NOBODY = 65534


def one_sentence(told: str, said: str) -> None:
    assert told.startswith("sgbt: expected "), told
    assert told.count("\n") == 1, told
    assert said in told


FULL = {
    "train": [*SGBT, "train", "reviews.csv", *TRAIN, "--out", "full"],
    "certify": [*SGBT, "certify", "run", "--out", "full.jsonl"],
    "publish": [*SGBT, "publish", "run", "--out", "full-folder"],
    "attack": [*SGBT, "attack", "run", "--method", "greedy", "--out", "full2.jsonl"],
    "attack, as a table": [*SGBT, "attack", "run", "--method", "greedy", "--csv", "full.csv"],
    "report": [*SGBT, "report", RESULTS, "--out", "full.html"],
    "bench": [*SGBT, "bench", "smoke", "--out", "full-bench", "--workers", "1"],
    "demo": [sys.executable, DEMO, "full-demo"],
}


@pytest.mark.parametrize("name", FULL)
def test_a_disk_that_fills_up(world: Path, name: str) -> None:
    """No file may grow beyond 600 bytes, which the operating system reports as it does a full disk."""
    done = subprocess.run(
        FULL[name],
        cwd=world,
        env=os.environ | {"SGBT_CACHE": str(world / ".cache"), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)),
    )
    assert done.returncode == 2, (done.stdout, done.stderr)
    one_sentence(done.stderr, "file too large")


SECRETS = ("locked", "locked-run", "secret.csv", "secret.json", "secret.toml", "secret.txt")


@pytest.fixture(scope="module")
def guarded(walked: Path) -> Iterator[Path]:
    """A folder that everybody may read, with a file, a run and a folder in it that only their owner may touch."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        for part in ("reviews.csv", "synonyms.json"):
            shutil.copy(walked / part, folder)
        for part in ("run", "locked-run"):
            shutil.copytree(walked / "run", folder / part)
        (folder / "locked").mkdir()
        for secret in SECRETS[2:]:
            shutil.copy(walked / "reviews.csv", folder / secret)
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        folder.chmod(0o755)
        for secret in SECRETS:
            (folder / secret).chmod(0)
        yield folder
        for secret in SECRETS:
            (folder / secret).chmod(0o700)


@contextlib.contextmanager
def as_anybody() -> Iterator[None]:
    """Give up the right of an administrator to pass every door.

    What is imported meanwhile may lie behind such a door as well: modules are loaded before.
    """
    for module in ("sgbt.evaluate", "sgbt.report", "sgbt.bridges"):
        import_module(module)
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)
        invalidate_caches()


LOCKED = {
    "train: into it": ["train", "reviews.csv", *TRAIN, "--out", "locked/run"],
    "train: a file": ["train", "secret.csv", *TRAIN, "--out", "new"],
    "train: a test file": ["train", "reviews.csv", "--test-file", "secret.csv", *TRAIN, "--out", "new"],
    "train: a table": ["train", "reviews.csv", *TRAIN, "--substitutions", "secret.json", "--out", "new"],
    "train: settings": ["train", "reviews.csv", "--config", "secret.toml", "--out", "new"],
    "train: vectors": ["train", "reviews.csv", "--vectors", "secret.txt", "--out", "new"],
    "certify: into it": ["certify", "run", "--out", "locked/rows.jsonl"],
    "certify: a file": ["certify", "run", "--data", "secret.csv"],
    "certify: a run": ["certify", "locked-run"],
    "attack: into it": ["attack", "run", "--method", "greedy", "--out", "locked/rows.jsonl"],
    "attack: a table into it": ["attack", "run", "--method", "greedy", "--csv", "locked/rows.csv"],
    "attack: a run": ["attack", "locked-run"],
    "explain: a run": ["explain", "locked-run", "a good film"],
    "publish: into it": ["publish", "run", "--out", "locked/shared"],
    "publish: a run": ["publish", "locked-run", "--out", "new"],
    "publish: rows": ["publish", "run", "--out", "new", "--attacks", "secret.csv"],
    "bench: into it": ["bench", "smoke", "--out", "locked/bench"],
    "bench: a grid": ["bench", "secret.toml", "--out", "new"],
    "report: into it": ["report", RESULTS, "--out", "locked/report.html"],
    "report: a folder": ["report", "locked"],
    "data: into it": ["data", "get", "thing", "--data-home", "locked/home"],
    "data: describe": ["data", "describe", "secret.csv"],
    "demo: into it": ["demo", "--out", "locked/demo"],
}


@pytest.mark.parametrize("name", LOCKED)
def test_what_one_may_not_touch(
    guarded: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(guarded)
    monkeypatch.setenv("SGBT_CACHE", str(guarded / "locked" / "cache"))
    monkeypatch.setitem(CATALOGUE, "thing", thing(Given()))
    if name.startswith("demo"):
        made_up(monkeypatch.setattr)
    with as_anybody():
        assert run(*LOCKED[name]) == 2, capfd.readouterr()
    one_sentence(capfd.readouterr().err, "permission denied")
    assert not (guarded / "new").exists()


def test_a_download_that_is_cut_short(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], private_cache: Path
) -> None:
    behaviour = Behaviour(sent=20_000)
    behaviour.go.set()
    with served(behaviour) as address:
        monkeypatch.setitem(CATALOGUE, "thing", thing(WebAddress(address, len(CONTENT))))
        assert run("data", "get", "thing") == 2
        told = capfd.readouterr()
        one_sentence(told.err, "thing")
        assert "sent 20,000 of 60,000 bytes" in told.out
        assert not [path for path in private_cache.rglob("*") if path.is_file() and not path.name.startswith(".lock")]
        behaviour.sent = len(CONTENT)
        assert run("data", "get", "thing") == 0  # the same command again, once the line holds
    assert CONTENT in [path.read_bytes() for path in private_cache.rglob("*.txt")]


def test_a_port_that_is_taken(world: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run("serve", "run", "--port", port) == 2
    one_sentence(capfd.readouterr().err, port)
