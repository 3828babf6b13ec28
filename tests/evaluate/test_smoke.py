"""`sgbt bench smoke` and `sgbt report`, as a person runs them: every model, objective and attack once, offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Command

from sgbt.core.registry import OBJECTIVES
from sgbt.evaluate import load_grid, read_records

SUFFIXES = (".html", ".md", ".tex", ".csv")


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment without data, and with no way to get any."""
    kept = {key: value for key, value in os.environ.items() if key != "SGBT_DATA"}
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return kept | nowhere | {"SGBT_CACHE": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def smoke(offline: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished benchmark."""
    folder = tmp_path_factory.mktemp("bench") / "smoke"
    command = [sys.executable, "-c", "from sgbt.cli import main; main()", "bench", "smoke", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=offline)
    assert done.returncode == 0, done.stderr
    assert "90 of 90 units done, 0 failed" in done.stdout
    return folder


def test_it_covers_everything(smoke: Path) -> None:
    records = read_records(smoke)
    assert {record.objective for record in records} == set(OBJECTIVES)
    assert {record.model for record in records} == {"cnn", "bilstm", "linear"}
    assert {name for record in records for name in record.attacks} == {"pwws", "genetic", "pso"}
    assert len(records) == len(load_grid("smoke").cells())
    for record in records:
        assert record.metrics["clean_total"] == record.metrics["certified_total"] == 120
        assert record.metrics["clean_accuracy"] > 0.6
        assert record.metrics["certified_count"] <= record.metrics["clean_count"]


def test_tables_and_page_are_rebuilt_bit_for_bit(smoke: Path, sgbt_command: Command, tmp_path: Path) -> None:
    first = _reported(smoke, sgbt_command, tmp_path / "a")
    (smoke / "records.jsonl").unlink()
    assert _reported(smoke, sgbt_command, tmp_path / "b") == first
    page = first[".html"].decode()
    assert "<del>" in page
    assert "toy/cnn/standard/0" in page


def test_the_records_alone_give_the_same_tables(smoke: Path, sgbt_command: Command, tmp_path: Path) -> None:
    whole = _reported(smoke, sgbt_command, tmp_path / "a")
    committed = tmp_path / "committed"
    committed.mkdir()
    for name in ("records.jsonl", "plan.json"):
        (committed / name).write_bytes((smoke / name).read_bytes())
    alone = _reported(committed, sgbt_command, tmp_path / "b")
    assert all(alone[suffix] == whole[suffix] for suffix in (".md", ".tex", ".csv"))


def test_a_dry_run_tells_and_does_nothing(smoke: Path, sgbt_command: Command, tmp_path: Path) -> None:
    told = sgbt_command("bench", "smoke", "--only", "toy/cnn/sgbt/0", "--out", str(tmp_path / "none"), "--dry-run")
    assert told.returncode == 0, told.stderr
    assert "6 units; at most" in told.stdout
    assert "GiB of disk" in told.stdout
    assert not (tmp_path / "none").exists()


def test_bad_input_is_one_sentence_and_a_failed_unit_an_exit_code(
    sgbt_command: Command, tmp_path: Path, offline: dict[str, str]
) -> None:
    wrong = sgbt_command("bench", "tabel1", "--out", str(tmp_path))
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "did you mean table1?" in wrong.stderr
    assert sgbt_command("bench", "smoke", "--out", str(tmp_path), "--executor", "slurm").returncode == 2
    assert sgbt_command("bench", "smoke", "--only", "nothing", "--out", str(tmp_path)).returncode == 2
    assert sgbt_command("report", str(tmp_path / "nowhere")).returncode == 2
    grid = (
        'vectors = "toy"\nsubstitutions = "toy"\n[[datasets]]\nsource = "toy"\n[models.cnn]\nfilters = 2\n'
        '[[methods]]\nobjective = "standard"\n[training]\nlearning_rate = 1e30\nbatch_size = 16\nminimum_count = 1\n'
    )
    (tmp_path / "bad.toml").write_text(grid)
    failed = sgbt_command("bench", str(tmp_path / "bad.toml"), "--out", str(tmp_path / "bad"), env=offline)
    assert failed.returncode == 1
    assert "expected a finite loss" in failed.stdout
    errors = [json.loads(path.read_text())["error"] for path in (tmp_path / "bad").glob("units/*/error.json")]
    assert len(errors) == 3


def _reported(folder: Path, command: Command, out: Path) -> dict[str, bytes]:
    told = command("report", str(folder), "--out", str(out / "report.html"))
    assert told.returncode == 0, told.stderr
    return {suffix: (out / f"report{suffix}").read_bytes() for suffix in SUFFIXES}
