"""certify_encoded: for every text, a proof that no allowed substitution changes what a callable says, or none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.attacks.queries.engine import Classify
from sgbt.attacks.victim import CallableVictim
from sgbt.certify.black_box.additive import AdditiveModel
from sgbt.certify.black_box.arguments import checked_texts
from sgbt.certify.black_box.certificate import ADDITIVE, CLEAN, ENUMERATION, Answer, EncodedCertificate
from sgbt.certify.black_box.edited import EditedEncoder, EditedText
from sgbt.certify.black_box.encoder import EncodedText
from sgbt.certify.black_box.enumeration import VersionSearch, enumerate_all, margin_of
from sgbt.certify.black_box.fitting import AnyEncoder
from sgbt.certify.rows.running import Listener, Prover
from sgbt.certify.specification import whole_budget
from sgbt.core.errors import CertificateError

MAX_QUERIES = 4096
BATCH = 1024
AT_ONCE = 64
"""Texts whose variants share batches."""
LARGEST = 2**53


def certify_encoded(
    classify: Classify,
    texts: Sequence[str],
    encoder: AnyEncoder,
    *,
    labels: Sequence[int] | None = None,
    max_substitutions: int | None = None,
    max_queries: int = MAX_QUERIES,
    slack: float = 1e-6,
    batch: int = BATCH,
    additive: AdditiveModel | None = None,
    fingerprint: str | None = None,
    out: str | Path | None = None,
    listener: Listener | None = None,
) -> list[EncodedCertificate]:
    """Certify `classify(encoder.encode(text))` against every combination of substitutions that the encoder's table
    allows.

    `classify` is any callable from encoded texts to scores [texts, classes], deterministic but for the last digits that
    `slack` allows for. Labels are numbers of classes; without `labels` its own answers are defended. With
    `max_substitutions` at most so many words are replaced. At most `max_queries` texts are asked about for one: a text
    with more combinations is abstained from. `additive` says that the callable is that linear model; texts are then
    bounded without questions first (`sgbt.certify.black_box.additive`). With `out`, one JSON line per text is appended,
    the same call goes on where an interrupted one stood, once it has decided a few of the rows found there again, and
    the callable needs a `fingerprint` that identifies it.
    """
    prover = prover_of_encoded(
        classify,
        texts,
        encoder,
        labels,
        max_substitutions=max_substitutions,
        max_queries=max_queries,
        slack=slack,
        batch=batch,
        additive=additive,
        fingerprint=fingerprint,
        named=out is not None or fingerprint is not None,
    )
    return prover.rows(out, listener)


def prover_of_encoded(
    classify: Classify,
    texts: Sequence[str],
    encoder: AnyEncoder,
    labels: Sequence[int] | None,
    *,
    max_substitutions: int | None,
    max_queries: int,
    slack: float,
    batch: int = BATCH,
    additive: AdditiveModel | None = None,
    fingerprint: str | None = None,
    named: bool = True,
) -> Prover[EncodedCertificate]:
    """What `certify_encoded` makes of its arguments; `named` asks for the callable's fingerprint."""
    check_limits(max_queries=max_queries, batch=batch, slack=slack)
    max_substitutions, (texts, labels) = whole_budget(max_substitutions), checked_texts(texts, labels)
    victim = CallableVictim(classify, encoder.tokenizer, fingerprint=fingerprint)
    shared: dict[str, Any] = {
        "max_substitutions": max_substitutions,
        "max_queries": max_queries,
        "slack": slack,
        "encoder_hash": encoder.hash,
        "table_hash": encoder.threat_hash,
        "model_hash": victim.fingerprint if named else "",
    }
    hashes = list(map(EncodedCertificate.hash_of, texts))
    return _EncodedProver(victim.probabilities, encoder, texts, hashes, labels, shared, batch, additive)


@dataclass(frozen=True)
class _EncodedProver(Prover[EncodedCertificate]):
    ask: Callable[[Sequence[str]], np.ndarray]
    encoder: AnyEncoder
    texts: Sequence[str]
    hashes: Sequence[str]
    labels: Sequence[int] | None
    shared: dict[str, Any]
    batch: int
    additive: AdditiveModel | None

    kind = EncodedCertificate
    rechecked = 3

    def label(self, row: EncodedCertificate) -> int:
        return row.predicted if self.labels is None else int(self.labels[row.index])

    def proven(self, places: Sequence[int]) -> Iterator[list[EncodedCertificate]]:
        for start in range(0, len(places), AT_ONCE):
            part = places[start : start + AT_ONCE]
            given = None if self.labels is None else [int(self.labels[place]) for place in part]
            yield [
                EncodedCertificate(index=place, text_hash=self.hashes[place], **self.shared, **answer)
                for place, answer in zip(part, self.decide([self.texts[place] for place in part], given), strict=True)
            ]

    def decide(self, texts: Sequence[str], labels: Sequence[int] | None) -> list[dict[str, Any]]:
        """What certificates of some texts say, without what all certificates share."""
        begun = time.perf_counter()
        budget, most, slack = (self.shared[name] for name in ("max_substitutions", "max_queries", "slack"))
        read = [self.encoder.read(text, most=most) for text in texts]
        scores = self.ask([each.written() for each in read])
        predicted = [int(number) for number in scores.argmax(axis=1)] if len(texts) else []
        labels = predicted if labels is None else labels
        if len(texts) and not 0 <= min(labels) <= max(labels) < scores.shape[1]:
            raise CertificateError(
                expected=f"labels from 0 to {scores.shape[1] - 1}, the columns of the callable's answer",
                got=f"from {min(labels)} to {max(labels)}",
                where="the labels",
            )
        each_ms = 1000 * (time.perf_counter() - begun) / max(len(texts), 1)
        answers = [
            self._begun(encoded, label, guess, margin_of(row, label), each_ms)
            for encoded, label, guess, row in zip(read, labels, predicted, scores, strict=True)
        ]
        if self.additive is not None:
            for text, encoded, answer in zip(texts, read, answers, strict=True):
                if answer["verdict"] is Answer.ABSTAINED and isinstance(encoded, EncodedText):
                    answer |= self._bounded(self.additive, text, encoded, answer)
        open_ = {
            place: VersionSearch(read[place], labels[place], budget, answer["margin"], answer["queries"])
            for place, answer in enumerate(answers)
            if answer["verdict"] is Answer.ABSTAINED and answer["combinations"] <= most
        }
        enumerate_all(list(open_.values()), self.ask, slack=slack, batch=self.batch)
        for place, search in open_.items():
            answers[place] |= self._ended(search, texts[place], answers[place])
        return answers

    def _begun(
        self, encoded: EncodedText | EditedText, label: int, guess: int, margin: float, spent: float
    ) -> dict[str, Any]:
        """The answer before any question but the first; abstained where enumeration may still decide."""
        right, free = guess == label, encoded.replaceable > 0 and self.shared["max_substitutions"] != 0
        answer: dict[str, Any] = {
            "verdict": Answer.ABSTAINED if free else Answer.VACUOUS,
            "label": label,
            "predicted": guess,
            "margin": margin,
            "method": CLEAN,
            "words": encoded.words,
            "replaceable": encoded.replaceable,
            "ambiguous": encoded.ambiguous,
            "combinations": min(encoded.combinations(self.shared["max_substitutions"]), LARGEST),
            "queries": 1,
            "milliseconds": spent,
        }
        if not right:
            return answer | {"verdict": Answer.MISCLASSIFIED}
        return answer

    def _bounded(
        self, additive: AdditiveModel, text: str, encoded: EncodedText, before: dict[str, Any]
    ) -> dict[str, Any]:
        """What the linear model's worst case says: certified, or broken by the text for which the sum is least."""
        begun = time.perf_counter()
        worst = additive.worst(encoded, before["label"], max_substitutions=self.shared["max_substitutions"])
        answer: dict[str, Any] = {"margin": worst.margin, "method": ADDITIVE}
        if worst.margin > self.shared["slack"]:
            answer |= {"verdict": Answer.CERTIFIED, "radius": self._all_words(before)}
        else:
            found = self._broken(text, worst.swaps, before["label"])
            answer = answer | found if found else {}
            answer["queries"] = before["queries"] + 1
        return answer | {"milliseconds": before["milliseconds"] + 1000 * (time.perf_counter() - begun)}

    def _all_words(self, answer: dict[str, Any]) -> int | None:
        if isinstance(self.encoder, EditedEncoder):
            return None  # edits are counted by kind
        replaceable, budget = int(answer["replaceable"]), self.shared["max_substitutions"]
        return replaceable if budget is None else min(budget, replaceable)

    def _ended(self, search: VersionSearch, text: str, before: dict[str, Any]) -> dict[str, Any]:
        proven = search.broken is None and search.margin > self.shared["slack"]
        answer: dict[str, Any] = {
            "margin": search.margin,
            "method": ENUMERATION,
            "queries": search.queries,
            "milliseconds": before["milliseconds"] + 1000 * search.seconds,
            "radius": self._all_words(before) if proven else None if search.broken is None else search.radius,
        }
        if proven:
            return answer | {"verdict": Answer.CERTIFIED}
        if isinstance(self.encoder, EditedEncoder):
            answer["radius"] = None
        return answer | (self._broken(text, search.broken, search.label) if search.broken is not None else {})

    def _broken(self, text: str, swaps: Mapping[int, str], label: int) -> dict[str, Any]:
        """The verdict that a text of the threat has another label; nothing where that is not so, as at a tie."""
        witness = self.encoder.witness(text, swaps)
        if witness is None:
            return {}
        scores = self.ask([self.encoder.encode(witness)])[0]
        return {} if int(scores.argmax()) == label else {"verdict": Answer.BROKEN, "witness": witness}


@dataclass(frozen=True, slots=True)
class QueryCost:
    """What certifying would ask at most: queries in all, texts above the limit, and the versions of the median text."""

    queries: int
    above: int
    median: int


def cost_of(
    texts: Sequence[str], encoder: AnyEncoder, *, max_substitutions: int | None = None, max_queries: int = MAX_QUERIES
) -> QueryCost:
    """The cost of `certify_encoded`, before any question is asked."""
    sizes = sorted(encoder.read(text, most=max_queries).combinations(max_substitutions) for text in texts)
    asked = [size if size <= max_queries else 1 for size in sizes]
    return QueryCost(sum(asked), sum(size > max_queries for size in sizes), sizes[len(sizes) // 2] if sizes else 0)


def check_limits(**limits: float | None) -> None:
    """Refuse limits that no run can have."""
    least = {"max_queries": 1, "batch": 1, "slack": 0}
    for name, value in limits.items():
        if value is not None and not least[name] <= value < math.inf:
            raise CertificateError(
                expected=f"{name} of at least {least[name]}", got=str(value), where="certify_encoded"
            )
