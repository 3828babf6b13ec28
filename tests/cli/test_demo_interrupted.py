"""ctrl-C while `sgbt demo` trains, proves and attacks: a real signal to real processes, and then the same command."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.demo_world import __file__ as PROGRAM
from tests.conftest import ROOT

SENTENCE = "sgbt: interrupted; what was finished is kept, and the same command goes on from there.\n"
NAMES, LIMIT = ("normal", "certified", "sgbt", "default"), 40
WATCHED = 120.0
"""Seconds after which a stage that was waited for has not come."""


@contextmanager
def demo(out: Path) -> Iterator[subprocess.Popen[str]]:
    """The demo in a group of processes of its own, as a terminal starts it; what it tells goes into a file."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "COLUMNS": "160"}
    with (
        out.with_suffix(".told").open("w") as told,
        subprocess.Popen(
            [sys.executable, PROGRAM, str(out)],
            stdout=told,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def told_by(out: Path) -> str:
    return out.with_suffix(".told").read_text()


def interrupted(out: Path, come: Callable[[], bool]) -> str:
    """Press ctrl-C as soon as something has come: every process of the command gets the signal. What it had told."""
    with demo(out) as process:
        until = time.monotonic() + WATCHED
        while not come():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGINT)
        _, wrong = process.communicate(timeout=WATCHED)
        assert (process.returncode, wrong) == (130, SENTENCE)
        assert gone(process.pid), "a process of the demo is still there"
    return told_by(out)


def gone(group: int) -> bool:
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def finished(out: Path) -> str:
    with demo(out) as process:
        _, wrong = process.communicate(timeout=WATCHED)
        assert (process.returncode, wrong) == (0, "")
    told = told_by(out)
    assert not re.findall(r"[\x00-\x09\x0b-\x1f\x7f\x80-\x9f]|\n\n\n", told)  # plain lines: it goes into a file
    return told


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.is_file() else []


def stripped(path: Path) -> list[dict[str, Any]]:
    """Rows in the order of texts, without the time they took."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: timeless(each) for key, each in value.items() if "seconds" not in key}
        return [timeless(each) for each in value] if isinstance(value, list) else value

    rows = [timeless(json.loads(line)) for line in lines(path)]
    return sorted(rows, key=lambda row: (row.get("method", ""), row.get("index", -1)))


def content(out: Path, part: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(out.glob(part))}


def test_ctrl_c_in_every_stage_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = interrupted(out, lambda: "epoch 2 of" in told_by(out))  # in the third of four
    assert "5. Training" not in told
    assert not (out / "normal" / "config.json").exists()

    told = interrupted(out, lambda: "epoch 1 of" in told_by(out))
    assert re.findall(r"epoch (\d) of", told) == ["3", "4", "1"]  # of the first model those that were missing
    models = content(out, "*/model.safetensors")
    assert list(models) == [out / "normal" / "model.safetensors"]

    told = interrupted(out, lambda: len(lines(out / "normal" / "attacks.jsonl")) >= 5)
    assert re.findall(r"epoch (\d) of", told) == ["2", "3", "4", "1", "2", "3", "4"]
    assert "9. Attacking" in told
    assert content(out, "normal/model.safetensors") == models
    models, proofs = content(out, "*/model.safetensors"), content(out, "*/certificates.jsonl")
    assert (len(models), [len(lines(path)) for path in proofs]) == (4, [LIMIT] * 4)
    rows = (out / "normal" / "attacks.jsonl").read_bytes()
    assert 5 <= rows.count(b"\n") < 2 * LIMIT

    told = finished(out)
    assert "epoch" not in told
    assert content(out, "*/model.safetensors") == models
    assert content(out, "*/certificates.jsonl") == proofs  # with the time that they took: none was made anew
    assert (out / "normal" / "attacks.jsonl").read_bytes().startswith(rows)
    assert re.search(r"Next: .*sgbt serve ", told)

    whole = finished(tmp_path / "whole")
    assert re.findall(r"\d+ of 40", told) == re.findall(r"\d+ of 40", whole)
    for name in NAMES:
        for part in ("certificates.jsonl", "attacks.jsonl"):
            assert stripped(out / name / part) == stripped(tmp_path / "whole" / name / part)
        own, other = (folder / name / "model.safetensors" for folder in (out, tmp_path / "whole"))
        assert own.read_bytes() == other.read_bytes()
