"""A report as Markdown, as LaTeX tables (which need the package booktabs), its records as CSV, and as one HTML file.

The HTML needs nothing else: no network, no script, light or dark as the reader's system is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from sgbt.evaluate import RunRecord
from sgbt.report.document import BrokenText, Chart, Document, Figure, ReportTable, Section


def to_markdown(document: Document) -> str:
    """The tables of a report; charts and examples are left to the page."""
    parts = [f"# {document.title}", document.note]
    for section in document.sections:
        if section.tables:
            parts += [f"## {section.title}", section.note]
            parts += [_markdown_table(table) for table in section.tables]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_table(table: ReportTable) -> str:
    columns = [*table.columns, *(["command"] if table.commands else [])]
    lines = [f"### {table.title}\n", _markdown_row(columns), _markdown_row(["---"] * len(columns))]
    for place, row in enumerate(table.rows):
        cells = [_markdown_cell(figure) for figure in row]
        if table.commands:
            cells.append(f"`{table.commands[place]}`")
        lines.append(_markdown_row(cells))
    return "\n".join(lines)


def _markdown_cell(figure: Figure) -> str:
    text = figure.text.replace("|", "\\|")
    if figure.quoted:
        return f"*{text}*"
    return f"{text} ({figure.note})" if figure.note else text


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "→": r"$\to$", "…": r"\dots{}",
}  # fmt: skip


def to_latex(document: Document) -> str:
    """One table environment for each table, figures without their notes; the commands stand in comments."""
    parts = [f"% {document.title}"]
    for section in document.sections:
        parts += [_latex_table(table, section.title) for table in section.tables]
    return "\n\n".join(parts) + "\n"


def _latex_table(table: ReportTable, section: str) -> str:
    lines = [f"% {command}" for command in table.commands]
    lines += [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{_latex_escaped(f'{section}: {table.title}')}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        r"\toprule",
        _latex_row([_latex_escaped(column) for column in table.columns]),
        r"\midrule",
        *(_latex_row([_latex_cell(figure) for figure in row]) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _latex_cell(figure: Figure) -> str:
    text = _latex_escaped(figure.text)
    return rf"\emph{{{text}}}" if figure.quoted else text


def _latex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_escaped(text: str) -> str:
    return "".join(SIGNS.get(sign, sign) for sign in text)


COLUMNS = (
    "grid", "dataset", "model", "method", "substitutions", "seed", "attack", "metric", "value", "count", "total",
    "low", "high", "command",
)  # fmt: skip
ATTACK_SHARES = ("robust", "aua", "success")
MEANS = ("queries", "words_changed", "seconds")


def to_csv(records: Sequence[RunRecord]) -> str:
    """The rows of all records, with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        about = (record.grid, record.texts, record.model, record.label, record.substitutions["name"], record.seed)
        writer.writerows((*about, *figures, record.command) for figures in _figures(record))
    return out.getvalue()


def _figures(record: RunRecord) -> Iterator[tuple[object, ...]]:
    for name in ("clean", "certified", "vacuous"):
        yield from _share(record, name, None)
    for attack in sorted(record.attacks):
        for name in ATTACK_SHARES:
            yield from _share(record, name, attack)
        figures = record.attacks[attack]
        for name in MEANS:
            if figures.get(name) is not None:
                low, high = figures[f"{name}_interval"] or ("", "")
                yield attack, name, figures[name], "", figures[f"{name}_total"], low, high
    for name in ("seconds_per_epoch", "certified_milliseconds"):
        if record.metrics.get(name) is not None:
            low, high = record.metrics[f"{name}_interval"] or ("", "")
            yield "", name, record.metrics[name], "", record.metrics[f"{name}_total"], low, high


def _share(record: RunRecord, name: str, attack: str | None) -> Iterator[tuple[object, ...]]:
    share = record.share(name, attack)
    if share is not None and share.total:
        yield attack or "", name, share.value, share.count, share.total, *share.interval


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
