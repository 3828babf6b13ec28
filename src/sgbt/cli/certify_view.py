"""What certificates come to, printed; and what a model does with each class, with a warning about odd answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgbt.certify import DEFAULT_TIERS, certify
from sgbt.certify.edits import ThreatSummary, certify_against
from sgbt.certify.oracle import Robust, robust_by_oracle
from sgbt.certify.rows.summary import Summary, by_class
from sgbt.cli.reading import Texts
from sgbt.cli.screen import counting
from sgbt.core.registry import TIERS
from sgbt.core.shares import ByClass, OneClass, Share
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable, Threat

_PLAIN: dict[str, Any] = {"box": None, "pad_edge": False}
MOST = 20
"""So many classes are shown; of more, those with the most texts."""


def against_substitutions(
    classifier: TextClassifier,
    chosen: Texts,
    table: SubstitutionTable,
    tiers: str,
    max_substitutions: int | None,
    oracle: int,
    out: Path | None,
    run: str,
    console: Console,
) -> None:
    """A certificate for every text, with a bar, and what they come to; `oracle` bounds what is enumerated."""
    with counting() as bars:
        task = bars.add_task("certifying", total=len(chosen))
        proofs = certify(
            classifier,
            chosen.texts,
            table,
            labels=chosen.labels,
            tiers=tiers_of(tiers),
            max_substitutions=max_substitutions,
            out=out,
            listener=lambda done, of: bars.update(task, completed=done, total=of),
        )
    console.print(f"{run}: {len(chosen):,} texts of {chosen.source}; {table!r}")
    if max_substitutions is not None:
        console.print(f"at most {max_substitutions} words replaced at once")
    robust = robust_by_oracle(classifier, chosen.texts, proofs, table, most=oracle) if oracle else None
    labelled = chosen.labels is not None
    show(Summary.of(proofs), robust, oracle, console, labelled=labelled)
    show_classes(by_class(proofs, classifier.label_names, labelled=labelled), console)


def tiers_of(names: str) -> tuple[str, ...]:
    """The tiers that a list on the command line names."""
    named = {"default": DEFAULT_TIERS, "all": tuple(TIERS)}
    return named.get(names) or tuple(name.strip() for name in names.split(","))


def against_threat(
    classifier: TextClassifier, chosen: Texts, threat: Threat, out: Path | None, about: str, console: Console
) -> None:
    """A certificate against a threat for every text, with a bar, and what they come to."""
    with counting() as bars:
        task = bars.add_task("certifying", total=len(chosen))
        proofs = certify_against(
            classifier,
            chosen.texts,
            threat,
            labels=chosen.labels,
            out=out,
            listener=lambda done, of: bars.update(task, completed=done, total=of),
        )
    summary = ThreatSummary.of(proofs)
    console.print(f"{about}; threat {summary.threat}", soft_wrap=True)
    labelled = chosen.labels is not None
    figures = Table("accuracy" if labelled else "texts", "share", "95 % interval", "count", "of", **_PLAIN)
    lines = {"clean, of all texts": summary.clean} if labelled else {}
    lines |= {"certified, of all texts": summary.certified, "not proven, of all texts": summary.abstained}
    if summary.vacuous.count:
        lines[f"{'right with ' if labelled else ''}nothing to edit, of all texts"] = summary.vacuous
    for name, share in lines.items():
        _add_share(figures, name, share)
    console.print(figures)
    console.print(f"{summary.milliseconds:.2f} ms a text; threat hash {proofs[0].threat_hash[:12]}", soft_wrap=True)
    show_classes(
        ByClass.of(
            classifier.label_names,
            [(row.label, row.predicted) for row in proofs],
            proven=[(row.label, row.certified) for row in proofs],
            labelled=labelled,
        ),
        console,
    )


def _add_share(figures: Table, name: str, share: Share) -> None:
    low, high = share.interval
    value = f"{100 * share.value:.2f} %" if share.total else "-"
    span = f"{100 * low:.2f} to {100 * high:.2f}" if share.total else "-"
    figures.add_row(name, value, span, f"{share.count:,}", f"{share.total:,}")


def show(summary: Summary, robust: Robust | None, most: int, console: Console, *, labelled: bool = True) -> None:
    """What the certificates come to, and what each tier took. Without labels, the model's own answers are defended."""
    figures = Table("accuracy" if labelled else "texts", "share", "95 % interval", "count", "of", **_PLAIN)
    lines = {"clean, of all texts": summary.clean} if labelled else {}
    lines["certified, of all texts"] = summary.certified
    if labelled:
        lines["certified, of correct texts"] = summary.certified_of_correct
    lines["not proven, of all texts"] = summary.abstained
    right = "right with nothing to replace" if labelled else "nothing to replace"
    if summary.vacuous.count:
        lines[f"{right}, of all texts"] = summary.vacuous
    if robust is not None:
        lines[f"robust by oracle, of texts with at most {most:,} variants"] = robust.share
        lines["certified, of the same texts"] = robust.certified
        if robust.vacuous.count:
            lines[f"{right}, of the same texts"] = robust.vacuous
    for name, share in lines.items():
        _add_share(figures, name, share)
    console.print(figures)
    tiers = Table("tier", "tried", "certified", "median ms", "mean ms", **_PLAIN)
    for tier in summary.tiers:
        times = (f"{spent:.2f}" for spent in (tier.median_milliseconds, tier.mean_milliseconds))
        tiers.add_row(tier.name, f"{tier.tried:,}", f"{tier.certified:,}", *times)
    console.print(tiers)
    cut = f"; {summary.truncated:,} texts are longer than the model reads" if summary.truncated else ""
    console.print(f"a margin counts above the rounding slack {summary.slack:.2g}{cut}")


def show_classes(found: ByClass, console: Console) -> None:
    """A line for each class; then the warning, if there is one."""
    columns: dict[str, Callable[[OneClass], str]] = {
        "texts": lambda each: f"{each.recall.total:,}",
        "right": lambda each: _of(each.recall),
        "answers": lambda each: f"{each.precision.total:,}",
        "right among answers": lambda each: _of(each.precision),
    }
    if not found.labelled:
        columns = {"answers": columns["answers"]}
    if any(each.certified is not None for each in found.classes):
        columns["certified"] = lambda each: _of(each.certified or Share(0, 0))
    table = Table("class", *columns, **_PLAIN)
    shown = sorted(found.classes, key=lambda each: -each.recall.total)[:MOST]
    for each in found.classes:
        if each in shown:
            table.add_row(Text(each.name), *(cell(each) for cell in columns.values()))
    console.print(table)
    if len(found.classes) > MOST:
        console.print(f"and {len(found.classes) - MOST:,} classes with fewer texts")
    show_warning(found, console)


def show_warning(found: ByClass, console: Console, about: str = "") -> None:
    """The warning alone; `about` says which model it is about."""
    if found.warning:
        console.print(Text(f"warning: {about}{found.warning}", style="bold red"), soft_wrap=True)


def _of(share: Share) -> str:
    return f"{share.value:.1%}, {share.count:,} of {share.total:,}" if share.total else "-"
