"""Drawing in SVG with nothing but text: the same input gives the same bytes, and colours come from the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources

SERIES = 8
"""Colours of the page's style, `s0` to `s7`; further series repeat them with other marks."""

MARKS = ("circle", "square", "diamond", "triangle")


@dataclass(frozen=True, slots=True)
class Axis:
    """A straight map from values to a stretch of the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value."""
        span = self.high - self.low or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)


@dataclass
class Drawing:
    """Shapes in the order in which they are drawn, on a canvas of a given size."""

    width: int
    height: int
    title: str
    shapes: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line; `kind` names its style."""
        self.shapes.append(f'<line class="{kind}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>')

    def path(self, points: Sequence[tuple[float, float]], kind: str, hover: str) -> None:
        """A line through points."""
        places = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self.shapes.append(f'<polyline class="{kind}" points="{places}"><title>{escape(hover)}</title></polyline>')

    def text(self, x: float, y: float, words: str, kind: str = "label", anchor: str = "middle", turn: int = 0) -> None:
        """Words at a place."""
        turned = f' transform="rotate({turn} {_n(x)} {_n(y)})"' if turn else ""
        self.shapes.append(
            f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"{turned}>{escape(words)}</text>'
        )

    def rect(self, x: float, y: float, width: float, height: float, kind: str, strength: float, hover: str) -> None:
        """A box filled more or less strongly."""
        self.shapes.append(
            f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" '
            f'fill-opacity="{strength:.3f}"><title>{escape(hover)}</title></rect>'
        )

    def mark(self, x: float, y: float, series: int, hover: str, *, hollow: bool = False) -> None:
        """A point of a series; each has its colour and, when colours repeat, its shape."""
        kind = f"mark s{series % SERIES}{' hollow' if hollow else ''}"
        shape = MARKS[series // SERIES % len(MARKS)]
        title = f"<title>{escape(hover)}</title>"
        if shape == "circle":
            self.shapes.append(f'<circle class="{kind}" cx="{_n(x)}" cy="{_n(y)}" r="5">{title}</circle>')
            return
        corners = {
            "square": ((-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)),
            "diamond": ((0, -6), (6, 0), (0, 6), (-6, 0)),
            "triangle": ((0, -6), (5.5, 4.5), (-5.5, 4.5)),
        }[shape]
        places = " ".join(f"{_n(x + dx)},{_n(y + dy)}" for dx, dy in corners)
        self.shapes.append(f'<polygon class="{kind}" points="{places}">{title}</polygon>')

    def svg(self) -> str:
        """The finished drawing."""
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(self.title)}">'
            + "".join(self.shapes)
            + "</svg>"
        )


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def picture(chart: str) -> str:
    """The chart of a report (`sgbt.report.charts`) as a whole SVG document, in light and in dark."""
    style = (resources.files("sgbt.report") / "style.css").read_text(encoding="utf-8")
    colours = style[: style.index("* {")]
    shapes = "".join(f"{line}\n" for line in style.splitlines() if line.startswith("svg "))
    paper = '<rect width="100%" height="100%" fill="var(--card)"/>'
    start, rest = chart.split(">", 1)
    named = start.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"{named}>\n<style>\n{colours}{shapes}</style>\n{paper}{rest}\n"
