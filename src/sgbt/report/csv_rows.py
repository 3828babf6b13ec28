"""Every figure of every run as one row of CSV: value, count, denominator, interval, and the command that makes it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from sgbt.evaluate import RunRecord

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
