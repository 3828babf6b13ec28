"""`sgbt demo` on a made-up world instead of IMDB: what it ends with, and what an interruption leaves."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.cli.demo_world import SIZES, made_up
from tests.conftest import ROOT
from typer.testing import CliRunner

from sgbt.attacks import read_rows as read_attacks
from sgbt.certify import read_rows
from sgbt.cli import demo_stages
from sgbt.cli.app import app
from sgbt.cli.demo_view import counted, program

NAMES = ("normal", "certified", "sgbt", "default")
PARTS = ("certificates.jsonl", "attacks.jsonl", "model.safetensors")


@pytest.fixture(autouse=True)
def _made_up_world(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(monkeypatch.setattr)


def demo(out: Path) -> str:
    done = CliRunner().invoke(app, ["demo", "--out", str(out), *SIZES], catch_exceptions=False, env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    return done.output


def contents(out: Path) -> dict[str, bytes]:
    found = {f"{name}/{part}": (out / name / part) for name in NAMES for part in PARTS}
    found |= {path.name: path for path in out.glob("vectors-*.safetensors")}
    assert len(found) == len(NAMES) * len(PARTS) + 1
    return {name: path.read_bytes() for name, path in found.items()}


def test_it_ends_with_a_table_examples_a_proof_a_report_and_the_next_command(tmp_path: Path) -> None:
    told = demo(tmp_path / "out")
    assert "200 of 400 training reviews" in told
    for name in NAMES:
        proofs = read_rows(tmp_path / "out" / name / "certificates.jsonl")
        assert len(proofs) == 40
        results = read_attacks(tmp_path / "out" / name / "attacks.jsonl")
        broken = {result.index for result in results if result.status != "failed"}
        right = sum(proof.predicted == proof.label for proof in proofs)
        counts = [right, 40 - len(broken), sum(proof.certified for proof in proofs)]
        row = told[told.index(f"│ {name}") :].splitlines()[1]
        assert [int(count) for count in re.findall(r"(\d+) of 40", row)] == counts
    assert told[told.index("Three reviews") :].count(" -> ") == 3  # three broken texts, each with its two labels
    assert "Three reviews on which the normal model was fooled" in told
    examples = told[told.index("Three reviews") : told.index("A review that")]
    assert len(re.findall(r"\w+\[\w+\]", examples)) >= 3  # the old word and the new one, also without colours
    assert re.search(r"proven for all [\d,]+ versions", told)
    assert re.search(r"<\w+>", told[told.index("A review that") :])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<table" in page
    assert "Texts that were broken" in page
    assert re.search(r"Next: .*sgbt serve ", told)
    command = re.search(r"Prove it again: .*sgbt (verify .*)", told)
    assert command is not None
    proven = CliRunner().invoke(app, shlex.split(command[1]), catch_exceptions=False)
    assert proven.exit_code == 0, proven.output
    assert "proven again: 40 of 40 rows" in proven.output
    page_of_docs(told, tmp_path / "out")


def page_of_docs(told: str, out: Path) -> None:
    """docs/learn/demo.md names the stages that are told, and files that are there."""
    page = (ROOT / "docs" / "learn" / "demo.md").read_text(encoding="utf-8")
    stages = re.findall(r"`(\d\. \w+)`", page)
    assert len(stages) == 9
    for stage in stages:
        assert f"\n{stage}" in f"\n{told}"
    for title in re.findall(r"^- \*\*(.+?)\*\*", page, re.MULTILINE)[:3]:
        assert title.lower() in told.lower()
    files = [name for row in re.findall(r"^\| (`\S+\.\w+`.*?) \|", page, re.MULTILINE) for name in row.split(", ")]
    assert len(files) == 11
    for name in files:
        assert (out / name.strip("`")).is_file(), name
        assert (out / name.strip("`").replace("normal/", "certified/")).is_file(), name
    kept = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    others = {name for name in kept if f"`{re.sub('(certified|sgbt|default)/', 'normal/', name)}`" not in files}
    assert others <= {path.relative_to(out).as_posix() for path in out.glob("vectors-*.safetensors")} | {
        name for name in others if Path(name).name.startswith(".")
    }


@pytest.mark.parametrize(
    ("found", "called", "told"),
    [
        ("/usr/bin/sgbt", "/x/.venv/bin/sgbt", "sgbt"),
        (None, "{here}/.venv/bin/sgbt", ".venv/bin/sgbt"),
        (None, "/x/sgbt/__main__.py", f"{sys.executable} -m sgbt"),
    ],
)
def test_the_next_command_is_one_that_the_shell_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str | None, called: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: found)
    monkeypatch.setattr(sys, "argv", [called.format(here=tmp_path)])
    assert program() == told


def test_what_was_finished_when_it_was_interrupted_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = demo(tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(demo_stages, "attacked", _interrupted)
        done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "out"), *SIZES])
        assert done.exit_code == 130
    kept = (tmp_path / "out" / "certified" / "certificates.jsonl").read_bytes()
    resumed = demo(tmp_path / "out")
    assert (tmp_path / "out" / "certified" / "certificates.jsonl").read_bytes() == kept
    assert _figures(resumed) == _figures(whole)
    before = contents(tmp_path / "out")
    demo(tmp_path / "out")
    assert contents(tmp_path / "out") == before


def _figures(told: str) -> list[str]:
    return re.findall(r"\d+ of 40", told)


def _interrupted(*given: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (1, "1"),
        (999_999_999, "999,999,999"),
        (1_234_567_890, "1.2 x 10^9"),
        (10**15 - 1, "9.9 x 10^14"),
        (9**300, "1.8 x 10^286"),
        (3 * 10**5000, "3.0 x 10^5000"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_how_a_number_of_versions_is_told(number: int, told: str) -> None:
    assert counted(number) == told
