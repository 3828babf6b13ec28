"""certify: for every text, a proof that no allowed substitution changes its label, or none."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, overload

import torch
from torch import Tensor

from sgbt.certify.certificate import CLEAN, HEAD, Certificate, may_replace, verdict_of
from sgbt.certify.edits import ThreatCertificate, certify_against
from sgbt.certify.prepared import Prepared, prepared_of
from sgbt.certify.read_texts import ReadTexts, in_order
from sgbt.certify.rows.running import Listener, Prover
from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification, share_of_distance, whole_budget
from sgbt.certify.tiers import DEFAULT_TIERS, bounds_of, check_tiers, lowest_of, offered
from sgbt.certify.verifier import verifiers, words_at_once
from sgbt.core.errors import CertificateError
from sgbt.data import Batch, Split
from sgbt.data.batches import pad
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable, Threat


@dataclass(frozen=True, eq=False)
class Answers:
    """The best bound of each margin [texts, rivals], which tier gave the least of them, and what it took."""

    margins: Tensor
    radius: Tensor
    tier: list[str]
    spent: list[dict[str, float]]
    slack: float

    @staticmethod
    def of(spec: Specification, slack: float, floor: float) -> Answers:
        """Nothing known yet but the margin that every text has at least."""
        return Answers(
            torch.full(spec.rivals.shape, floor, dtype=torch.float64, device=spec.labels.device),
            torch.full_like(spec.labels, -1),
            [HEAD] * len(spec),
            [{} for _ in range(len(spec))],
            slack,
        )

    def proven(self, rows: Tensor) -> Tensor:
        """Which of the texts are certified."""
        return (self.margins[rows] > self.slack).all(dim=1)

    def learn(self, tier: str, rows: Tensor, bounds: Sequence[SeparableBound], seconds: float) -> None:
        """Take in a tier's bounds of some texts; a text that was certified before keeps its tier."""
        open_ = ~self.proven(rows)
        share = round(1000 * seconds / max(len(rows), 1), 4)  # as rows have it, so that both give the same figures
        best = torch.maximum(self.margins[rows], lowest_of(bounds))
        news = best.amin(dim=1) > self.margins[rows].amin(dim=1)
        slack = torch.full((len(rows),), self.slack, dtype=torch.float64, device=best.device)
        radius = torch.stack([bound.radius(slack) for bound in bounds]).amax(dim=0)
        for row, fresh in zip(rows[open_].tolist(), news[open_].tolist(), strict=True):
            self.spent[row][tier] = share
            if fresh:
                self.tier[row] = tier
        self.margins[rows[open_]] = best[open_]
        self.radius[rows[open_]] = torch.maximum(self.radius[rows[open_]], radius[open_])


@overload
def certify(
    classifier: TextClassifier | Prepared,
    texts: Split | Sequence[str],
    table: SubstitutionTable | None = None,
    *,
    labels: Sequence[int] | None = None,
    tiers: Sequence[str] = ...,
    max_substitutions: int | None = None,
    scale: float = 1.0,
    out: str | Path | None = None,
    listener: Listener | None = None,
    threads: int | None = None,
    threat: None = None,
) -> list[Certificate]: ...


@overload
def certify(
    classifier: TextClassifier | Prepared,
    texts: Split | Sequence[str],
    table: None = None,
    *,
    labels: Sequence[int] | None = None,
    tiers: Sequence[str] = ...,
    out: str | Path | None = None,
    listener: Listener | None = None,
    threads: int | None = None,
    threat: Threat,
) -> list[Certificate] | list[ThreatCertificate]: ...


def certify(
    classifier: TextClassifier | Prepared,
    texts: Split | Sequence[str],
    table: SubstitutionTable | None = None,
    *,
    labels: Sequence[int] | None = None,
    tiers: Sequence[str] = DEFAULT_TIERS,
    max_substitutions: int | None = None,
    scale: float = 1.0,
    out: str | Path | None = None,
    listener: Listener | None = None,
    threads: int | None = None,
    threat: Threat | None = None,
) -> list[Certificate] | list[ThreatCertificate]:
    """Certify texts against every combination of substitutions that `table` allows (by default the model's own).

    With a `threat` in place of a table, against every text that it allows: one of substitutions alone is certified as
    its table and budget are, any other one by `sgbt.certify.edits`.

    A certificate is about every text that the classifier's tokenizer reads as the words of this one with allowed
    substitutes in some places. An edit that joins or splits words ("two,500", "2,500") is another one, and not covered.

    Labels come from the split, from `labels`, or, for bare texts, from the model's own predictions. Each text is tried
    with the cheapest tier first and stops at the first that certifies it. `max_substitutions` limits how many words
    are replaced at once. With `out`, one JSON line per text is appended as it is decided, and the same call goes on
    where an interrupted one stood, once it has proven a sample of the rows found there again. `scale` below one moves
    substitutes towards the word, for studies. `listener` is called with how many texts of how many are done.
    `threads` batches are worked on at a time (by default as many as torch has threads); answers do not depend on it,
    but for the last digits of a margin in float64.

    A text is read as the classifier reads it: cut to its maximal length, unknown words as the unknown word (their
    substitutes are tried all the same). A text with nothing to replace, or without words, is its own worst case: it is
    not certified, but has a verdict of its own, and its own margin.
    """
    tiers = check_tiers(tiers)
    if threat is not None:
        if table is not None or max_substitutions is not None or isinstance(classifier, Prepared):
            raise CertificateError(
                expected="a threat alone, of a classifier",
                got="a table, a budget or a prepared classifier as well",
                where="certify",
                remedy="join them: Threat.substitutions(table, at_most=2) | ...",
            )
        if not threat.only_substitutions:
            return certify_against(classifier, texts, threat, labels=labels, out=out, listener=listener)
        limits = [limit for limit in (threat.edits[0].at_most, threat.total) if limit is not None]
        table, max_substitutions = threat.edits[0].table, min(limits, default=None)
    prover = prover_of(
        prepared_of(classifier, table), texts, labels, tiers, max_substitutions, scale=scale, threads=threads
    )
    return prover.rows(out, listener)


def prover_of(
    prepared: Prepared,
    texts: Split | Sequence[str],
    labels: Sequence[int] | None,
    tiers: tuple[str, ...],
    budget: int | None,
    *,
    scale: float = 1.0,
    threads: int | None = None,
) -> Prover[Certificate]:
    """What `certify` makes of its arguments."""
    budget, scale = whole_budget(budget), share_of_distance(scale)
    shared = {
        "tiers": tiers,
        "max_substitutions": budget,
        "scale": scale,
        "table_hash": prepared.table.hash,
        "model_hash": prepared.model_hash,
    }
    corpus = ReadTexts.of(prepared.classifier, texts, labels, prepared.index, prepared.reference)
    labelled = labels is not None or isinstance(texts, Split)
    return _TableProver(prepared, corpus, corpus.hashes, shared, labelled, threads or torch.get_num_threads())


@dataclass(frozen=True, eq=False)
class _TableProver(Prover[Certificate]):
    prepared: Prepared
    corpus: ReadTexts
    hashes: Sequence[str]
    shared: dict[str, Any]
    labelled: bool
    threads: int

    kind = Certificate

    def label(self, row: Certificate) -> int:
        return int(self.corpus.labels[row.index])

    def by_tier(self, place: int, tier: str) -> Certificate:
        return replace(self, shared=self.shared | {"tiers": (tier,)}).again([place])[0]

    def proven(self, places: Sequence[int]) -> Iterator[list[Certificate]]:
        positions = words_at_once(self.prepared.model) // max(len(self.prepared.classifier.label_names) // 2, 1)
        shared = self.shared | {"labelled": self.labelled}
        for decisions in in_order(self.decide, self.corpus.batches(places, positions), threads=self.threads):
            yield [Certificate(**decision, **shared) for decision in decisions]

    @torch.no_grad()
    def decide(self, batch: Batch) -> list[dict[str, Any]]:
        """What certificates of a batch say, without what all certificates share."""
        slack, budget, scale = self.prepared.slack, self.shared["max_substitutions"], self.shared["scale"]
        labels = torch.from_numpy(self.corpus.labels[batch.rows.numpy()])
        spec = Specification.of(
            self.corpus.index.for_rows(batch.ids),
            batch.mask,
            labels,
            classes=len(self.prepared.classifier.label_names),
            budget=budget,
            scale=scale,
            rows=batch.ids,
            reference=self._reference(batch, labels),
        ).to(self.prepared.classifier.device)
        answers = Answers.of(spec, slack, self.prepared.floor)
        logits = torch.from_numpy(self.corpus.logits[batch.rows.numpy()]).to(labels.device)
        predicted = logits.argmax(dim=1)
        read, replaceable, unknown = (counts.tolist() for counts in (spec.lengths, spec.replaceable, spec.unknown))
        right = (predicted == labels).tolist()
        free = [may_replace(count, budget, scale) for count in replaceable]
        bounded = [row for row in range(len(right)) if right[row] and free[row]]
        self._search(spec, torch.tensor(bounded, dtype=torch.int64, device=spec.labels.device), answers)
        others = logits.clone()
        others.scatter_(1, labels.unsqueeze(1), -torch.inf)
        own = (logits.gather(1, labels.unsqueeze(1)).squeeze(1) - others.amax(dim=1)).tolist()
        least, radii = answers.margins.amin(dim=1).tolist(), answers.radius.tolist()
        decisions: list[dict[str, Any]] = []
        for place, row in enumerate(batch.rows.tolist()):
            searched = right[place] and free[place]
            margin = least[place] if searched else own[place]
            radius = radii[place] if searched else 0 if right[place] else -1
            decisions.append(
                {
                    "index": row,
                    "verdict": verdict_of(right=right[place], free=free[place], proven=margin > slack),
                    "label": int(labels[place]),
                    "predicted": int(predicted[place]),
                    "margin": margin,
                    "tier": answers.tier[place] if searched else CLEAN,
                    "slack": slack,
                    "words": int(self.corpus.whole[row]),
                    "read": read[place],
                    "replaceable": replaceable[place],
                    "radius": radius if radius >= 0 else None,
                    "unknown": unknown[place],
                    "text_hash": self.corpus.hashes[row],
                    "milliseconds": answers.spent[place],
                }
            )
        return decisions

    def _reference(self, batch: Batch, labels: Tensor) -> Specification | Literal["itself"] | None:
        """The same texts with the substitutes that the model was trained for: a constant of the classifier."""
        if self.corpus.reference is None:
            return None if self.prepared.classifier.table is None else "itself"
        index, rows = self.corpus.reference
        found = index.for_rows(pad(rows, batch.rows.numpy()).ids)
        classes = len(self.prepared.classifier.label_names)
        return Specification.of(found, batch.mask, labels, classes=classes, scale=self.shared["scale"])

    def _search(self, spec: Specification, rows: Tensor, answers: Answers) -> None:
        """Try tier after tier on what is not certified yet; a batch is one thread's, whose time is measured."""
        parts, reached = None, rows
        for tier in self.shared["tiers"]:
            start = time.thread_time()
            open_ = reached[~answers.proven(reached)]
            if not len(open_):
                return
            if parts is None or 2 * len(open_) < len(reached):  # boxes are found anew only where that pays
                reached = open_
                parts = verifiers(self.prepared.model, spec.take(reached), self.prepared.tables)
            if not offered(tier, parts):
                continue
            answers.learn(tier, reached, bounds_of(tier, parts), time.thread_time() - start)
