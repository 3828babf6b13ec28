"""A report as Markdown, as LaTeX tables (which need the package booktabs), and its records as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from sgbt.evaluate import RunRecord
from sgbt.report.document import Document, Figure, ReportTable


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
