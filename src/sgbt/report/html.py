"""A report as one HTML file that needs nothing else: no network, no script, light or dark as the reader's system is."""

from __future__ import annotations

import re
from html import escape
from importlib import resources

from sgbt.report.document import BrokenText, Chart, Document, Figure, ReportTable, Section


def to_html(document: Document) -> str:
    """The page."""
    style = (resources.files("sgbt.report") / "style.css").read_text(encoding="utf-8")
    links = "".join(f'<a href="#{_anchor(section)}">{escape(section.title)}</a>' for section in document.sections)
    body = "\n".join(_section(section) for section in document.sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(document.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(document.title)}</h1>\n<p class="note">{escape(document.note)}</p>\n<nav>{links}</nav>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    )


EXAMPLES = 3
"""Texts that are shown at once; the others unfold."""


def _section(section: Section) -> str:
    inside = "\n".join(
        [
            *(_table(table) for table in section.tables),
            _charts(section.charts),
            *(_example(example) for example in section.examples[:EXAMPLES]),
        ]
    )
    if more := [_example(example) for example in section.examples[EXAMPLES:]]:
        inside += f"\n<details><summary>{len(more)} more</summary>\n{chr(10).join(more)}\n</details>"
    if section.folded:
        inside = f"<details><summary>show</summary>\n{inside}\n</details>"
    note = f'<p class="note">{escape(section.note)}</p>' if section.note else ""
    return f'<section id="{_anchor(section)}">\n<h2>{escape(section.title)}</h2>\n{note}\n{inside}\n</section>'


def _table(table: ReportTable) -> str:
    words = [_is_words(figure) for figure in table.rows[0]] if table.rows else [False] * len(table.columns)
    head = "".join(
        f"<th{' class=words' if left else ''}>{escape(column)}</th>"
        for column, left in zip(table.columns, words, strict=True)
    )
    rows = []
    for place, row in enumerate(table.rows):
        hover = f' title="{escape(table.commands[place])}"' if table.commands else ""
        rows.append(f"<tr{hover}>{''.join(_cell(figure) for figure in row)}</tr>")
    return (
        f'<h3>{escape(table.title)}</h3>\n<div class="scroll"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{chr(10).join(rows)}\n</tbody></table></div>\n{_commands(table)}"
    )


def _commands(table: ReportTable) -> str:
    """What makes the rows, each command once; a row shows its own when it is pointed at."""
    if not table.commands:
        return ""
    shown = "\n".join(escape(command) for command in dict.fromkeys(table.commands))
    return f"<details><summary>commands that make these figures</summary><pre>{shown}</pre></details>"


def _cell(figure: Figure) -> str:
    kinds = [
        *(["quoted"] if figure.quoted else []),
        *(["words"] if _is_words(figure) else []),
        *(["wide"] if len(figure.text) > 48 else []),
    ]
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    note = "<small>" + escape(figure.note).replace(", ", "<br>", 1) + "</small>" if figure.note else ""
    return f"<td{kind}>{escape(figure.text)}{note}</td>"


def _is_words(figure: Figure) -> bool:
    return re.match(r"[-+\d]|$", figure.text) is None


def _charts(charts: tuple[Chart, ...]) -> str:
    if not charts:
        return ""
    drawn = "\n".join(
        f"<figure><figcaption>{escape(chart.title)} <small>{escape(chart.note)}</small></figcaption>"
        f"{chart.svg}</figure>"
        for chart in charts
    )
    return f'<div class="charts">\n{drawn}\n</div>'


def _example(example: BrokenText) -> str:
    text = "".join(
        escape(piece.text) if piece.new is None else f"<del>{escape(piece.text)}</del> <ins>{escape(piece.new)}</ins>"
        for piece in example.pieces
    )
    header = f"<b>{escape(example.before)} → {escape(example.after)}</b> · {escape(example.title)}"
    return f"<blockquote><header>{header}</header>{text}</blockquote>"


def _anchor(section: Section) -> str:
    return re.sub(r"[^a-z]+", "-", section.title.lower()).strip("-")
