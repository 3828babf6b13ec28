"""What others wrote never steers the terminal: not in errors, not in what is printed, not in warnings."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text
from tests.cli.walked import run

from sgbt.cli.screen import Screen, prepare_streams
from sgbt.core.errors import SgbtError, SgbtWarning, visible

HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eevil\u2066 \x00\r\x08 \udcff"
MARKS = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), *range(0xFFF9, 0xFFFC))
STEERING = [chr(number) for number in (*range(9), *range(11, 32), *range(127, 160), *MARKS, *range(0xD800, 0xE000))]


@given(st.text(st.characters() | st.sampled_from(STEERING)))
def test_visible_text_steers_nothing_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert not any(sign in shown for sign in STEERING)
    assert visible(shown) == shown
    if not any(sign in text for sign in STEERING):
        assert shown == text
    shown.encode()


def test_letters_of_every_script_are_left_alone() -> None:
    for text in ("naïve café", "עברית العربية", "日本語 한국어", "👩‍👩‍👧 flag 🇩🇪", "a\nb\tc"):
        assert visible(text) == text


def test_an_error_says_nothing_that_steers() -> None:
    told = str(SgbtError(expected=HOSTILE, got=HOSTILE, where=HOSTILE, remedy=HOSTILE))
    assert visible(told) == told
    assert "\\x1b[31mred" in told


@pytest.mark.parametrize("shape", [str, Text, lambda text: Table(text, title=text)])
@pytest.mark.parametrize("terminal", [False, True])
def test_a_screen_shows_it_as_escapes(shape, terminal: bool) -> None:  # type: ignore[no-untyped-def]
    stream = io.StringIO()
    Screen(file=stream, force_terminal=terminal, width=300, color_system=None).print(shape(HOSTILE))
    assert "\\x1b[31mred" in stream.getvalue()
    assert not any(sign in stream.getvalue().replace("\x1b[3m", "").replace("\x1b[0m", "") for sign in STEERING)


def test_a_screen_makes_no_markup_of_text() -> None:
    stream = io.StringIO()
    Screen(file=stream, width=80).print("[/bold] [red]:smile:")
    assert stream.getvalue() == "[/bold] [red]:smile:\n"


def test_a_warning_of_ours_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    prepare_streams()
    warnings.showwarning(SgbtWarning(f"note that {HOSTILE}"), SgbtWarning, "somewhere.py", 3)
    told = capsys.readouterr().err
    assert told.startswith("sgbt: note: note that \\x1b")
    assert told.count("\n") == 1


NAME = "fi\x1b[31mlm\u202e"


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", f"{NAME}.csv", "--out", "new"],
        ["train", "reviews.csv", "--text", NAME, "--out", "new"],
        ["train", "reviews.csv", "--substitutions", f"{NAME}.json", "--out", "new"],
        ["train", "reviews.csv", "--config", NAME, "--out", "new"],
        ["certify", NAME],
        ["certify", "run", "--tiers", NAME],
        ["attack", "run", "--method", NAME],
        ["explain", "run", "a film", "--defend", NAME],
        ["data", "get", NAME],
        ["bench", NAME, "--out", "new"],
        ["report", NAME],
        [NAME],
        ["train", f"--{NAME}"],
    ],
)
def test_no_command_passes_control_characters_on(
    world: Path, capfd: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run(*arguments) == 2
    told = capfd.readouterr()
    assert told.err.count("\n") == 1
    assert visible(told.err) == told.err
    assert visible(told.out) == told.out


def test_texts_and_labels_with_control_characters_are_shown_as_escapes(
    world: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("explain", "run", f"a good {NAME} film") == 0
    told = capfd.readouterr().out
    assert "\\x1b[31m" in told
    assert visible(told) == told


def test_a_stream_that_writes_ascii_alone_is_no_traceback(world: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sgbt", "explain", "run", "a naïve good film, 日本"],
        cwd=world, env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "na\\xefve" in done.stdout
