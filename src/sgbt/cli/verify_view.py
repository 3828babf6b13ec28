"""What `sgbt verify` and `sgbt publish` make of their options, and the lines that say what was checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from sgbt.certify import Certificate, Verified
from sgbt.certify.rows.comparison import Sample
from sgbt.certify.rows.texts import KnownTexts
from sgbt.cli.reading import Reading
from sgbt.core.errors import CertificateError
from sgbt.core.shares import Share
from sgbt.models import TextClassifier

ALL = "all"


def sample_of(given: str) -> Sample:
    """The sample that the command line names: all, a number of rows, or a share of them."""
    if given == ALL:
        return None
    try:
        if given.isascii() and given.isdigit() and len(given) < 10 and int(given):
            return int(given)
        share = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise CertificateError(
            expected="all, a number of rows, or a share such as 0.1 or 10%", got=repr(given), where="--sample"
        )
    return share if share < 1 else None


def known_texts(
    path: Path | None,
    reading: Reading,
    run: Path,
    classifier: TextClassifier,
    split: str | None,
    *,
    data_home: Path | None,
) -> KnownTexts:
    """The texts that rows are about: those of a file, or those of the data that the run was trained on."""
    if path is not None:
        return KnownTexts.read(path)
    found = reading.texts(run, classifier, split, data_home=data_home)
    labels = None if found.labels is None else dict(enumerate(found.labels))
    return KnownTexts(dict(enumerate(found.texts)), labels)


def of_rows(known: KnownTexts, rows: Sequence[Certificate]) -> KnownTexts:
    """Only the texts that some row is about."""
    indices = [row.index for row in rows if row.index in known.texts]
    labels = None if known.labels is None else {index: known.labels[index] for index in indices}
    return KnownTexts({index: known.texts[index] for index in indices}, labels)


def show(found: Verified, console: Console) -> None:
    """What was checked, line by line."""
    what = "model, table, text, label" if found.labels else "model, table, text (labels are not known)"
    console.print(f"{what}: as the rows say, {found.rows:,} of {found.rows:,} rows")
    drawn = "" if found.seed is None else f", drawn by seed {found.seed}"
    console.print(f"proven again: {found.reproven:,} of {found.rows:,} rows{drawn}; none claims too much")
    notes = {
        "rows have a scale below 1: studies, which prove nothing about texts": found.studies,
        "rows say that nothing may be replaced, and are not certified": found.vacuous,
        "rows claim less than can be proven": found.weaker,
        "rows are of earlier versions, whose name of the model covers its weights alone": found.weights_alone,
        "of these state a smaller slack, another tier or a larger bound than is proven now": found.earlier,
    }
    for note, count in notes.items():
        if count:
            console.print(f"note: {count:,} {note}")
    if found.attack_rows:
        console.print(f"attack rows replayed: {found.attack_rows:,}, none contradicts")
    for each in found.attacked:
        shares = f"certified {_shown(each.certified)} <= robust {_shown(each.robust)} <= clean {_shown(each.clean)}"
        few = each.clean.total < each.certificates
        of = f", of {each.certificates:,} with certificates" if few else ""
        console.print(f"{each.method}: {shares} of {each.clean.total:,} texts{of}")
    for apart in found.apart:
        console.print(f"{apart.method}: {apart.rows:,} rows not compared: {apart.reason}")


def _shown(share: Share) -> str:
    return f"{share.value:.1%}"
