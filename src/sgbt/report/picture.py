"""A chart as a file of its own, for pages that are not ours: SVG with the report's colours inside."""

from __future__ import annotations

from importlib import resources


def picture(chart: str) -> str:
    """The chart of a report (`sgbt.report.charts`) as a whole SVG document, in light and in dark."""
    style = (resources.files("sgbt.report") / "style.css").read_text(encoding="utf-8")
    colours = style[: style.index("* {")]
    shapes = "".join(f"{line}\n" for line in style.splitlines() if line.startswith("svg "))
    paper = '<rect width="100%" height="100%" fill="var(--card)"/>'
    start, rest = chart.split(">", 1)
    named = start.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"{named}>\n<style>\n{colours}{shapes}</style>\n{paper}{rest}\n"
