"""Certificates on disk, one for each text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sgbt.certify.certificate import Certificate
from sgbt.certify.one_question import require_one_question
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
    require_one_question(found, str(path))
    return sorted(found, key=lambda row: row.index)


def _read(fields: dict[str, Any]) -> Certificate:
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
