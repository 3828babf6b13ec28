"""The command as a person runs it: exit codes, one sentence, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT, Command

import sgbt


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The sentence on standard error of a command that was refused."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("sgbt: expected ")
    return lines[0]


def test_version(sgbt_command: Command) -> None:
    done = sgbt_command("--version")
    assert (done.returncode, done.stdout) == (0, f"sgbt {sgbt.__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["data", "--help"], ["data", "get", "-h"]])
def test_help(sgbt_command: Command, arguments: list[str]) -> None:
    done = sgbt_command(*arguments)
    assert done.returncode == 0
    assert "Usage:" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [(["dta"], "data"), (["data", "gett", "imdb"], "get"), (["data", "get", "imdb", "--data-hom", "x"], "--data-home")],
)
def test_a_mistyped_word_gets_a_suggestion(sgbt_command: Command, arguments: list[str], suggestion: str) -> None:
    done = sgbt_command(*arguments)
    assert done.returncode == 2
    assert suggestion in done.stderr
    assert "Traceback" not in done.stderr


def test_a_mistyped_resource_gets_a_suggestion(sgbt_command: Command) -> None:
    assert one_sentence(sgbt_command("data", "get", "imbd")).endswith("did you mean imdb?")


def test_debug_shows_the_traceback(sgbt_command: Command) -> None:
    done = sgbt_command("--debug", "data", "get", "imbd")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert "did you mean imdb?" in done.stderr


def test_a_sentence_is_printed_as_it_is(sgbt_command: Command) -> None:
    """Neither colours nor pictures nor line breaks are made of what a person typed."""
    name = "[red]:smile:[/red]" + "x" * 200
    assert repr(name) in one_sentence(sgbt_command("data", "get", name))


def test_an_unwritable_cache_is_one_sentence(sgbt_command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    done = sgbt_command("data", "get", "sememes", env=os.environ | {"SGBT_CACHE": str(tmp_path / "file")})
    assert "got not a directory in" in one_sentence(done)


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background starts with it ignored
import sgbt.cli.data as data
def interrupted(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)
    signal.sigwait([signal.SIGTERM])
data.locate = interrupted
sys.argv = ["sgbt", "data", "list"]
from sgbt.cli import main
main()
"""


def test_an_interruption_is_130_and_one_sentence() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr == "sgbt: interrupted; what was finished is kept, and the same command goes on from there.\n"


def test_a_reader_that_goes_away_is_nothing_to_talk_about() -> None:
    command = [sys.executable, "-c", "from sgbt.cli import main; main()", "data", "list"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(60) == 1
