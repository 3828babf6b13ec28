"""A report as Markdown: its tables and notes, with the command beside every row."""

from __future__ import annotations

from sgbt.report.document import Document, Figure, Table


def to_markdown(document: Document) -> str:
    """The tables of a report; charts and examples are left to the page."""
    parts = [f"# {document.title}", document.note]
    for section in document.sections:
        if section.tables:
            parts += [f"## {section.title}", section.note]
            parts += [_table(table) for table in section.tables]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(table: Table) -> str:
    columns = [*table.columns, *(["command"] if table.commands else [])]
    lines = [f"### {table.title}\n", _row(columns), _row(["---"] * len(columns))]
    for place, row in enumerate(table.rows):
        cells = [_cell(figure) for figure in row]
        if table.commands:
            cells.append(f"`{table.commands[place]}`")
        lines.append(_row(cells))
    return "\n".join(lines)


def _cell(figure: Figure) -> str:
    text = figure.text.replace("|", "\\|")
    if figure.quoted:
        return f"*{text}*"
    return f"{text} ({figure.note})" if figure.note else text


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
