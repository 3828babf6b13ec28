"""certify: for every text, a proof that no allowed substitution changes its label, or none."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from sgbt.certify.certificate import Certificate, verdict_of
from sgbt.certify.prepared import Prepared, prepared_of
from sgbt.certify.question import Question
from sgbt.certify.rounding import largest_margin
from sgbt.certify.rows import RowFile
from sgbt.certify.separable import SeparableBound
from sgbt.certify.tiers import DEFAULT_TIERS, bounds_of, check_tiers, lowest_of, offered, readings_of
from sgbt.data import Batch, RaggedIds, Split, TokenisedTexts, tokenise
from sgbt.data.batches import pad
from sgbt.errors import CertificateError
from sgbt.lexicon import SubstitutionIndex, SubstitutionTable
from sgbt.models import AnyModel, TextClassifier, TwoChannel

POSITIONS_PER_BATCH = 1 << 14
POSITIONS_PER_READING = {"cnn": 1 << 12, "bilstm": 1 << 12}
UNLIKE = 1.25
"""Texts of one batch are at most this many times as long as the shortest."""
CLEAN = "clean"
"""The tier of a text that is misclassified to begin with: nothing was bounded."""

HEAD = "head"
"""The tier of a text for which no tier tried found more than what holds for every text: the range of the head."""

Listener = Callable[[int, int], None]


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
) -> list[Certificate]:
    """Certify texts against every combination of substitutions that `table` allows (by default the model's own).

    Labels come from the split, from `labels`, or, for bare texts, from the model's own predictions. Each text is tried
    with the cheapest tier first and stops at the first that certifies it. `max_substitutions` limits how many words
    are replaced at once. With `out`, one JSON line per text is appended as it is decided, and the same call goes on
    where an interrupted one stood. `scale` below one draws substitutes towards the word, for studies. `listener` hears
    how many texts of how many are done.

    A text is read as the classifier reads it: cut to its maximal length, unknown words as the unknown word (their
    substitutes are tried all the same). A text with nothing to replace, or without words, is its own worst case.
    """
    tiers = check_tiers(tiers)
    prepared = prepared_of(classifier, table)
    corpus = _Corpus.of(prepared.classifier, texts, labels, prepared.index)
    shared = {
        "tiers": tiers,
        "max_substitutions": max_substitutions,
        "scale": scale,
        "table_hash": prepared.table.hash,
        "model_hash": prepared.model_hash,
    }
    with RowFile(out) if out is not None else nullcontext() as file:
        done: dict[int, Certificate] = {}
        if file is not None:
            file.check(**shared)
            file.check_texts(corpus.hashes, corpus.labels.tolist())
            done = {index: row for index, row in file.rows.items() if index < len(corpus)}
        run = _Run(prepared, corpus, tiers, max_substitutions, scale)
        for rows in run.groups([row for row in range(len(corpus)) if row not in done]):
            fresh = [Certificate(**decision, **shared) for decision in run.decide(rows)]  # type: ignore[arg-type]
            if file is not None:
                file.append(fresh)
            done |= {row.index: row for row in fresh}
            if listener:
                listener(len(done), len(corpus))
    return [done[row] for row in sorted(done)]


@dataclass(frozen=True, eq=False)
class _Corpus:
    """The texts as rows of a substitution index, with what their model says of them."""

    index: SubstitutionIndex
    whole: np.ndarray
    rows: RaggedIds
    labels: np.ndarray
    logits: np.ndarray
    hashes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @staticmethod
    def of(
        classifier: TextClassifier,
        texts: Split | Sequence[str],
        labels: Sequence[int] | None,
        index: SubstitutionIndex,
    ) -> _Corpus:
        if isinstance(texts, str):
            raise CertificateError(wanted="a list of texts", got="one text", where="certify", remedy="write [text]")
        given = texts.texts if isinstance(texts, Split) else tuple(texts)
        tokens: TokenisedTexts = tokenise(given, classifier.tokenizer, cache=isinstance(texts, Split))
        uncut = tokens.as_ids_of(index.rows_of(tokens.types))
        rows = uncut.cut(classifier.max_length)
        ids = RaggedIds(index.choices[:, 0].numpy()[rows.flat], rows.starts)
        logits = classifier.logits_of(ids).double().numpy()
        if labels is None and isinstance(texts, Split):
            labels = texts.labels.tolist()
        chosen = logits.argmax(axis=1) if labels is None else np.asarray(labels, dtype=np.int64)
        _check_labels(chosen, len(given), len(classifier.label_names))
        hashes = tuple(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16] for text in given)
        return _Corpus(index, uncut.lengths, rows, chosen, logits, hashes)


def _check_labels(labels: np.ndarray, texts: int, classes: int) -> None:
    if len(labels) != texts:
        raise CertificateError(wanted="one label for each text", got=f"{texts} texts and {len(labels)} labels")
    if texts and not 0 <= labels.min() <= labels.max() < classes:
        raise CertificateError(wanted=f"labels from 0 to {classes - 1}", got=f"{labels.min()} to {labels.max()}")


@dataclass(frozen=True, eq=False)
class _Run:
    prepared: Prepared
    corpus: _Corpus
    tiers: tuple[str, ...]
    budget: int | None
    scale: float

    def groups(self, pending: Sequence[int]) -> Iterator[Batch]:
        """The texts still to be decided, in batches of like length; `rows` numbers them within the corpus."""
        lengths = self.corpus.rows.lengths
        group: list[int] = []
        for row in sorted(pending, key=lambda row: (lengths[row], row)):
            longest = max(int(lengths[row]), 1)
            if group and ((len(group) + 1) * longest > POSITIONS_PER_BATCH or longest > lengths[group[0]] * UNLIKE + 8):
                yield pad(self.corpus.rows, np.array(group))
                group = []
            group.append(row)
        if group:
            yield pad(self.corpus.rows, np.array(group))

    @torch.no_grad()
    def decide(self, batch: Batch) -> list[dict[str, object]]:
        """What certificates of a batch say, without what all certificates share."""
        labels = torch.from_numpy(self.corpus.labels[batch.rows.numpy()])
        substitutions = self.corpus.index.for_rows(batch.ids)
        question = Question.of(
            substitutions,
            batch.mask,
            labels,
            classes=len(self.prepared.classifier.label_names),
            budget=self.budget,
            scale=self.scale,
        ).to(self.prepared.classifier.device)
        answers = Answers.of(question, self.prepared.slack, largest_margin(self.prepared.model))
        logits = torch.from_numpy(self.corpus.logits[batch.rows.numpy()]).to(labels.device)
        predicted = logits.argmax(dim=1)
        right = (predicted == labels).nonzero().squeeze(1)
        self._search(question, right.to(question.labels.device), answers)
        others = logits.clone()
        others.scatter_(1, labels.unsqueeze(1), -torch.inf)
        own = (logits.gather(1, labels.unsqueeze(1)).squeeze(1) - others.amax(dim=1)).tolist()
        decisions: list[dict[str, object]] = []
        for place, row in enumerate(batch.rows.tolist()):
            correct = bool(predicted[place] == labels[place])
            margin = float(answers.margins[place].amin()) if correct else own[place]
            decisions.append(
                {
                    "index": row,
                    "verdict": verdict_of(right=correct, proven=margin > self.prepared.slack),
                    "label": int(labels[place]),
                    "predicted": int(predicted[place]),
                    "margin": margin,
                    "tier": answers.tier[place] if correct else CLEAN,
                    "slack": self.prepared.slack,
                    "words": int(self.corpus.whole[row]),
                    "read": int(batch.mask[place].sum()),
                    "replaceable": int(question.replaceable[place]),
                    "radius": int(answers.radius[place]) if correct and answers.radius[place] >= 0 else None,
                    "text_hash": self.corpus.hashes[row],
                    "milliseconds": answers.spent[place],
                }
            )
        return decisions

    def _search(self, question: Question, right: Tensor, answers: Answers) -> None:
        """Try tier after tier on what is not certified yet; interval bounds on all at once, the others in parts."""
        dear = list(self.tiers)
        left = right
        if self.tiers[0] == "ibp" and len(right):
            start = time.perf_counter()
            bounds = bounds_of("ibp", readings_of(self.prepared.model, question.take(right), self.prepared.tables))
            answers.learn("ibp", right, bounds, time.perf_counter() - start)
            dear, left = dear[1:], right[~answers.proven(right)]
        for part in _parts(question, left, _positions(self.prepared.model)) if dear else ():
            self._search_part(question, part, dear, answers)

    def _search_part(self, question: Question, rows: Tensor, tiers: Sequence[str], answers: Answers) -> None:
        readings, reached = None, rows
        for tier in tiers:
            start = time.perf_counter()
            open_ = reached[~answers.proven(reached)]
            if not len(open_):
                return
            if readings is None or 2 * len(open_) < len(reached):  # boxes are found anew only where that pays
                reached = open_
                readings = readings_of(self.prepared.model, question.take(reached), self.prepared.tables)
            if not offered(tier, readings):
                continue
            answers.learn(tier, reached, bounds_of(tier, readings), time.perf_counter() - start)


@dataclass(frozen=True, eq=False)
class Answers:
    """What is known of each text of a batch so far: the best bound of each margin, and which tier gave the least."""

    margins: Tensor
    radius: Tensor
    tier: list[str]
    spent: list[dict[str, float]]
    slack: float

    @staticmethod
    def of(question: Question, slack: float, largest: float) -> Answers:
        """Nothing known yet but that no margin is larger than the head can make it."""
        return Answers(
            torch.full(question.rivals.shape, -largest, dtype=torch.float64, device=question.labels.device),
            torch.full_like(question.labels, -1),
            [HEAD] * len(question),
            [{} for _ in range(len(question))],
            slack,
        )

    def proven(self, rows: Tensor) -> Tensor:
        """Which of the texts are certified."""
        return (self.margins[rows] > self.slack).all(dim=1)

    def learn(self, tier: str, rows: Tensor, bounds: Sequence[SeparableBound], seconds: float) -> None:
        """Take in a tier's bounds of some texts; a text that was certified before keeps its tier."""
        lowest = lowest_of(bounds)
        best = torch.maximum(self.margins[rows], lowest)
        news = (best.amin(dim=1) > self.margins[rows].amin(dim=1)) & ~self.proven(rows)
        slack = torch.full((len(rows),), self.slack, dtype=torch.float64, device=best.device)
        radius = torch.stack([bound.radius(slack) for bound in bounds]).amax(dim=0)
        settled = self.proven(rows).tolist()
        share = round(1000 * seconds / max(len(rows), 1), 4)  # as rows have it, so that both give the same figures
        for place, (row, fresh) in enumerate(zip(rows.tolist(), news.tolist(), strict=True)):
            if settled[place]:
                continue
            self.spent[row][tier] = share
            if fresh:
                self.tier[row] = tier
            self.margins[row] = best[place]
            self.radius[row] = torch.maximum(self.radius[row], radius[place])


def _positions(model: AnyModel) -> int:
    if isinstance(model, TwoChannel):
        return min(_positions(part) for part in model.parts)
    return POSITIONS_PER_READING.get(model.kind, POSITIONS_PER_BATCH)


def _parts(question: Question, rows: Tensor, positions: int) -> Iterator[Tensor]:
    """Texts in runs of at most so many positions that the dearer tiers' tensors stay small."""
    size = max(positions // (max(question.mask.shape[1], 1) * max(question.classes // 2, 1)), 1)
    return (rows[start : start + size] for start in range(0, len(rows), size))
