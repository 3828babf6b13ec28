"""The texts to be certified as a model reads them, in batches, and work on several batches at a time."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

from sgbt.certify.certificate import Certificate
from sgbt.core.errors import CertificateError
from sgbt.data import Batch, RaggedIds, Split, TokenisedTexts, tokenise
from sgbt.data.batches import pad
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionIndex

UNLIKE = 1.25
"""Texts of one batch are at most this many times as long as the shortest."""


@dataclass(frozen=True, eq=False)
class ReadTexts:
    """`rows` holds what the model reads of each text, `whole` how many words it has, `logits` the answer.

    Where the model was trained for another table than `index` has, `reference` is that one's index and the texts as its
    rows.
    """

    index: SubstitutionIndex
    whole: np.ndarray
    rows: RaggedIds
    labels: np.ndarray
    logits: np.ndarray
    hashes: tuple[str, ...]
    reference: tuple[SubstitutionIndex, RaggedIds] | None

    def __len__(self) -> int:
        return len(self.rows)

    @staticmethod
    def of(
        classifier: TextClassifier,
        texts: Split | Sequence[str],
        labels: Sequence[int] | None,
        index: SubstitutionIndex,
        other: SubstitutionIndex | None = None,
    ) -> ReadTexts:
        """Read texts; labels come from the split, from `labels`, or are predictions; `other` indexes the reference."""
        if isinstance(texts, str):
            raise CertificateError(expected="a list of texts", got="one text", where="certify", remedy="write [text]")
        given = texts.texts if isinstance(texts, Split) else tuple(texts)
        tokens: TokenisedTexts = tokenise(given, classifier.tokenizer, cache=isinstance(texts, Split))
        uncut = tokens.as_ids_of(index.rows_of(tokens.types))
        rows = uncut.cut(classifier.max_length)
        ids = RaggedIds(index.choices[:, 0].numpy()[rows.flat], rows.starts)
        logits = classifier.logits_of(ids).numpy()
        require_finite_logits(logits)
        if labels is None and isinstance(texts, Split):
            labels = texts.labels.tolist()
        chosen = logits.argmax(axis=1) if labels is None else whole_labels(labels)
        _check_labels(chosen, len(given), len(classifier.label_names))
        hashes = tuple(map(Certificate.hash_of, given))
        reference = None
        if other is not None:
            reference = other, tokens.as_ids_of(other.rows_of(tokens.types)).cut(classifier.max_length)
        return ReadTexts(index, uncut.lengths, rows, chosen, logits, hashes, reference)

    def batches(self, pending: Sequence[int], positions: int) -> Iterator[Batch]:
        """The texts still to be decided, in batches of like length of at most so many positions."""
        lengths = self.rows.lengths
        group: list[int] = []
        for row in sorted(pending, key=lambda row: (lengths[row], row)):
            longest = max(int(lengths[row]), 1)
            if group and ((len(group) + 1) * longest > positions or longest > lengths[group[0]] * UNLIKE + 8):
                yield pad(self.rows, np.array(group))
                group = []
            group.append(row)
        if group:
            yield pad(self.rows, np.array(group))


def require_finite_logits(logits: np.ndarray) -> None:
    """Refuse answers that are no numbers: of such a model nothing is said."""
    if not np.isfinite(logits).all():
        raise CertificateError(
            expected="finite logits of every text",
            got="a NaN or an infinity",
            where="certify",
            remedy="train again",
        )


def whole_labels(labels: Sequence[int]) -> np.ndarray:
    """Labels as an array; one that is no whole number is not taken for one."""
    with contextlib.suppress(ValueError, TypeError, OverflowError), np.errstate(invalid="ignore"):
        found = np.asarray(labels)
        if found.ndim == 1 and (found.astype(np.int64) == found).all():
            return found.astype(np.int64)
    raise CertificateError(
        expected="a whole number for each text as its label", got=repr(labels)[:60], where="the labels"
    )


def _check_labels(labels: np.ndarray, texts: int, classes: int) -> None:
    if len(labels) != texts:
        raise CertificateError(expected="one label for each text", got=f"{texts} texts and {len(labels)} labels")
    if texts and not 0 <= labels.min() <= labels.max() < classes:
        raise CertificateError(expected=f"labels from 0 to {classes - 1}", got=f"{labels.min()} to {labels.max()}")


Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], *, threads: int) -> Iterator[Result]:
    """work(item) for every item. Meanwhile torch computes each operation on one thread: threads share out the items.

    Torch leaves Python's lock while it computes, so threads are enough, and all read the same tables. Only a few items
    are taken before their turn.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if threads == 1:
            yield from map(work, items)
            return
        pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
    finally:
        torch.set_num_threads(before)
