"""Certificates on disk, one for each text, of one kind a file, and their texts.

Rows counted together have one budget. Texts are lines of JSON: index, text and, where it is known, the number of the
label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, overload

from sgbt.certify.certificate import Certificate, CertificateRow
from sgbt.core import rows
from sgbt.core.documents import json_object
from sgbt.core.errors import CertificateError
from sgbt.core.files import atomic_write
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
        require_alike(found, Certificate, BUDGET, str(path))
    return sorted(found, key=lambda row: row.index)


def kind_in(path: str | Path) -> type[CertificateRow]:
    """The kind of the certificates of a file, by how it begins; of one that has none, its reader says why."""
    try:
        with Path(path).open("rb") as stream:
            begin = stream.read(40)
    except OSError:
        return Certificate
    return next((kind for kind in KINDS.values() if begin.startswith(rows_of(kind).begin or b"")), Certificate)


def require_alike(rows: Iterable[Any], kind: type[CertificateRow], names: Iterable[str], where: str) -> None:
    """Raise where some rows are of another kind, or say another thing than the first under one of the names."""
    first = None
    for row in rows:
        if not isinstance(row, kind):
            raise CertificateError(
                expected=f"certificates of one kind, {kind.kind} alone",
                got=f"one of kind {getattr(row, 'kind', type(row).__name__)!r}",
                where=where,
            )
        first = first or row
        for name in names:
            one, other = getattr(first, name), getattr(row, name)
            if one != other:
                raise CertificateError(
                    expected=f"one {name.replace('_', ' ')} for all rows",
                    got=f"{one} for text {first.index} and {other} for text {row.index}",
                    where=where,
                    remedy="certify into one file for each",
                )


BUDGET = ("max_substitutions", "scale")
"""What rows must share to be counted together."""


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
        require_alike([row], Certificate, (), where)
        if row.study:
            raise CertificateError(
                expected="certificates of texts as they are",
                got=f"a study with scale {row.scale:g} for text {row.index}",
                where=where,
                remedy="certify with scale 1",
            )


@dataclass(frozen=True, slots=True)
class KnownTexts:
    """Texts by the index that rows name them by, and their labels if those are known."""

    texts: Mapping[int, str]
    labels: Mapping[int, int] | None = None

    @staticmethod
    def read(path: Path) -> KnownTexts:
        """What `write` wrote, or any file of such lines; a line without `index` is numbered as it stands."""
        try:
            lines = path.read_bytes().splitlines()
        except OSError as problem:
            reason = (problem.strerror or str(problem)).lower()
            raise CertificateError(expected="a file of texts", got=reason, where=str(path)) from problem
        texts: dict[int, str] = {}
        labels: dict[int, int] = {}
        for number, line in enumerate(lines):
            where = f"{path}, line {number + 1}"
            about = json_object(line, kind=CertificateError, where=where, pairs=False)
            index, text, label = about.get("index", number), about.get("text"), about.get("label")
            if type(index) is not int or not isinstance(text, str) or type(label) not in (int, type(None)):
                raise CertificateError(expected="a text, and whole numbers index and label", got="others", where=where)
            if index in texts:
                raise CertificateError(expected="one text for each index", got=f"two for {index}", where=where)
            texts[index] = text
            if label is not None:
                labels[index] = label
        return KnownTexts(texts, labels if len(labels) == len(texts) else None)

    def write(self, path: Path) -> None:
        """One line for each text; all or nothing."""
        with atomic_write(path) as stream:
            for index, text in self.texts.items():
                about: dict[str, object] = {"index": index, "text": text}
                if self.labels is not None:
                    about["label"] = self.labels[index]
                stream.write(json.dumps(about).encode() + b"\n")
