"""Attack rows beside certificates: each is replayed, and only rows of the same threat are counted together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests import small

import sgbt
from sgbt.attacks import AttackResult
from sgbt.certify import Certificate, certify, verify
from sgbt.core.errors import CertificateError, ForgedRowError
from sgbt.models import TextClassifier

TEXTS = small.dataset(test=40).test
Rows = list[AttackResult]


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    model = small.model_of("cnn", seed=1, pooling="mean")
    return TextClassifier(model, small.VOCABULARY, ("negative", "positive"), small.TABLE, max_length=16)


@pytest.fixture(scope="module")
def proofs(classifier: TextClassifier) -> list[Certificate]:
    return certify(classifier, TEXTS)


@pytest.fixture(scope="module")
def attacks(classifier: TextClassifier) -> Rows:
    found = sgbt.attack(classifier, TEXTS, small.TABLE, method="greedy")
    assert {row.status for row in found} == {"success", "failed", "skipped"}
    return found


def hidden(row: AttackResult) -> AttackResult:
    """A success said to be a failure, with its broken text left in place."""
    return replace(row, status="failed", after=row.label, swaps=())


def other_swap(row: AttackResult) -> AttackResult:
    first = replace(row.swaps[0], new="zzz")
    return replace(row, swaps=(first, *row.swaps[1:]))


FORGERIES: dict[str, tuple[str, Callable[[AttackResult], AttackResult], str]] = {
    "a success said to have failed": ("success", hidden, "another text than its swaps make"),
    "a swap that was not made": ("success", other_swap, "not in the table"),
    "a word that did not stand there": (
        "success",
        lambda row: replace(row, swaps=(replace(row.swaps[0], old="zzz"), *row.swaps[1:])),
        "'zzz' at word",
    ),
    "a word beyond the text": (
        "success",
        lambda row: replace(row, swaps=(replace(row.swaps[0], position=999), *row.swaps[1:])),
        "word 999",
    ),
    "a swap twice": ("success", lambda row: replace(row, swaps=(row.swaps[0], *row.swaps)), "twice"),
    "a broken text of other letters": ("success", lambda row: replace(row, perturbed=row.perturbed + " "), "swaps"),
    "other words": ("failed", lambda row: replace(row, words=row.words + 1), "words"),
    "another text": ("failed", lambda row: replace(row, original="a film", perturbed="a film", words=2), "that of"),
    "another answer": ("skipped", lambda row: replace(row, label=row.after, after=row.label), "contradicts"),
    "another label": (
        "success",
        lambda row: replace(row, label=row.after, after=row.label, original=row.perturbed, perturbed=row.original),
        "another text",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_row_that_is_not_so_is_named(
    classifier: TextClassifier, proofs: list[Certificate], attacks: Rows, name: str
) -> None:
    status, forge, said = FORGERIES[name]
    place = next(place for place, row in enumerate(attacks) if row.status == status)
    rows = [*attacks[:place], forge(attacks[place]), *attacks[place + 1 :]]
    assert verify(classifier, proofs, TEXTS, attacks=attacks).attack_rows == len(attacks)
    with pytest.raises(ForgedRowError, match=rf"text {place}\b.*({said})"):
        verify(classifier, proofs, TEXTS.texts, attacks=rows)


def test_a_swap_outside_the_table_that_the_row_names_is_forged(classifier: TextClassifier) -> None:
    wide = small.TABLE.without([])
    entries = dict(wide.entries) | {"the": ("good", "bad", "awful", "great")}
    wide = type(wide)(entries, "wide")
    found = sgbt.attack(classifier, TEXTS, wide, method="greedy")
    outside = [row for row in found if any(swap.old == "the" for swap in row.swaps)]
    assert outside
    forged = [replace(row, table_hash=small.TABLE.hash) for row in found]
    with pytest.raises(ForgedRowError, match=rf"text {outside[0].index}\b.*'the' -> .*not in the table"):
        verify(classifier, certify(classifier, TEXTS), TEXTS, attacks=forged)


def test_rows_of_another_table_are_named_apart_and_not_counted(
    classifier: TextClassifier, proofs: list[Certificate], attacks: Rows
) -> None:
    none = sgbt.attack(classifier, TEXTS, small.TABLE.nearest(0), method="pwws")
    found = verify(classifier, proofs, TEXTS, attacks=[*attacks, *none])
    assert [each.method for each in found.attacked] == ["greedy"]
    (apart,) = found.apart
    assert (apart.method, apart.rows) == ("pwws", 40)
    assert "another table" in apart.reason
    old = [replace(row, table_hash="") for row in attacks]
    found = verify(classifier, proofs, TEXTS, attacks=old)
    assert found.attacked == ()
    assert "do not name their table" in found.apart[0].reason


def test_attacks_beyond_a_budget_are_named_apart(classifier: TextClassifier, attacks: Rows) -> None:
    """Leaving out the broken texts alone would make the others look better."""
    assert any(len(row.swaps) > 1 for row in attacks)
    proofs = certify(classifier, TEXTS, max_substitutions=1)
    found = verify(classifier, proofs, TEXTS, attacks=attacks)
    assert found.attacked == ()
    assert "more words than the budget" in found.apart[0].reason
    within = [row for row in attacks if len(row.swaps) <= 1]
    assert verify(classifier, proofs, TEXTS, attacks=within).attacked[0].clean.total == len(within) < 40


def test_attacks_of_several_settings_are_counted_apart(
    classifier: TextClassifier, proofs: list[Certificate], attacks: Rows
) -> None:
    weak = sgbt.attack(classifier, TEXTS, small.TABLE, method="greedy", max_queries=1)
    found = verify(classifier, proofs, TEXTS, attacks=[*attacks, *weak])
    assert [each.method for each in found.attacked] == ["greedy", "greedy (max_queries 1)"]
    assert [each.clean.total for each in found.attacked] == [40, 40]
    with pytest.raises(CertificateError, match="one row of greedy for each text"):
        verify(classifier, proofs, TEXTS, attacks=[*attacks, *attacks])


def test_rows_without_a_certificate_are_named_apart(
    classifier: TextClassifier, proofs: list[Certificate], attacks: Rows
) -> None:
    found = verify(classifier, proofs[:30], TEXTS, attacks=attacks)
    assert found.attacked[0].clean.total == 30
    assert [(each.rows, each.reason) for each in found.apart] == [(10, "on texts without a certificate")]
    found = verify(classifier, proofs, TEXTS, attacks=attacks[:25])
    assert (found.attacked[0].clean.total, found.attacked[0].certificates) == (25, 40)


def test_labels_of_rows_are_compared_with_the_data(
    classifier: TextClassifier, proofs: list[Certificate], attacks: Rows
) -> None:
    place = next(place for place, row in enumerate(attacks) if row.status == "skipped")
    turned = replace(attacks[place], status="failed", label=attacks[place].after)
    with pytest.raises(ForgedRowError, match=f"text {place}\\b"):
        verify(classifier, proofs, TEXTS, attacks=[turned])


def test_options_are_part_of_a_title() -> None:
    row = AttackResult(0, "greedy", "failed", 0, 0, "a", "a", (), 1, 1, 0.1, 0)
    assert row.title == "greedy"
    assert replace(row, seed=3, options={"max_changed": 0.5}, max_queries=7).title == (
        "greedy (max_changed 0.5, max_queries 7, seed 3)"
    )
