"""The charts of a report: shares against each other, by steps, by epochs, and over two options.

They are SVG written as text: the same input gives the same bytes, and colours come from the page's style.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


WIDTH, HEIGHT = 680, 400
LEFT, RIGHT, TOP, BOTTOM = 58, 500, 18, 352
"""The frame within which values are drawn; the legend stands to the right of it."""

Points = Sequence[tuple[float, float | None]]


@dataclass(frozen=True, slots=True)
class Dot:
    """One method in a plane: how accurate it is, how robust, and how much of that is proven; shares from 0 to 1."""

    name: str
    clean: float
    robust: float | None
    certified: float | None


def accuracy_against_robustness(title: str, dots: Sequence[Dot]) -> str:
    """Clean accuracy to the right, robust accuracy (filled) and certified accuracy (hollow) upwards.

    Among the same texts nothing lies above the diagonal: who stays right was right to begin with. A sample that is
    attacked may be easier than the whole.
    """
    drawing = Drawing(WIDTH, HEIGHT, title)
    least = min((dot.clean for dot in dots), default=0.5)
    x, y = Axis(math.floor(20 * least - 0.5) / 20, 1.0, LEFT, RIGHT), Axis(0.0, 1.0, BOTTOM, TOP)
    _frame(drawing, x, y, _steps(x.low, 1.0), "clean accuracy", "robust (filled), certified (hollow)", percent=True)
    drawing.line(x(x.low), y(x.low), x(1.0), y(1.0), "diagonal")
    for number, dot in enumerate(dots):
        ends = [each for each in (dot.robust, dot.certified) if each is not None]
        if len(ends) == 2:
            drawing.line(x(dot.clean), y(ends[0]), x(dot.clean), y(ends[1]), f"link s{number % SERIES}")
        if dot.robust is not None:
            hover = f"{dot.name}: clean {dot.clean:.1%}, robust {dot.robust:.1%}"
            drawing.mark(x(dot.clean), y(dot.robust), number, hover)
        if dot.certified is not None:
            hover = f"{dot.name}: clean {dot.clean:.1%}, certified {dot.certified:.1%}"
            drawing.mark(x(dot.clean), y(dot.certified), number, hover, hollow=True)
    _legend(drawing, [dot.name for dot in dots])
    return drawing.svg()


def lines(
    title: str, series: Mapping[str, Points], across: str, upwards: str, *, ticks: Sequence[str] | None = None
) -> str:
    """Shares from 0 to 1 of several methods, against numbers, or against steps that `ticks` name."""
    drawing = Drawing(WIDTH, HEIGHT, title)
    places = [place for points in series.values() for place, _ in points]
    x, y = Axis(min(places, default=0.0), max(places, default=1.0), LEFT + 8, RIGHT - 8), Axis(0.0, 1.0, BOTTOM, TOP)
    marks = list(enumerate(ticks)) if ticks is not None else [(place, f"{place:g}") for place in sorted(set(places))]
    _frame(drawing, x, y, [], across, upwards, percent=True)
    for place, name in marks:
        drawing.text(x(place), BOTTOM + 18, name, "tick")
    for number, (name, points) in enumerate(series.items()):
        drawn = [(x(place), y(value)) for place, value in points if value is not None]
        drawing.path(drawn, f"curve s{number % SERIES}", name)
        for place, value in points:
            if value is not None:
                drawing.mark(x(place), y(value), number, f"{name}: {value:.1%}")
    _legend(drawing, list(series))
    return drawing.svg()


def losses(title: str, parts: Mapping[str, Sequence[float]]) -> str:
    """Loss parts by epoch, on a logarithmic scale; a part that is zero is drawn on the floor."""
    drawing = Drawing(WIDTH, HEIGHT, title)
    positive = [value for values in parts.values() for value in values if value > 0]
    low = math.floor(math.log10(min(positive, default=0.1)))
    high = math.ceil(math.log10(max(positive, default=1.0)) + 1e-9)
    epochs = max((len(values) for values in parts.values()), default=1)
    x, y = Axis(1, max(epochs, 2), LEFT + 8, RIGHT - 8), Axis(max(low, high - 6), max(high, low + 1), BOTTOM, TOP)
    _axes(drawing, "epoch", "loss part (logarithmic)")
    for power in range(int(y.low), int(y.high) + 1):
        drawing.line(LEFT, y(power), RIGHT, y(power), "grid")
        drawing.text(LEFT - 8, y(power) + 4, f"{10.0**power:g}", "tick", "end")
    for epoch in range(1, epochs + 1, max(1, epochs // 10)):
        drawing.text(x(epoch), BOTTOM + 18, str(epoch), "tick")
    for number, (name, values) in enumerate(parts.items()):
        logs = [max(math.log10(value), y.low) if value > 0 else y.low for value in values]
        points = [(x(epoch + 1), y(value)) for epoch, value in enumerate(logs)]
        drawing.path(points, f"curve s{number % SERIES}", name)
        for (across, up), value in zip(points, values, strict=True):
            drawing.mark(across, up, number, f"{name}: {value:.4g}")
    _legend(drawing, [name.replace("_", " ") for name in parts])
    return drawing.svg()


def heatmap(
    title: str, rows: Sequence[str], columns: Sequence[str], values: Mapping[tuple[str, str], float | None],
    down: str, across: str,
) -> str:  # fmt: skip
    """Shares over two options, the stronger the colour the higher; the range of colours is that of the values."""
    drawing = Drawing(WIDTH, HEIGHT, title)
    known = [value for value in values.values() if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    wide, tall = (WIDTH - 20 - LEFT) / max(len(columns), 1), (BOTTOM - TOP) / max(len(rows), 1)
    for row, name in enumerate(rows):
        drawing.text(LEFT - 8, TOP + (row + 0.5) * tall + 4, name, "tick", "end")
        for column, other in enumerate(columns):
            value = values.get((name, other))
            left, top = LEFT + column * wide, TOP + row * tall
            if value is not None:
                strength = 0.08 + 0.72 * ((value - low) / (high - low) if high > low else 0.5)
                hover = f"{down} {name}, {across} {other}: {value:.1%}"
                drawing.rect(left + 1, top + 1, wide - 2, tall - 2, "heat", strength, hover)
                drawing.text(left + wide / 2, top + tall / 2 + 5, f"{100 * value:.1f}", "value")
    for column, other in enumerate(columns):
        drawing.text(LEFT + (column + 0.5) * wide, BOTTOM + 18, other, "tick")
    drawing.text((LEFT + WIDTH - 20) / 2, HEIGHT - 8, across)
    drawing.text(14, (TOP + BOTTOM) / 2, down, turn=-90)
    return drawing.svg()


def _frame(
    drawing: Drawing, x: Axis, y: Axis, ticks: Sequence[float], across: str, upwards: str, *, percent: bool
) -> None:
    _axes(drawing, across, upwards)
    for value in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        drawing.line(LEFT, y(value), RIGHT, y(value), "grid")
        drawing.text(LEFT - 8, y(value) + 4, f"{100 * value:.0f}" if percent else f"{value:g}", "tick", "end")
    for value in ticks:
        drawing.line(x(value), TOP, x(value), BOTTOM, "grid")
        drawing.text(x(value), BOTTOM + 18, f"{100 * value:.0f}", "tick")


def _axes(drawing: Drawing, across: str, upwards: str) -> None:
    drawing.line(LEFT, BOTTOM, RIGHT, BOTTOM, "axis")
    drawing.line(LEFT, TOP, LEFT, BOTTOM, "axis")
    drawing.text((LEFT + RIGHT) / 2, HEIGHT - 8, across)
    drawing.text(14, (TOP + BOTTOM) / 2, upwards, turn=-90)


def _legend(drawing: Drawing, names: Sequence[str]) -> None:
    for number, name in enumerate(names[:22]):
        across, down = RIGHT + 20, TOP + 8 + 16 * number
        drawing.mark(across, down, number, name)
        drawing.text(across + 12, down + 4, name if len(name) < 24 else name[:22] + "…", "tick", "start")


def _steps(low: float, high: float) -> list[float]:
    """Round shares between two: every 5 %, or every 10 % where that would be many."""
    step = 0.05 if high - low < 0.45 else 0.1
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 4) for number in range(first, math.floor(high / step + 1e-9) + 1)]
