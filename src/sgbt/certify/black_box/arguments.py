"""What proofs about any callable are given, checked before the first question: nothing is taken for something else."""

from __future__ import annotations

from collections.abc import Sequence

from sgbt.certify.read_texts import whole_labels
from sgbt.core.errors import CertificateError


def checked_texts(texts: Sequence[str], labels: Sequence[int] | None) -> tuple[list[str], list[int] | None]:
    """A list of texts, and a whole number for each of them where labels are given."""
    if isinstance(texts, str):
        raise CertificateError(expected="a list of texts", got="one text", where="the texts", remedy="write [text]")
    given = list(texts)
    odd = next((text for text in given if not isinstance(text, str)), None)
    if odd is not None or None in given:
        raise CertificateError(expected="a list of texts", got=f"{odd!r:.60} in it", where="the texts")
    if labels is None:
        return given, None
    if len(labels) != len(given):
        raise CertificateError(expected=f"{len(given)} labels", got=str(len(labels)), where="the labels")
    return given, whole_labels(labels).tolist() if given else []
