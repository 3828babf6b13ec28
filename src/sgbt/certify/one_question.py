"""Rows whose figures are told together answer one question, and one about texts."""

from __future__ import annotations

from collections.abc import Iterable

from sgbt.certify.certificate import Certificate
from sgbt.core.errors import CertificateError


def require_one_question(rows: Iterable[Certificate], where: str) -> None:
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


def require_proofs(rows: Iterable[Certificate], where: str) -> None:
    """Raise on the first row that is a study: a figure of certified texts is about proofs alone."""
    for row in rows:
        if row.study:
            raise CertificateError(
                expected="certificates of texts as they are",
                got=f"a study with scale {row.scale:g} for text {row.index}",
                where=where,
                remedy="certify with scale 1",
            )
