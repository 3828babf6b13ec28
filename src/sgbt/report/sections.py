"""From run records to the sections of a report. Nothing else enters, so the same records give the same report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sgbt.attacks import AttackResult
from sgbt.attacks.result import SUCCESS
from sgbt.core.registry import TIERS
from sgbt.core.shares import Share
from sgbt.data import Tokenizer
from sgbt.evaluate import RunRecord
from sgbt.report.document import BrokenText, Figure, Fragment, ReportTable, Section
from sgbt.report.methods import (
    NONE,
    MethodRuns,
    attacks_in,
    by_model,
    comparisons,
    dev_accuracy,
    presets_in,
    share_figure,
    titled,
)
from sgbt.report.published import NOTE, TABLE_1

RESULTS_NOTE = (
    "In percent. Clean and certified accuracy are shares of all texts. Under each attack, robust is the share of all "
    "texts that were right and stayed right; AUA is the same number among the texts that were right to begin with, "
    "as the paper defines it, and can therefore exceed clean accuracy. Beside every figure stand its 95 % interval "
    "(Wilson) and its count, or for several seeds their standard deviation and each seed's count."
)

CLASS_NOTE = (
    "Of the first seed, in percent: of the texts of each class, those that are classified correctly and those that are "
    "certified; and of the texts that the model gives the class, those that have it."
)

Rows = list[tuple[MethodRuns, tuple[Figure, ...]]]
"""The rows of a table, each behind the method whose command makes it."""


def tables_of(
    methods: Sequence[MethodRuns], make: Callable[[list[MethodRuns]], tuple[Iterable[str], Rows]]
) -> tuple[ReportTable, ...]:
    """A table for each dataset, model and substitution table of which `make` has rows, under the columns it gives."""
    tables = []
    for title, group in titled(methods):
        columns, rows = make(group)
        if rows:
            figures, commands = tuple(row for _, row in rows), tuple(method.command for method, _ in rows)
            tables.append(ReportTable(title, tuple(columns), figures, commands=commands))
    return tuple(tables)


def results(methods: Sequence[MethodRuns]) -> Section:
    """The main tables."""

    def make(group: list[MethodRuns]) -> tuple[list[str], Rows]:
        under = [(attack, what) for attack in attacks_in(group) for what in ("robust", "aua")]
        columns = ["method", "seeds", "clean", "certified"]
        columns += [f"{attack} {'AUA' if what == 'aua' else what}" for attack, what in under]
        rows: Rows = []
        for method in group:
            about = Figure(method.label), Figure(str(len(method.records)))
            shares = (method.figure(what, attack) for attack, what in under)
            rows.append((method, (*about, method.figure("clean"), method.figure("certified"), *shares)))
        return columns, rows

    warnings = (f" Warning: {warning}." for method in methods for warning in method.warnings)
    return Section("Accuracy, robustness, proofs", RESULTS_NOTE + "".join(warnings), tables_of(methods, make))


def beside_the_paper(methods: Sequence[MethodRuns]) -> Section:
    """Our figures beside those that the paper prints."""

    def make(group: list[MethodRuns]) -> tuple[list[str], Rows]:
        presets, first = presets_in(group), group[0].first
        columns = ["method", "clean, quoted", "clean, ours"]
        for attack in presets:
            columns += [f"{attack.partition(':')[0]} AUA, quoted", f"{attack} AUA, ours", f"{attack} robust, ours"]
        rows: Rows = []
        quoted = TABLE_1.get((first.texts, first.model), {})
        for method in group:
            if method.label in quoted:
                clean, *aua = quoted[method.label]
                row = [Figure(method.label), _quoted(clean), method.figure("clean")]
                for attack, figure in zip(presets, aua, strict=True):
                    row += [_quoted(figure), method.figure("aua", attack), method.figure("robust", attack)]
                rows.append((method, tuple(row)))
        return columns, rows

    return Section("Beside the paper's Table 1", NOTE, tables_of(methods, make))


def attack_details(methods: Sequence[MethodRuns]) -> Section:
    """What attacks cost and did."""

    def row(method: MethodRuns, attack: str) -> tuple[Figure, ...]:
        figures = (
            method.mean(lambda run, name=name: run.attacks.get(attack, {}).get(name), form)  # type: ignore[misc]
            for name, form in (("queries", "{:,.0f}"), ("words_changed", "{:.1%}"), ("seconds", "{:.3g}"))
        )
        return Figure(method.label), Figure(attack), method.figure("success", attack), *figures

    columns = ("method", "attack", "success rate", "queries", "words changed", "seconds")
    tables = tables_of(
        methods,
        lambda group: (columns, [(each, row(each, attack)) for each in group for attack in attacks_in([each])]),
    )
    note = (
        "Success rate in percent of the texts that were right. Queries and seconds per attacked text; words changed "
        "in percent of the words of a broken text."
    )
    return Section("What the attacks did", note, tables)


def costs(methods: Sequence[MethodRuns]) -> Section:
    """Seconds per epoch and milliseconds per certificate."""
    rows = []
    for method in methods:
        record = method.first
        tiers = record.metrics.get("certified_tiers", {})
        spent = "; ".join(f"{name} {tiers[name]['median_milliseconds']:.2f}" for name in TIERS if name in tiers)
        rows.append(
            (
                Figure(record.texts),
                Figure(record.model),
                Figure(method.label),
                method.mean(lambda run: run.metrics.get("epochs"), "{:.0f}"),
                method.mean(lambda run: run.metrics.get("seconds_per_epoch"), "{:,.1f}"),
                method.mean(lambda run: run.metrics.get("certified_milliseconds"), "{:,.2f}"),
                Figure(spent or "-"),
            )
        )
    columns = ("dataset", "model", "method", "epochs", "seconds per epoch", "ms per certificate", "median ms by tier")
    note = "On one core of the machine that ran the benchmark, with whatever else it was doing."
    table = ReportTable("Costs", columns, tuple(rows), commands=_commands(methods))
    return Section("What it costs", note, (table,) if rows else ())


def pairs(methods: Sequence[MethodRuns], wanted: Sequence[tuple[str, str]]) -> Section:
    """Paired tests between methods."""
    rows: list[tuple[Figure, ...]] = []
    commands: list[str] = []
    for (dataset, model, _), group in by_model(methods).items():
        for pair in wanted:
            for found in comparisons(group, pair):
                result = found.result
                matched = f"dev {100 * dev_accuracy(found.first):.1f} and {100 * dev_accuracy(found.second):.1f}"
                rows.append(
                    (
                        Figure(dataset),
                        Figure(model),
                        Figure(f"{found.first.label} against {found.second.label}", matched),
                        Figure(found.metric),
                        Figure(f"{100 * result.difference:+.2f}"),
                        Figure(f"{result.only_first:,}"),
                        Figure(f"{result.only_second:,}"),
                        Figure(f"{result.texts:,} x {result.seeds}"),
                        Figure(f"{result.p_value:.2g}"),
                    )
                )
                commands.append(f"{found.first.command} && {found.second.command}")
    columns = (
        "dataset", "model", "methods", "outcome", "points", "only first", "only second", "texts x seeds", "p-value",
    )  # fmt: skip
    note = (
        "Points are the difference of the shares in percent. The p-value is that of the exact sign-flip test over "
        "texts (with one seed, McNemar's exact test), not corrected for the number of tests. Where several methods "
        "could be the second, the one with the nearest clean accuracy on dev was taken."
    )
    table = ReportTable("Paired tests", columns, tuple(rows), commands=tuple(commands))
    return Section("Do the methods differ?", note, (table,) if rows else ())


def budgets(methods: Sequence[MethodRuns]) -> Section:
    """Certified accuracy by the number of words that may be replaced."""

    def make(group: list[MethodRuns]) -> tuple[list[str], Rows]:
        own = [method for method in group if "certified_by_budget" in method.first.metrics]
        steps = sorted(own[0].first.metrics["certified_by_budget"], key=int) if own else []
        columns = ["method", *(f"n = {step}" for step in steps), "any"]
        return columns, [
            (each, (Figure(each.label), *(_at_budget(each, step) for step in steps), each.figure("certified")))
            for each in own
        ]

    note = (
        "The share of all texts, in percent, that is proven to stay right while at most n words are replaced at "
        "once; n = 0 is clean accuracy on the certified texts. A lower bound, from the radius that each certificate "
        "states."
    )
    return Section("Certified accuracy by budget", note, tables_of(methods, make))


def weakest(methods: Sequence[MethodRuns]) -> Section:
    """The swaps that broke most texts."""

    def row(method: MethodRuns) -> tuple[Figure, ...]:
        shown = "; ".join(f"{old} → {new} ({count})" for old, new, count in method.first.weakest[:12])
        return Figure(method.label), Figure(shown)

    columns = ("method", "swap (broken texts)")
    tables = tables_of(methods, lambda group: (columns, [(each, row(each)) for each in group if each.first.weakest]))
    note = "Of the first seed, all attacks together: the swaps that took part in the most broken texts."
    return Section("The weakest words", note, tables)


def classes(methods: Sequence[MethodRuns]) -> Section:
    """A row for each method and class."""

    def rows(method: MethodRuns) -> Rows:
        found = method.first.by_class
        return [
            (
                method,
                (
                    Figure(method.label),
                    Figure(each.name),
                    Figure(f"{each.recall.total:,}"),
                    *map(_figure, (each.recall, each.precision, each.certified)),
                ),
            )
            for each in (found.classes if found else ())
        ]

    columns = ("method", "class", "texts", "right", "right among its answers", "certified")
    tables = tables_of(methods, lambda group: (columns, [row for method in group for row in rows(method)]))
    return Section("Class by class", CLASS_NOTE, tables, folded=True)


def _figure(share: Share | None) -> Figure:
    return share_figure([share]) if share is not None and share.total else NONE


def _at_budget(method: MethodRuns, step: str) -> Figure:
    def share(record: RunRecord) -> float | None:
        counts = record.metrics.get("certified_by_budget", {})
        total = record.metrics.get("certified_total")
        return 100 * counts[step] / total if total and step in counts else None

    return method.mean(share, "{:.1f}")


def _quoted(value: float) -> Figure:
    return Figure(f"{value:.1f}", quoted=True)


def _commands(methods: Sequence[MethodRuns]) -> tuple[str, ...]:
    return tuple(method.command for method in methods)


AROUND = 25
"""Words that are shown on either side of the changes."""


def examples_of(results: Sequence[AttackResult], name: str, labels: Sequence[str], most: int = 2) -> list[BrokenText]:
    """The broken texts with the fewest changes, each text once."""
    broken = sorted(
        (result for result in results if result.status == SUCCESS), key=lambda each: (len(each.swaps), each.index)
    )
    chosen: dict[int, AttackResult] = {}
    for result in broken:
        if len(chosen) < most:
            chosen.setdefault(result.index, result)
    return [example_of(result, name, labels) for result in chosen.values()]


def example_of(result: AttackResult, name: str, labels: Sequence[str]) -> BrokenText:
    """One broken text, from some words before its first change to some after its last."""
    tokens = Tokenizer().tokenize(result.original)
    new = {swap.position: swap.new for swap in result.swaps}
    first, last = max(min(new) - AROUND, 0), min(max(new) + AROUND, len(tokens) - 1)
    pieces = [Fragment("… ")] if first else []
    position = tokens.starts[first]
    for place in sorted(new):
        pieces.append(Fragment(result.original[position : tokens.starts[place]]))
        pieces.append(Fragment(result.original[tokens.starts[place] : tokens.ends[place]], new[place]))
        position = tokens.ends[place]
    pieces.append(Fragment(result.original[position : tokens.ends[last]]))
    pieces += [Fragment(" …")] if last < len(tokens) - 1 else []
    title = f"{name}, {result.method}, text {result.index}: {len(result.swaps)} of {result.words} words"
    return BrokenText(
        title, _label(labels, result.label), _label(labels, result.after), tuple(p for p in pieces if p.text)
    )


def _label(labels: Sequence[str], number: int) -> str:
    return labels[number] if number < len(labels) else str(number)
