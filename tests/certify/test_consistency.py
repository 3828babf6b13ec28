"""A certified text that an attack broke stops the program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from tests.soundness.trained import dataset, trained

from sgbt.certify import certify, check_consistent
from sgbt.core.errors import CertificateError


@dataclass
class Told:
    """What an attack says, as far as certificates care."""

    status: str
    index: int | None = None
    swaps: dict[int, str] = field(default_factory=dict)
    table_hash: str = ""


def test_an_attack_that_breaks_a_certified_text_raises() -> None:
    proofs = certify(trained("cnn", "ibp", "mean"), dataset().test)
    sure = next(proof.index for proof in proofs if proof.certified)
    open_ = next(proof.index for proof in proofs if not proof.certified)
    assert check_consistent(proofs, [Told("failed", sure), Told("succeeded", open_), Told("skipped", open_)]) == 1
    with pytest.raises(CertificateError, match=f"text {sure} unbroken"):
        check_consistent(proofs, [Told("succeeded", sure, {0: "word"})])


def test_results_without_an_index_are_matched_by_place() -> None:
    proofs = certify(trained("cnn", "ibp", "mean"), dataset().test)
    results = [Told("failed") for _ in proofs]
    assert check_consistent(proofs, results) == sum(proof.certified for proof in proofs)
    place = next(place for place, proof in enumerate(proofs) if proof.certified)
    results[place] = Told("succeeded")
    with pytest.raises(CertificateError):
        check_consistent(proofs, results)
    with pytest.raises(CertificateError, match="for each attack"):
        check_consistent(proofs[:2], [Told("failed")] * 3)


def test_an_attack_beyond_the_budget_contradicts_nothing() -> None:
    proofs = certify(trained("cnn"), dataset().test, max_substitutions=1)
    sure = next(proof.index for proof in proofs if proof.certified)
    assert check_consistent(proofs, [Told("succeeded", sure, {0: "a", 1: "b"})]) == 1
    with pytest.raises(CertificateError):
        check_consistent(proofs, [Told("succeeded", sure, {0: "a"})])


def test_an_attack_with_another_table_contradicts_nothing() -> None:
    proofs = certify(trained("cnn", "ibp", "mean"), dataset().test)
    sure = next(proof for proof in proofs if proof.certified)
    broken = Told("succeeded", sure.index, {0: "word"})
    assert check_consistent(proofs, [replace(broken, table_hash="0" * 64)]) == 0
    with pytest.raises(CertificateError, match="unbroken"):
        check_consistent(proofs, [replace(broken, table_hash=sure.table_hash)])
