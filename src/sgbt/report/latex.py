"""A report's tables as LaTeX, ready to be included; they need the package booktabs."""

from __future__ import annotations

from sgbt.report.document import Document, Figure, Table

SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "→": r"$\to$", "…": r"\dots{}",
}  # fmt: skip


def to_latex(document: Document) -> str:
    """One table environment for each table, figures without their notes; the commands stand in comments."""
    parts = [f"% {document.title}"]
    for section in document.sections:
        parts += [_table(table, section.title) for table in section.tables]
    return "\n\n".join(parts) + "\n"


def _table(table: Table, section: str) -> str:
    lines = [f"% {command}" for command in table.commands]
    lines += [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{_escaped(f'{section}: {table.title}')}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        r"\toprule",
        _row([_escaped(column) for column in table.columns]),
        r"\midrule",
        *(_row([_cell(figure) for figure in row]) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _cell(figure: Figure) -> str:
    text = _escaped(figure.text)
    return rf"\emph{{{text}}}" if figure.quoted else text


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(SIGNS.get(sign, sign) for sign in text)
