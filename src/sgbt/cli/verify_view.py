"""What `sgbt verify` and `sgbt publish` make of their options, and the lines that say what was checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from sgbt.attacks import AttackResult
from sgbt.attacks import read_rows as read_attacks
from sgbt.certify import Certificate, Verified, read_rows
from sgbt.certify.edits import ThreatCertificate
from sgbt.certify.rows import kind_in
from sgbt.certify.rows.comparison import Sample
from sgbt.certify.rows.file import KnownTexts
from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.core.errors import CertificateError
from sgbt.core.shares import Share
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable, Threat

ALL = "all"
Rows = Sequence[Any]
"""Certificates of one kind."""


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


def rows_of(path: Path, attacks: Sequence[Path] | None) -> tuple[Rows, list[AttackResult]]:
    """The certificates of a file, of whichever kind, and the rows of attacks on the same texts."""
    return read_rows(path, kind_in(path)), [row for each in attacks or () for row in read_attacks(each)]


def named(against: Any) -> str:
    """What rows are certificates against, in words."""
    if isinstance(against, Threat):
        return f"threat {against.name}"
    return repr(against) if isinstance(against, SubstitutionTable) else f"encoder {against.hash[:12]}"


def against(
    rows: Rows, classifier: TextClassifier, substitutions: str, threat: str | None, **where: Any
) -> SubstitutionTable | Threat:
    """What the rows are certificates against: the table named, or the threat, which rows name themselves."""
    if isinstance(rows[0], ThreatCertificate):
        return opt.threat_for(classifier, threat or rows[0].threat, **where)
    if not isinstance(rows[0], Certificate):
        raise CertificateError(
            expected="certificates of a model",
            got=f"some of kind {rows[0].kind!r}",
            where="--model",
            remedy="rows of a callable are verified with --callable and --encoder, rows of samples by certify_smoothed",
        )
    if threat is not None:
        raise CertificateError(
            expected="certificates against a threat",
            got="some of substitutions",
            where="--threat",
            remedy="name their table with --substitutions",
        )
    return opt.table_for(classifier, substitutions, **where)


def callable_and_encoder(name: str, encoder: Path | None, fingerprint: str | None) -> tuple[Any, Any]:
    """The function of --callable, called as rows call it, and its encoder."""
    from sgbt.attacks.victim import CallableVictim
    from sgbt.bridges.guarded import function_named
    from sgbt.certify.black_box import read_encoder

    if encoder is None:
        raise CertificateError(
            expected="an encoder, the one that the rows were made with",
            got="none",
            where="--encoder",
            remedy="name its file",
        )
    made = read_encoder(encoder)
    return CallableVictim(function_named(name, where="--callable"), made.tokenizer, fingerprint=fingerprint), made


def texts_of_callable(path: Path | None, reading: Reading) -> KnownTexts:
    """The texts that rows of a callable are about: those of --texts, or of the file that was certified."""
    from sgbt.cli.certify_callable import read_file

    if path is not None:
        return KnownTexts.read(path)
    if not reading.data:
        raise CertificateError(
            expected="the texts of the rows", got="none", where="--data", remedy="give the file that was certified"
        )
    texts, labels = read_file(Path(reading.data), reading, None)
    return KnownTexts(dict(enumerate(texts)), None if labels is None else dict(enumerate(labels)))


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


def of_rows(known: KnownTexts, rows: Rows) -> KnownTexts:
    """Only the texts that some row is about."""
    indices = [row.index for row in rows if row.index in known.texts]
    labels = None if known.labels is None else {index: known.labels[index] for index in indices}
    return KnownTexts({index: known.texts[index] for index in indices}, labels)


def show(found: Verified, console: Console) -> None:
    """What was checked, line by line."""
    what = f"{found.subject}, text{', label' if found.labels else ' (labels are not known)'}"
    console.print(f"{what}: as the rows say, {found.rows:,} of {found.rows:,} rows")
    drawn = "" if found.seed is None else f", drawn by seed {found.seed}"
    console.print(f"proven again: {found.reproven:,} of {found.rows:,} rows{drawn}; none claims too much")
    notes = {
        "rows say that nothing may be replaced, and are not certified": found.vacuous,
        "rows claim less than can be proven": found.weaker,
        "rows have a scale below 1: studies, which prove nothing about texts": found.studies,
        "rows are of earlier versions, whose name of the model covers its weights alone": found.weights_alone,
        "of these state a smaller slack, another tier or a larger bound than is proven now": found.earlier,
    }
    for note, count in notes.items():
        if count:
            console.print(f"note: {count:,} {note}")
    _show_attacks(found, console)


def _show_attacks(found: Verified, console: Console) -> None:
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
