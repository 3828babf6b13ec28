"""What a card says of attacks: on which texts they were made, what was checked of them, and what was not.

Attacks are made again for it: whether rows that say that nothing was found are right, as far as a sample shows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgbt.attacks import read_rows as read_attacks
from sgbt.attacks.campaign import attack
from sgbt.attacks.result import FAILED, SKIPPED, AttackResult, in_series
from sgbt.attacks.search.method import method_named
from sgbt.bridges.card_figures import Labels, as_text
from sgbt.certify import Certificate, Verified, verify
from sgbt.certify import read_rows as read_certificates
from sgbt.certify.rows.attacked import check_true
from sgbt.certify.rows.comparison import Sample
from sgbt.core.errors import AttackError, ForgedRowError
from sgbt.core.shares import Share
from sgbt.data import Split
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable


@dataclass(frozen=True, slots=True)
class Replayed:
    """Of `failed` rows of one attack, which say that nothing was found, so many were made `again` and nothing was.

    `reason` says why none was, where none could be.
    """

    failed: int
    again: int
    reason: str = ""


def replay(
    classifier: TextClassifier,
    rows: Sequence[AttackResult],
    table: SubstitutionTable | None,
    *,
    sample: float | None,
    seed: int,
    where: str = "the attack rows",
) -> Replayed:
    """Make failed attacks of one series again, a `sample` of them drawn by `seed` (a number, a share, None: all).

    The same method, options, seed, text, table and model give the same result, so one that breaks its text now did not
    fail, and raises `ForgedRowError`.
    """
    failed = [row for row in rows if row.status == FAILED]
    if not failed:
        return Replayed(0, 0)
    first = failed[0]
    if table is None or (reason := _reason(first, table)):
        return Replayed(len(failed), 0, reason if table is not None else "no table is at hand")
    count = len(failed) if sample is None else math.ceil(sample * len(failed)) if sample < 1 else int(sample)
    chosen = random.Random(seed).sample(failed, min(count, len(failed)))
    made = attack(
        classifier,
        [row.original for row in chosen],
        table,
        method=first.method,
        labels=[row.label for row in chosen],
        seed=first.seed,
        max_queries=first.max_queries,
        **dict(first.options or {}),
    )
    for row, again in zip(chosen, made, strict=True):
        if again.status != FAILED:
            raise ForgedRowError(
                expected=f"a true row of {row.title} for text {row.index}",
                got=f"status {row.status}, where the same attack breaks the text",
                where=where,
                remedy="attack this model again",
            )
    return Replayed(len(failed), len(chosen))


def _reason(row: AttackResult, table: SubstitutionTable) -> str:
    """Why an attack cannot be made again, if so."""
    if row.options is None:
        return "the rows do not say their options"
    if row.threat_hash:
        return f"the rows are within the threat {row.threat}"
    if not row.table_hash:
        return "the rows do not name their table"
    if row.table_hash != table.hash:
        return "the rows are of another table"
    try:
        method_named(row.method, **row.options)
    except (AttackError, TypeError):
        return "method and options are those of no method of this version"
    return ""


@dataclass(frozen=True, slots=True)
class CardAttack:
    """One attack: its figures, the texts that it was made on, and whether it was made again.

    `certificates` is how many texts have one (None: the card has none); of rows that are not about what certificates
    are about, `apart` says why.
    """

    title: str
    clean: Share
    robust: Share
    texts: int
    certificates: int | None
    apart: str
    replayed: Replayed

    @property
    def name(self) -> str:
        """The attack as figures call it."""
        return f"{self.title}, {self.apart}" if self.apart else self.title


def attacks_of(
    classifier: TextClassifier,
    rows: Sequence[AttackResult],
    table: SubstitutionTable | None,
    verified: Verified | None,
    *,
    sample: Sample,
    seed: int,
    where: str,
) -> list[CardAttack]:
    """The attacks of rows that were found true, of which a sample of those that found nothing is made again.

    Where certificates were `verified` beside them, texts that both have are counted.
    """
    compared = {} if verified is None else {each.method: each for each in verified.attacked}
    apart = {} if verified is None else {each.method: each.reason for each in verified.apart}
    found = []
    for series in in_series(rows):
        title = series[0].title
        require_first(
            [row.index for row in series], f"rows of {title}", "the same sgbt attack command makes them", where
        )
        again = replay(classifier, series, table, sample=sample, seed=seed, where=where)
        shares = compared.get(title)
        clean = Share(sum(row.status != SKIPPED for row in series), len(series))
        robust = Share(sum(row.status == FAILED for row in series), len(series))
        if shares is not None:
            clean, robust = shares.clean, shares.robust
        reason = "" if shares else _other_table(series[0], table) or apart.get(title, "")
        certificates = None if verified is None else verified.rows
        found.append(CardAttack(title, clean, robust, len(series), certificates, reason, again))
    return found


def require_first(indices: Sequence[int], what: str, remedy: str, where: str) -> None:
    """That rows are of the first texts, all of them: what was left out between them might be what spoils a figure."""
    most, have = max(indices) + 1, set(indices)
    if len(have) < most or min(have) < 0:
        missing = next(index for index in range(most) if index not in have)
        raise AttackError(
            expected=f"{what} for all of the first {most:,} texts",
            got=f"none for text {missing}",
            where=where,
            remedy=remedy,
        )


def attack_lines(attacks: Sequence[CardAttack], *, seed: int) -> Iterator[str]:
    """What stands behind the figures of each attack, as a list."""
    if attacks:
        yield "\nAttack rows were replayed: swaps, texts and the model's answers are as they say.\n"
    for each in attacks:
        yield f"- {as_text(each.title)}: {_texts(each)}; {_again(each.replayed, seed)}."


def _texts(each: CardAttack) -> str:
    count = f"the first {each.texts:,} texts"
    if each.certificates is None or (not each.apart and each.texts == each.robust.total == each.certificates):
        return count
    if each.apart:
        return f"{count}, not compared with certificates ({as_text(each.apart)})"
    if each.robust.total < each.texts:
        return f"{count}, of which the {each.robust.total:,} with certificates are counted"
    return f"{count}, of {each.certificates:,} with certificates"


def _again(replayed: Replayed, seed: int) -> str:
    if replayed.reason:
        return f"observed, not replayed: {replayed.reason}"
    drawn = f", drawn by seed {seed}" if replayed.again < replayed.failed else ""
    return (
        f"{replayed.again:,} of {replayed.failed:,} unbroken texts were attacked again{drawn}, with the same outcome"
        if replayed.failed
        else "no text was left unbroken"
    )


def _other_table(row: AttackResult, table: SubstitutionTable | None) -> str:
    if not row.table_hash:
        return "within a table that the rows do not name"
    if table is None or row.table_hash != table.hash:
        return f"within another table, {row.table_hash[:12]}"
    return ""


@dataclass(frozen=True)
class CardEvidence:
    """Certificates and attack rows, what verifying them gave, and where their labels come from."""

    proofs: Sequence[Certificate]
    rows: Sequence[AttackResult]
    verified: Verified | None
    attacks: Sequence[CardAttack]
    labels: Labels
    budget: int | None
    texts_compared: bool
    seed: int

    @staticmethod
    def of(
        classifier: TextClassifier,
        certificates: str | Path | None,
        attacks: str | Path | Sequence[str | Path] | None,
        *,
        texts: Split | Sequence[str] | Mapping[int, str] | None,
        labels: Sequence[int] | Mapping[int, int] | None,
        table: SubstitutionTable | None,
        sample: Sample,
        seed: int,
    ) -> CardEvidence:
        """Read and check both files; as for `model_card`."""
        if isinstance(texts, Split):
            labels = texts.labels.tolist() if labels is None else labels
            texts = texts.texts
        known = texts if isinstance(texts, Mapping | None) else dict(enumerate(texts))
        known_labels = labels if isinstance(labels, Mapping | None) else dict(enumerate(labels))
        proofs = read_certificates(certificates) if certificates else []
        files = [attacks] if isinstance(attacks, str | Path) else list(attacks or ())
        rows, where = [row for file in files for row in read_attacks(file)], ", ".join(map(str, files))
        budget = proofs[0].max_substitutions if proofs else None  # a file has one
        verified = None
        if proofs:
            whole = "the same sgbt certify command makes them"
            require_first([proof.index for proof in proofs], "certificates", whole, str(certificates))
            verified = verify(
                classifier,
                proofs,
                {row.index: row.original for row in rows} if known is None else known,
                table,
                labels=known_labels,
                attacks=rows,
                sample=sample,
                seed=seed,
                where=str(certificates),
            )
        else:
            check_true(classifier, rows, table, texts=known, labels=known_labels, where=where)
        made = attacks_of(classifier, rows, table, verified, sample=sample, seed=seed, where=where)
        origin = Labels.of([*proofs, *rows], compared=labels is not None)
        return CardEvidence(proofs, rows, verified, made, origin, budget, known is not None, seed)
