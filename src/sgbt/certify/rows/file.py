"""Certificates on disk, one for each text, of one kind a file; rows counted together have one budget."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, overload

from sgbt.certify.certificate import Certificate, CertificateRow
from sgbt.core import rows
from sgbt.core.errors import CertificateError
from sgbt.core.registry import Registry
from sgbt.models import covers_weights_alone

KINDS: Registry[type[CertificateRow]] = Registry(
    "certificate",
    {
        "threat": "sgbt.certify.edits.certificate:ThreatCertificate",
        "proven": "sgbt.certify.black_box.certificate:EncodedCertificate",
        "statistical": "sgbt.certify.black_box.statistical:StatisticalCertificate",
        "substitutions": "sgbt.certify.certificate:Certificate",
    },
)
"""Kinds of certificates by what rows call them."""

Row = TypeVar("Row", bound=CertificateRow)


def rows_of(kind: type[Row]) -> rows.RowKind[Row]:
    """How certificates of a kind are written and read."""
    return rows.RowKind(
        name="certificate",
        error=CertificateError,
        write=lambda row: json.dumps(row.to_row(), ensure_ascii=False, allow_nan=False),
        read=kind.from_row,
        key=lambda row: row.index,
        title=lambda row: f"text {row.index}",
        begin=b'{"index": ' if kind is Certificate else f'{{"kind": "{kind.kind}"'.encode(),
        earlier=_earlier,
        surrogates=kind.quotes,
    )


def _earlier(row: CertificateRow) -> str:
    named = covers_weights_alone(row.model_hash)
    return "a hash that covers weights alone, as earlier versions wrote them" if named else ""


CERTIFICATES = rows_of(Certificate)


@overload
def read_rows(path: str | Path) -> list[Certificate]: ...


@overload
def read_rows(path: str | Path, kind: type[Row]) -> list[Row]: ...


def read_rows(path: str | Path, kind: type[Any] = Certificate) -> list[Any]:
    """The certificates of a file, at least one, by index; those of another kind than asked for are refused.

    A last line without its end was cut off by a kill and does not count.
    """
    if not (found := rows.read_rows(path, rows_of(kind))):
        raise CertificateError(
            expected="at least one certificate", got="no whole row", where=str(path), remedy="certify with --out"
        )
    if kind is Certificate:
        require_one_budget(found, str(path))
    return sorted(found, key=lambda row: row.index)


def kind_in(path: str | Path) -> type[CertificateRow]:
    """The kind of the certificates of a file, by how it begins; of one that has none, its reader says why."""
    try:
        with Path(path).open("rb") as stream:
            begin = stream.read(40)
    except OSError:
        return Certificate
    return next((kind for kind in KINDS.values() if begin.startswith(rows_of(kind).begin or b"")), Certificate)


def require_one_budget(rows: Iterable[Certificate], where: str) -> None:
    """Raise where some rows have another budget or scale than the first."""
    first = None
    for row in rows:
        first = first or row
        for name in ("max_substitutions", "scale"):
            one, other = getattr(first, name), getattr(row, name)
            if one != other:
                raise CertificateError(
                    expected=f"one {name.replace('_', ' ')} for all rows",
                    got=f"{one} for text {first.index} and {other} for text {row.index}",
                    where=where,
                    remedy="certify into one file for each",
                )


def require_each_once(rows: Iterable[Any], where: str) -> None:
    """Raise on the first text that has two rows: counted twice, one proof would make any share."""
    seen: set[int] = set()
    for row in rows:
        if row.index in seen:
            raise CertificateError(expected="one row for each text", got=f"two for text {row.index}", where=where)
        seen.add(row.index)


def require_proofs(rows: Iterable[Any], where: str) -> None:
    """Raise on the first row of another kind, or that is a study: a figure of certified texts is about proofs alone."""
    for row in rows:
        if not isinstance(row, Certificate):
            kind = getattr(row, "kind", type(row).__name__)
            raise CertificateError(expected="certificates of one kind", got=f"one of kind {kind!r}", where=where)
        if row.study:
            raise CertificateError(
                expected="certificates of texts as they are",
                got=f"a study with scale {row.scale:g} for text {row.index}",
                where=where,
                remedy="certify with scale 1",
            )
