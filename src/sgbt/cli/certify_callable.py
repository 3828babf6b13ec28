"""`sgbt certify --callable`: proofs about any function of texts, over encoded text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from sgbt.bridges.guarded import function_named
from sgbt.certify.black_box import EncodedSummary, certify_encoded, read_encoder
from sgbt.certify.black_box.certifying import cost_of
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen, counting
from sgbt.core.errors import CertificateError
from sgbt.data.table_files import chunks, format_of

console = Screen()


def certify_callable(
    name: str,
    file: Path,
    encoder: Path | None,
    reading: Reading,
    *,
    limit: int | None,
    max_substitutions: int | None,
    max_queries: int,
    fingerprint: str | None,
    out: Path | None,
    dry_run: bool,
) -> None:
    """Certify what a function says about the encoded texts of a file; the cost is shown before the first question."""
    if encoder is None:
        raise CertificateError(
            expected="an encoder that the function's model was trained with",
            got="none",
            where="--encoder",
            remedy="make one with: sgbt encode FILE --encoder encoder.json --out encoded.csv",
        )
    made = read_encoder(encoder)
    texts, labels = read_file(file, reading, limit)
    cost = cost_of(texts, made, max_substitutions=max_substitutions, max_queries=max_queries)
    console.print(
        f"{len(texts):,} texts: at most {cost.queries:,} queries; {cost.above:,} texts have more than {max_queries:,} "
        f"versions and are abstained from; the median text has {cost.median:,}",
    )
    if dry_run:
        return
    classify = function_named(name, where="--callable")
    with counting() as bars:
        task = bars.add_task("certifying", total=len(texts))
        rows = certify_encoded(
            classify,
            texts,
            made,
            labels=labels,
            max_substitutions=max_substitutions,
            max_queries=max_queries,
            fingerprint=fingerprint,
            out=out,
            listener=lambda done, of: bars.update(task, completed=done, total=of),
        )
    _show(EncodedSummary.of(rows), labelled=labels is not None)
    if out:
        console.print(f"rows in {out}")


def read_file(file: Path, reading: Reading, limit: int | None) -> tuple[list[str], list[int] | None]:
    """Texts, and labels as numbers: names are numbered in alphabetical order, as scikit-learn does."""
    texts: list[str] = []
    names: list[Any] = []
    for rows in chunks(file, format_of(file), reading.layout):
        texts += rows.texts(reading.text)
        if reading.label is not None or "label" in rows.columns:
            names += rows.column(reading.label or "label")
    if not names:
        return texts[:limit], None
    if all(str(name).isdecimal() for name in names):
        numbers = [int(name) for name in names]
    else:
        numbers = np.unique([str(name) for name in names], return_inverse=True)[1].tolist()
    return texts[:limit], numbers[:limit]


def _show(summary: EncodedSummary, *, labelled: bool) -> None:
    figures = Table("proven" if labelled else "of the function's own answers", "share", "count", "of", box=None)
    for name in ("clean", "certified", "broken", "abstained", "vacuous"):
        share = getattr(summary, name)
        figures.add_row(name, f"{100 * share.value:.2f} %", f"{share.count:,}", f"{share.total:,}")
    console.print(figures)
    each = summary.milliseconds / max(summary.clean.total, 1)
    console.print(f"{summary.queries:,} queries, {each:.1f} ms a text")
