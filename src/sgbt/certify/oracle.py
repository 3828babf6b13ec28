"""The exhaustive oracle: the exact worst case of one text, by looking at every text it can become."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.certify.question import Question
from sgbt.core.errors import CertificateError
from sgbt.models import AnyModel

MOST_COMBINATIONS = 200_000
"""Texts that become more than this many others are refused by default."""


@dataclass(frozen=True, eq=False)
class Exact:
    """The least margins [rivals] over all allowed texts, and for each rival the ids that reach it [rivals, words]."""

    margins: Tensor
    texts: Tensor
    combinations: int

    @property
    def worst(self) -> float:
        """The least margin over all rivals."""
        return float(self.margins.amin())


def combinations_of(question: Question, text: int) -> int:
    """How many texts one text can become within the budget, itself included."""
    counts = [1] + [0] * int(question.replaceable[text])
    for extra in (question.allowed[text].sum(dim=1) - 1).tolist():  # polynomial product: coefficient n is n replaced
        if extra:
            counts = [kept + extra * (counts[n - 1] if n else 0) for n, kept in enumerate(counts)]
    limit = len(counts) if question.budget is None else question.budget + 1
    return sum(counts[:limit])


@torch.no_grad()
def exhaustive(
    model: AnyModel, question: Question, text: int, *, most: int = MOST_COMBINATIONS, batch_size: int = 1024
) -> Exact:
    """Evaluate `model`, in its own precision, on every allowed variant of one text of the question."""
    if question.scale != 1.0:
        raise CertificateError(expected="substitutes as they are", got=f"scale {question.scale}", where="the oracle")
    total = combinations_of(question, text)
    if total > most:
        raise CertificateError(
            expected=f"a text with at most {most:,} variants",
            got=f"{total:,}",
            where="the exhaustive oracle",
            remedy="raise most=, or use a shorter text",
        )
    label, rivals, mask = question.labels[text], question.rivals[text], question.mask[text]
    best: Tensor | None = None
    kept = question.ids[text, :, 0].expand(len(rivals), -1).clone()
    for ids in _variants(question, text, batch_size):
        logits = model(ids, mask.expand(len(ids), -1))
        margins = logits[:, label].unsqueeze(1) - logits[:, rivals]
        least, where = margins.min(dim=0)
        better = torch.ones_like(least, dtype=torch.bool) if best is None else least < best
        kept[better] = ids[where[better]]
        best = least if best is None else torch.minimum(best, least)
    assert best is not None
    return Exact(best, kept, total)


def _variants(question: Question, text: int, batch_size: int) -> Iterator[Tensor]:
    """All variants within the budget, [variants, words] at a time."""
    places = [place for place, count in enumerate(question.allowed[text].sum(dim=1).tolist()) if count > 1]
    choices = [question.ids[text, place][question.allowed[text, place]].tolist() for place in places]
    base = question.ids[text, :, 0]
    # slots are counted, not ids: a substitute may be read as the very id of the word that it replaces
    slots: Iterator[tuple[int, ...]] = itertools.product(*(range(len(choice)) for choice in choices))
    if question.budget is not None:
        budget = question.budget
        slots = (taken for taken in slots if sum(slot > 0 for slot in taken) <= budget)
    while chunk := list(itertools.islice(slots, batch_size)):
        ids = base.repeat(len(chunk), 1)
        for column, (place, choice) in enumerate(zip(places, choices, strict=True)):
            ids[:, place] = ids.new_tensor([choice[taken[column]] for taken in chunk])
        yield ids
