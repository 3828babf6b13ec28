"""What `sgbt certify` and `sgbt explain` make of their options, and the table of what certificates come to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from sgbt.certify import DEFAULT_TIERS, Certificate, certify
from sgbt.certify.edits import ThreatCertificate, ThreatSummary, certify_against
from sgbt.certify.oracle import Robust
from sgbt.certify.rows.summary import Summary
from sgbt.cli import options as opt
from sgbt.cli.class_view import show_classes
from sgbt.cli.progress import counting
from sgbt.core.by_class import ByClass
from sgbt.core.errors import CertificateError, DataError
from sgbt.core.registry import TIERS
from sgbt.core.shares import Share
from sgbt.data import Split
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable, Threat, parse_threat


def table_for(classifier: TextClassifier, name: str, *, vectors: str, data_home: Path | None) -> SubstitutionTable:
    """The table that the command line names; `model` is the one that the model was trained for."""
    table = classifier.table
    if name != "model":
        table = opt.table_of(name, partial(opt.vectors_of, vectors, data_home=data_home), data_home=data_home)
    if table is None:
        raise CertificateError(
            expected="a substitution table",
            got="none, and the model was trained without",
            remedy="name one with --substitutions, such as counter_fitted",
        )
    return table


def threat_for(classifier: TextClassifier, written: str, *, vectors: str, data_home: Path | None) -> Threat:
    """The threat that the command line names; the table `model` is the one that the model was trained for."""
    return parse_threat(written, lambda name: table_for(classifier, name, vectors=vectors, data_home=data_home))


def as_table(threat: Threat, max_substitutions: int | None) -> tuple[SubstitutionTable, int | None]:
    """A threat of substitutions alone as its table and the smallest of the budgets."""
    (edit,) = threat.edits
    assert edit.table is not None
    limits = [limit for limit in (edit.at_most, threat.total, max_substitutions) if limit is not None]
    return edit.table, min(limits, default=None)


def against_threat(
    classifier: TextClassifier, split: Split, threat: Threat, out: Path | None
) -> list[ThreatCertificate]:
    """A certificate against a threat for every text, with a bar."""
    with counting() as bars:
        task = bars.add_task("certifying", total=len(split))
        return certify_against(
            classifier, split, threat, out=out, listener=lambda done, of: bars.update(task, completed=done, total=of)
        )


def show_threat(proofs: list[ThreatCertificate], names: Sequence[str], about: str, console: Console) -> None:
    """What certificates against a threat come to."""
    summary = ThreatSummary.of(proofs)
    console.print(f"{about}; threat {summary.threat}", soft_wrap=True)
    figures = Table("accuracy", "share", "95 % interval", "count", "of", box=None, pad_edge=False)
    lines = [
        ("clean, of all texts", summary.clean),
        ("certified, of all texts", summary.certified),
        ("not proven, of all texts", summary.abstained),
    ]
    if summary.vacuous.count:
        lines.append(("right with nothing to edit, of all texts", summary.vacuous))
    for name, share in lines:
        low, high = share.interval
        span = f"{100 * low:.2f} to {100 * high:.2f}"
        figures.add_row(name, f"{100 * share.value:.2f} %", span, f"{share.count:,}", f"{share.total:,}")
    console.print(figures)
    console.print(f"{summary.milliseconds:.2f} ms a text; threat hash {proofs[0].threat_hash[:12]}", soft_wrap=True)
    answers = [(row.label, row.predicted) for row in proofs]
    show_classes(ByClass.of(names, answers, proven=[(row.label, row.certified) for row in proofs]), console)


def tiers_of(names: str) -> tuple[str, ...]:
    """The tiers that the command line names."""
    if names == "default":
        return DEFAULT_TIERS
    return tuple(TIERS) if names == "all" else tuple(name.strip() for name in names.split(","))


def numbered_as(classifier: TextClassifier, names: tuple[str, ...], split: Split) -> np.ndarray:
    """The split's labels numbered as the classifier numbers them."""
    unknown = [name for name in names if name not in classifier.label_names]
    if unknown:
        raise DataError(
            expected=f"the model's labels {', '.join(classifier.label_names)}",
            got=repr(unknown[0]),
            where="the data",
            remedy="name the label column with --label, or take data with the labels that the model was trained on",
        )
    places = np.array([classifier.label_names.index(name) for name in names], dtype=np.int64)
    labels: np.ndarray = places[split.labels]
    return labels


def split_named(splits: tuple[Split, ...], name: str) -> Split:
    """The split that the command line names; an empty one has nothing to certify."""
    names = ("train", "dev", "test")
    if name not in names:
        raise DataError(expected="one of train, dev, test", got=repr(name), where="--split")
    chosen = splits[names.index(name)]
    if not len(chosen):
        raise DataError(expected="texts to certify", got=f"an empty {name} split", where="--split")
    return chosen


def with_progress(
    classifier: TextClassifier,
    split: Split,
    table: SubstitutionTable,
    tiers: tuple[str, ...],
    max_substitutions: int | None,
    out: Path | None,
) -> list[Certificate]:
    """A certificate for every text, with a bar."""
    with counting() as bars:
        task = bars.add_task("certifying", total=len(split))
        return certify(
            classifier,
            split,
            table,
            tiers=tiers,
            max_substitutions=max_substitutions,
            out=out,
            listener=lambda done, of: bars.update(task, completed=done, total=of),
        )


def show(summary: Summary, robust: Robust | None, most: int, console: Console) -> None:
    """What the certificates come to, and what each tier took."""
    figures = Table("accuracy", "share", "95 % interval", "count", "of", box=None, pad_edge=False)
    lines: list[tuple[str, Share]] = [
        ("clean, of all texts", summary.clean),
        ("certified, of all texts", summary.certified),
        ("certified, of correct texts", summary.certified_of_correct),
        ("not proven, of all texts", summary.abstained),
    ]
    if summary.vacuous.count:
        lines.append(("right with nothing to replace, of all texts", summary.vacuous))
    if robust is not None:
        lines.append((f"robust by oracle, of texts with at most {most:,} variants", robust.share))
        lines.append(("certified, of the same texts", robust.certified))
        if robust.vacuous.count:
            lines.append(("right with nothing to replace, of the same texts", robust.vacuous))
    for name, share in lines:
        low, high = share.interval
        value = f"{100 * share.value:.2f} %" if share.total else "-"
        span = f"{100 * low:.2f} to {100 * high:.2f}" if share.total else "-"
        figures.add_row(name, value, span, f"{share.count:,}", f"{share.total:,}")
    console.print(figures)
    tiers = Table("tier", "tried", "certified", "median ms", "mean ms", box=None, pad_edge=False)
    for tier in summary.tiers:
        tiers.add_row(
            tier.name,
            f"{tier.tried:,}",
            f"{tier.certified:,}",
            f"{tier.median_milliseconds:.2f}",
            f"{tier.mean_milliseconds:.2f}",
        )
    console.print(tiers)
    cut = f"; {summary.truncated:,} texts are longer than the model reads" if summary.truncated else ""
    console.print(f"a margin counts above the rounding slack {summary.slack:.2g}{cut}", soft_wrap=True)
