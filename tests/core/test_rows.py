"""Files of rows: what a kill leaves is repaired; what is somebody's own is refused and left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sgbt.attacks.rows import ATTACKS
from sgbt.certify.rows import CERTIFICATES
from sgbt.core.errors import EvaluationError
from sgbt.core.rows import RowFile, RowKind, read_rows, write_rows
from sgbt.evaluate.record import RECORDS
from sgbt.evaluate.store import PREDICTIONS

ROOT = Path(__file__).resolve().parents[2]
Fields = dict[str, Any]
KIND: RowKind[Fields] = RowKind(
    name="trial",
    error=EvaluationError,
    write=json.dumps,
    read=dict,
    key=lambda row: row["trial"],
    title=lambda row: f"trial {row['trial']}",
    begin=b'{"trial": ',
    value=lambda row, name: row[name],
)
WHOLE = b'{"trial": 0, "seed": 1}\n{"trial": 1, "seed": 1}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_bytes(WHOLE)
    return tmp_path / "rows.jsonl"


@pytest.mark.parametrize("cut", range(len(b'{"trial": 2, "seed": 1}') + 1))
def test_a_last_line_that_was_cut_off_is_left_out_and_then_removed(path: Path, cut: int) -> None:
    path.write_bytes(WHOLE + b'{"trial": 2, "seed": 1}'[:cut])
    assert [row["trial"] for row in read_rows(path, KIND)] == [0, 1]
    with RowFile(path, KIND) as file:
        file.append({"trial": 2, "seed": 1}, {"trial": 3, "seed": 1})
    assert path.read_bytes() == WHOLE + b'{"trial": 2, "seed": 1}\n{"trial": 3, "seed": 1}\n'


@pytest.mark.parametrize(
    ("tail", "fault"),
    [
        (b"a note of mine", "one trial per line, got text that is not JSON.* line 3"),
        (b"{}\n", "one with a fault at 'trial'.* line 3"),
        (b"[1]\n", "got a list.* line 3"),
        (b'{"trial": []}\n', "line 3"),
        (b'{"trial": 1}\n', "a second for trial 1.* line 3"),
        (b"\n", "line 3"),
    ],
)
def test_anything_else_is_refused_with_its_line_and_left_alone(path: Path, tail: bytes, fault: str) -> None:
    path.write_bytes(WHOLE + tail)
    with pytest.raises(EvaluationError, match=fault):
        read_rows(path, KIND)
    with pytest.raises(EvaluationError, match=fault), RowFile(path, KIND):
        raise AssertionError("opened")
    assert path.read_bytes() == WHOLE + tail


def test_a_second_row_is_refused_before_anything_is_written(path: Path) -> None:
    with RowFile(path, KIND) as file:
        with pytest.raises(EvaluationError, match="a second for trial 1"):
            file.append({"trial": 5}, {"trial": 1})
        with pytest.raises(EvaluationError, match="a second for trial 6"):
            file.append({"trial": 6}, {"trial": 6})
        file.append({"trial": 5}, {"trial": 6})  # neither was kept
    assert path.read_bytes() == WHOLE + b'{"trial": 5}\n{"trial": 6}\n'


def test_rows_of_another_question_are_refused(path: Path) -> None:
    with RowFile(path, KIND) as file:
        file.require({"seed": 1})
        file.require({"seed": 2}, among=lambda row: row["trial"] > 1)
        with pytest.raises(EvaluationError, match=r"rows with seed 2, got trial 0 with 1.*another --out"):
            file.require({"seed": 2})
        with pytest.raises(EvaluationError, match="another text or label for trial 1"):
            file.require_texts(lambda row: row["trial"] == 0)


def test_half_a_line_of_a_file_that_is_written_as_a_whole_is_a_fault(tmp_path: Path) -> None:
    rows = [{"index": index, "label": 0, "predicted": 1} for index in range(2)]
    write_rows(tmp_path / "rows.jsonl", PREDICTIONS, rows)
    assert read_rows(tmp_path / "rows.jsonl", PREDICTIONS) == rows
    content = (tmp_path / "rows.jsonl").read_bytes()
    (tmp_path / "rows.jsonl").write_bytes(content[:-9])
    with pytest.raises(EvaluationError, match="line 2"):
        read_rows(tmp_path / "rows.jsonl", PREDICTIONS)


def test_without_a_path_nothing_is_kept() -> None:
    with RowFile(None, KIND) as file:
        file.append({"trial": 0})
        file.append({"trial": 0})
    assert not file.rows


KILLED = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from _rows import done, trials
with trials(Path(sys.argv[1]), "trial") as file:
    for number in range(3000):
        if not done(file, {"number": number}):
            file.append({"trial": {"number": number}, "padding": "x" * 500})
"""


def test_trials_that_are_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    command = [sys.executable, "-c", KILLED, str(path), str(ROOT / "benchmarks")]
    for _ in range(2):
        before = path.stat().st_size if path.exists() else 0
        process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            if path.exists() and path.stat().st_size > before + 20_000:
                break
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
    path.write_bytes(path.read_bytes() + b'{"trial": {"numb')
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    numbers = [json.loads(line)["trial"]["number"] for line in path.read_text().splitlines()]
    assert numbers == list(range(3000))


FIELDS = {"grams": ["trial"], "linear-films": ["trial", "fold"], "network-films": ["trial", "fold"],
          "linear-frequent": ["least", "recipe"]}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_the_trials_kept_here_can_be_gone_on_with(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from _rows import done, trials

    path = tmp_path / "rows.jsonl"
    path.write_bytes((ROOT / "results" / "trials" / f"{name}.jsonl").read_bytes())
    before = path.read_bytes()
    with trials(path, *FIELDS[name]) as file:
        rows = [json.loads(line) for line in before.splitlines()]
        assert list(file.rows.values()) == rows
        assert all(done(file, *(row[field] for field in FIELDS[name])) for row in rows)
    assert path.read_bytes() == before


def test_every_row_kept_here_is_read_and_written_as_it_stands() -> None:
    kinds: dict[bytes, RowKind[Any]] = {b'{"index": ': CERTIFICATES, b'{"settings"': ATTACKS}
    found = 0
    for path in sorted((ROOT / "results").rglob("*.jsonl")):
        content = path.read_bytes()
        kind = RECORDS if path.name.startswith("records") else kinds.get(content[:10]) or kinds.get(content[:11])
        if kind is None:
            continue
        rows = read_rows(path, kind)
        found += len(rows)
        if kind is RECORDS:
            assert kind.lines(rows) == content
    assert found > 100
