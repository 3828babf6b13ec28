"""Report: a benchmark's folder, its records, or a single run turned into a document that can be saved in four
formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sgbt.core.errors import EvaluationError
from sgbt.core.files import atomic_write
from sgbt.evaluate import RunRecord, Store, gather, read_records
from sgbt.evaluate.gather import attacks_of, label_names_of
from sgbt.evaluate.plan import Plan
from sgbt.report import drawn, sections
from sgbt.report.document import BrokenText, Document, Section
from sgbt.report.formats import to_csv, to_latex, to_markdown
from sgbt.report.html import to_html
from sgbt.report.identities import identities
from sgbt.report.methods import methods_of
from sgbt.report.sections import classes, examples_of
from sgbt.report.threats import threats

FORMATS = (".html", ".md", ".tex", ".csv")


@dataclass(frozen=True)
class Report:
    """A document and the records it was made from."""

    document: Document
    records: tuple[RunRecord, ...]

    def save(self, path: str | Path) -> Path:
        """Write the report in the format that the name's ending says: .html, .md, .tex or .csv."""
        path = Path(path)
        if path.suffix not in FORMATS:
            raise EvaluationError(
                expected=f"a file name that ends in {', '.join(FORMATS)}", got=path.name, where="the report"
            )
        with atomic_write(path) as stream:
            stream.write(self.text(path.suffix).encode())
        return path

    def text(self, suffix: str) -> str:
        """The report in one format."""
        if suffix == ".csv":
            return to_csv(self.records)
        return {".html": to_html, ".md": to_markdown, ".tex": to_latex}[suffix](self.document)


def report_of_folder(folder: str | Path) -> Report:
    """The report of a benchmark's folder, from its rows; where only `records.jsonl` is there, from that, without
    examples."""
    store = Store(folder)
    if not store.folder.is_dir():
        raise EvaluationError(
            expected="the folder of a benchmark", got="nothing there", where=str(folder), remedy="run sgbt bench first"
        )
    plan = Plan.load(store.folder)
    records = gather(store) if any(store.folder.glob("units/*/result.json")) else read_records(store.folder)
    if not records:
        raise EvaluationError(
            expected="finished runs", got="none yet", where=str(folder), remedy="wait for sgbt bench to train a model"
        )
    pairs = [(pair[0], pair[1]) for about in plan.grids.values() for pair in about["pairs"]]
    titles = [str(about["title"]) for about in plan.grids.values()]
    return report_of_records(records, title="; ".join(titles) or None, pairs=pairs, examples=_examples(records, store))


def report_of_records(
    records: Sequence[RunRecord],
    *,
    title: str | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    examples: Sequence[BrokenText] = (),
) -> Report:
    """The report of some records."""
    methods = methods_of(records)
    budget = sections.budgets(methods)
    found = [
        sections.results(methods),
        drawn.trade_off(methods),
        sections.beside_the_paper(methods),
        drawn.penalties(methods),
        sections.pairs(methods, list(dict.fromkeys(pairs))),
        Section(budget.title, budget.note, budget.tables, tuple(drawn.by_budget(methods))),
        Section(
            "Texts that were broken",
            "Those with the fewest changes: the word that was there, and the one that an attack put in its place.",
            examples=tuple(examples),
        ),
        *(each for each in [threats(methods)] if each.tables),
        classes(methods),
        sections.weakest(methods),
        sections.attack_details(methods),
        sections.costs(methods),
        identities(records),
        drawn.training_curves(methods),
    ]
    document = Document(
        title=title or ", ".join(dict.fromkeys(record.grid for record in records)),
        note=_about(records),
        sections=tuple(section for section in found if not section.empty),
    )
    return Report(document, tuple(records))


def _about(records: Sequence[RunRecord]) -> str:
    commits = ", ".join(dict.fromkeys(record.commit[:12] for record in records if record.commit))
    return (
        f"{len(records)} runs of sgbt{f' at {commits}' if commits else ''}. With every row goes the command that makes "
        "its figures; sgbt report makes this report again, bit for bit, from the rows of the benchmark."
    )


def _examples(records: Sequence[RunRecord], store: Store) -> list[BrokenText]:
    """A few broken texts of every model's first seed."""
    found: list[BrokenText] = []
    seen = set()
    for record in records:
        if record.method in seen:
            continue
        seen.add(record.method)
        results = [
            result
            for role, key in sorted(record.units.items())
            if role.startswith("attack ") and store.finished(key)
            for result in attacks_of(store, key)
        ]
        if results:
            found += examples_of(results, record.name, label_names_of(store, record.units["train"]))
    return found
