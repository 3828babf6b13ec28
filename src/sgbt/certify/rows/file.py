"""Certificates on disk, one for each text; rows whose figures are given together have one budget."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sgbt.certify.certificate import Certificate
from sgbt.core import rows
from sgbt.core.errors import CertificateError
from sgbt.core.fields import refuse_odd_fields
from sgbt.models import covers_weights_alone

SYNC_SECONDS = 1.0


def read_rows(path: str | Path) -> list[Certificate]:
    """The certificates of a file, at least one, by index.

    A last line without its end was cut off by a kill and does not count.
    """
    if not (found := rows.read_rows(path, CERTIFICATES)):
        raise CertificateError(
            expected="at least one certificate", got="no whole row", where=str(path), remedy="certify with --out"
        )
    require_one_budget(found, str(path))
    return sorted(found, key=lambda row: row.index)


def _read(fields: dict[str, Any]) -> Certificate:
    if "kind" in fields:
        raise CertificateError(
            expected="a certificate of a trained model and a table",
            got=f"one of kind {str(fields['kind'])[:20]!r}, of a callable, a threat or samples",
        )
    refuse_odd_fields(Certificate, fields, kind=CertificateError, where="")
    return Certificate.from_row(fields)


def _earlier(row: Certificate) -> str:
    named = covers_weights_alone(row.model_hash)
    return "a hash that covers weights alone, as earlier versions wrote them" if named else ""


CERTIFICATES = rows.RowKind(
    name="certificate",
    error=CertificateError,
    write=lambda row: json.dumps(row.to_row(), ensure_ascii=False, allow_nan=False),
    read=_read,
    key=lambda row: row.index,
    title=lambda row: f"text {row.index}",
    begin=b'{"index": ',
    earlier=_earlier,
)


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
