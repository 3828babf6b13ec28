"""Screen: where the command line prints. What others wrote appears as it is, and steers nothing."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from sgbt.core.errors import SgbtWarning
from sgbt.core.visible import visible

LONGEST = 4000
"""Characters of a sentence: what a person typed, or a file has, may be longer than anybody reads."""


class Screen(Console):
    """A console that makes neither colours nor pictures of text unless asked to, and writes control characters out.

    Every piece of text passes `render`, before colours are added to it.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**({"highlight": False, "markup": False, "emoji": False} | settings))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is to be printed, piece by piece."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def say(sentence: str) -> None:
    """One line on standard error: what a person typed may contain anything."""
    line = " ".join(visible(sentence).splitlines())
    shown = line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
    print(f"sgbt: {shown}", file=sys.stderr, flush=True)


def prepare_streams() -> None:
    """What an encoding cannot write is written as an escape, and a warning of sgbt is one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    usual = warnings.showwarning

    def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, SgbtWarning):
            say(f"note: {message}")
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
