"""Rows of attacks beside certificates of the same texts: each is replayed, none contradicts, one threat is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sgbt.attacks.result import FAILED, SKIPPED, SUCCESS, AttackResult, in_series
from sgbt.certify.certificate import Verdict
from sgbt.certify.rows.consistency import check_consistent
from sgbt.core.errors import AttackError, CertificateError, ForgedRowError
from sgbt.core.shares import Share
from sgbt.data import Tokenizer
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable, Threat
from sgbt.threats.maker import is_reachable

WHERE = "the attack rows"
Against = SubstitutionTable | Threat


@dataclass(frozen=True, slots=True)
class AttackedShares:
    """What certificates and the rows of one attack say of the texts that both have: certified <= robust <= clean.

    `method` is the attack with its unusual settings; there are `certificates` for so many texts.
    """

    method: str
    clean: Share
    robust: Share
    certified: Share
    certificates: int


@dataclass(frozen=True, slots=True)
class RowsApart:
    """Rows of one attack that are in no share, and why."""

    method: str
    rows: int
    reason: str


@dataclass(frozen=True, slots=True)
class CheckedAttacks:
    """What attack rows come to beside certificates: shares of those compared, and those that were not."""

    shares: tuple[AttackedShares, ...] = ()
    apart: tuple[RowsApart, ...] = ()


def check_attacks(
    classifier: TextClassifier,
    certificates: Sequence[Any],
    attacks: Sequence[AttackResult],
    against: Against,
    texts: Mapping[int, str],
    labels: Mapping[int, int] | None = None,
) -> CheckedAttacks:
    """That attack rows are true of the model and contradict no certificate; shares by attack on equal texts.

    Certificates are `against` a table or a threat. Rows of one attack are counted together or not at all, for leaving
    out those that broke a text would flatter: they are apart where they name another table or threat than the
    certificates, or none, and where one replaced more words than the certificates' budget. But whatever an attack was
    within, a text that it wrote and that the certificates are about contradicts them if it breaks a certified one.
    """
    check_true(classifier, attacks, against, texts=texts, labels=labels, where=WHERE)
    proofs = {proof.index: proof for proof in certificates}
    for row in attacks:
        if row.index in proofs and (row.status == SKIPPED) != (proofs[row.index].verdict is Verdict.MISCLASSIFIED):
            said = f"status {row.status}, where the certificate says {proofs[row.index].verdict}"
            raise contradicted(row, said, WHERE)
    try:
        spoken_of = (_spoken_of(row, against, classifier.tokenizer) for row in attacks)
        check_consistent(certificates, [row for row in spoken_of if row is not None])
        series = in_series(attacks)
    except (CertificateError, AttackError) as problem:
        kind = ForgedRowError if isinstance(problem, CertificateError) else CertificateError
        raise kind(expected=problem.expected, got=problem.got, where=problem.where, remedy=problem.remedy) from problem
    shares, apart = [], []
    for rows in series:
        both = [row for row in rows if row.index in proofs]
        title, reason = rows[0].title, _other_threat(both, proofs, against)
        if reason:
            apart.append(RowsApart(title, len(rows), reason))
            continue
        if len(both) < len(rows):
            apart.append(RowsApart(title, len(rows) - len(both), "on texts without a certificate"))
        if both:
            shares.append(_shares(title, both, proofs))
    return CheckedAttacks(tuple(shares), tuple(apart))


def _spoken_of(row: AttackResult, against: Against, tokenizer: Tokenizer) -> AttackResult | None:
    """The row, if the certificates are about its text, whatever the attack was within."""
    if isinstance(against, SubstitutionTable):
        return row if all(swap.new in against.substitutes(swap.old) for swap in row.swaps) else None
    if row.status == SUCCESS and not is_reachable(against, row.original, row.perturbed, tokenizer):
        return None
    return replace(row, threat=against.name, threat_hash=against.hash)


def _other_threat(rows: Sequence[AttackResult], proofs: Mapping[int, Any], against: Against) -> str:
    """Why the rows of one attack are not about what the certificates are about, if so."""
    if not rows:
        return ""
    if rows[0].threat_hash:
        return "" if rows[0].threat_hash == against.hash else f"within the threat {rows[0].threat}"
    if not rows[0].table_hash:
        return "of an earlier version, which do not name their table"
    if rows[0].table_hash != against.hash:
        return f"within another table, {rows[0].table_hash[:12]}"
    own = [(row, proofs[row.index]) for row in rows]
    if any(proof.scale < 1 for _, proof in own):
        return "beside certificates of a study with a scale below 1, which are not about words"
    if any(proof.max_substitutions is not None and len(row.swaps) > proof.max_substitutions for row, proof in own):
        return "with more words than the budget of the certificates replaced"
    return ""


def _shares(title: str, rows: Sequence[AttackResult], proofs: Mapping[int, Any]) -> AttackedShares:
    clean = sum(row.status != SKIPPED for row in rows)
    robust = sum(row.status == FAILED for row in rows)
    certified = sum(proofs[row.index].stays for row in rows)
    if not certified <= robust <= clean:
        raise ForgedRowError(
            expected="certified <= robust <= clean on the same texts",
            got=f"{certified}, {robust} and {clean} of {len(rows)} against {title}",
            remedy="check both files of rows",
        )
    of = len(rows)
    return AttackedShares(title, Share(clean, of), Share(robust, of), Share(certified, of), len(proofs))


def check_true(
    classifier: TextClassifier,
    attacks: Sequence[AttackResult],
    against: Against | None = None,
    *,
    texts: Mapping[int, str] | None = None,
    labels: Mapping[int, int] | None = None,
    where: str,
) -> None:
    """That every attack row names this model, or none, and is true.

    The swaps, written as attacks write them, make the perturbed text of the original; where the row names what it is
    `against`, a table has them all, and a threat allows the text; the model gives both texts the labels that the row
    says. Where `texts` and `labels` are known, the row's are the same. What a row says of its status follows from its
    labels (`AttackResult`). That an attack found nothing is not shown by this: `sgbt.bridges.card_attacks`
    makes attacks again.
    """
    own = classifier.identity
    for row in attacks:
        if row.model_hash not in ("", own):  # rows of earlier versions do not say
            raise ForgedRowError(
                expected=f"attacks on the model with identity {own[:12]}",
                got=f"one on {row.model_hash[:12]}",
                where=where,
                remedy="attack this model",
            )
        if texts is not None and texts.get(row.index, row.original) != row.original:
            raise contradicted(row, "another text than that of the data", where)
        if labels is not None and labels.get(row.index, row.label) != row.label:
            raise contradicted(row, f"label {row.label}, where it is {labels[row.index]}", where)
        if fault := _fault(classifier, row, against):
            raise contradicted(row, fault, where)
    if not attacks:
        return
    before = classifier.predict([row.original for row in attacks]).probabilities.argmax(axis=1)
    after = classifier.predict([row.perturbed for row in attacks]).probabilities.argmax(axis=1)
    for row, first, last in zip(attacks, before.tolist(), after.tolist(), strict=True):
        if (first, last) != (row.predicted, row.after):
            said = f"labels {row.predicted} -> {row.after}, which this model contradicts: {first} -> {last}"
            raise contradicted(row, said, where)


def _fault(classifier: TextClassifier, row: AttackResult, against: Against | None) -> str:
    """What the row says of its words that is not so, if anything."""
    tokens = classifier.tokenizer.tokenize(row.original)
    if row.words != len(tokens):
        return f"{row.words} words, where it has {len(tokens)}"
    if row.threat_hash:
        return _beyond_threat(row, against, classifier.tokenizer)
    changes = {swap.position: swap.new for swap in row.swaps}
    if len(changes) < len(row.swaps):
        return "a word that is replaced twice"
    table = against if isinstance(against, SubstitutionTable) and row.table_hash == against.hash else None
    for swap in row.swaps:
        if not 0 <= swap.position < min(len(tokens), classifier.max_length):
            return f"a swap at word {swap.position}, which the model does not read"
        if tokens.words[swap.position] != swap.old:
            return f"{swap.old!r} at word {swap.position}, where it is {tokens.words[swap.position]!r}"
        if table is not None and swap.new not in table.substitutes(swap.old):
            return f"{swap.old!r} -> {swap.new!r}, which is not in the table that it names"
    if (tokens.written(changes) if changes else row.original) != row.perturbed:
        return "another text than its swaps make"
    return ""


def _beyond_threat(row: AttackResult, against: Against | None, tokenizer: Tokenizer) -> str:
    """What is not so in a row within a threat; one of another threat is counted apart."""
    if row.status != SUCCESS:
        return "" if row.perturbed == row.original else "another text than the original, unbroken"
    if not isinstance(against, Threat) or row.threat_hash != against.hash:
        return ""
    if row.threat != against.name:
        return f"the threat {row.threat!r}, where its hash is that of {against.name!r}"
    allowed = is_reachable(against, row.original, row.perturbed, tokenizer)
    return "" if allowed else f"a text that {against.name} does not allow: {row.perturbed[:60]!r}"


def contradicted(row: AttackResult, fault: str, where: str) -> ForgedRowError:
    """The error that names an attack row and what it says wrongly."""
    return ForgedRowError(
        expected=f"a true row of {row.method} for text {row.index}",
        got=fault,
        where=where,
        remedy="attack this model again",
    )
