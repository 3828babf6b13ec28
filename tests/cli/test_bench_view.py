"""The view of a benchmark: drawn on a terminal, told line by line in a log."""

from __future__ import annotations

from io import StringIO

from sgbt.cli.bench_view import BenchView
from sgbt.cli.screen import Screen
from sgbt.evaluate.unit import Unit

UNITS = [Unit("train", f"toy/cnn/standard/{seed}", {"seed": seed}, {}) for seed in range(5)]


def test_done_running_failed_and_what_is_left_are_drawn() -> None:
    console = Screen(file=StringIO(), force_terminal=True, width=120)
    view = BenchView("A title", 2, console)
    view.planned(UNITS, UNITS[:1])
    view.started(UNITS[1])
    view.settled(UNITS[1], "")
    view.started(UNITS[2])
    view.settled(UNITS[2], "no room on the disk")
    view.started(UNITS[3])
    view.went_on(UNITS[3], 0.5)
    sheet = Screen(file=StringIO(), width=160)
    sheet.print(view._drawn())
    drawn = sheet.file.getvalue()
    assert f"2 of {len(UNITS)} done, 1 failed" in drawn
    assert "1 running" in drawn
    assert UNITS[3].title in drawn
    assert "50%" in drawn


def test_in_a_log_every_unit_has_its_line_and_nothing_is_drawn() -> None:
    stream = StringIO()
    with BenchView("A title", 1, Screen(file=stream, width=200)) as view:
        view.planned(UNITS, [])
        view.started(UNITS[0])
        view.settled(UNITS[0], "")
        view.started(UNITS[1])
        view.settled(UNITS[1], "out of luck")
    lines = stream.getvalue().splitlines()
    assert lines[0] == f"A title: {len(UNITS)} units, 0 of them done before"
    assert lines[1].startswith(f"done: {UNITS[0].title}, 0 s (1 of {len(UNITS)} done")
    assert lines[2].startswith(f"failed: {UNITS[1].title}: out of luck (1 of {len(UNITS)} done, 1 failed")
    assert len(lines) == 3
