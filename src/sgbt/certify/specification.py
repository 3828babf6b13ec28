"""Specification: that the label of these texts stays, whatever allowed words are put in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from sgbt.core.errors import CertificateError
from sgbt.core.shapes import Bool, Float, Int
from sgbt.models.shapes import Allowed, Choices, Ids, Labels, Lengths, Mask
from sgbt.threats import Substitutions
from sgbt.threats.vocabulary import PADDING, UNKNOWN

MOST_SUBSTITUTIONS = 1 << 63
"""One more than any row can hold."""


@dataclass(frozen=True, eq=False)
class AllowedSwaps:
    """Every single replacement that a batch allows, as a flat list: text, place and slot of each, [swaps] each.

    Most words have no substitutes and few have many, so the list is far shorter than [texts, words, choices]. Swaps of
    one word stand together: `spots` [replaceable words, 2] gives text and place of each word that has any, and
    `taken` [replaceable words, slots] says which slots from 1 on they are, in the order of the list.
    """

    text: Int[Tensor, " swaps"]
    place: Int[Tensor, " swaps"]
    slot: Int[Tensor, " swaps"]
    spots: Int[Tensor, "replaceable 2"]
    taken: Bool[Tensor, "replaceable slots"]

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True, eq=False)
class Specification:
    """A batch of texts with labels, and the words allowed at each position.

    `ids` and `allowed` are [texts, words, choices] with the word itself in slot 0; `mask` [texts, words] is True at
    real words. Padding holds padding only, whatever it was given as. `budget` limits how many words of a text are
    replaced at once; None is any number. A `scale` below one moves every substitute's vector towards the word's own: no
    adversary does that, but it shows how a tier fares as perturbations grow.

    Where every position's words are those of a row of one `SubstitutionIndex`, `rows` [texts, words] says which: what
    depends on a word alone is then found once for many specifications.

    `reference` is one about the same texts to whose boxes tiers fit their slopes; "itself" is this one without
    its budget. All slopes are sound. A reference that stays the same is what makes bounds monotone: one substitute
    more then moves offsets only, and never raises a bound. Without one, slopes are those at the text itself.
    """

    ids: Choices
    allowed: Allowed
    mask: Mask
    labels: Labels
    classes: int
    budget: int | None = None
    scale: float = 1.0
    rows: Ids | None = None
    reference: Specification | Literal["itself"] | None = None

    @staticmethod
    def of(
        substitutions: Substitutions,
        mask: Tensor,
        labels: Tensor,
        *,
        classes: int,
        budget: int | None = None,
        scale: float = 1.0,
        rows: Tensor | None = None,
        reference: Specification | Literal["itself"] | None = None,
    ) -> Specification:
        """The specification of a batch; what is not a real word becomes padding without substitutes."""
        ids, allowed = substitutions.ids, substitutions.allowed
        if mask.shape != ids.shape[:2] or labels.shape != ids.shape[:1]:
            raise CertificateError(
                expected="a mask [texts, words] and a label for each text",
                got=f"shapes {tuple(mask.shape)} and {tuple(labels.shape)} beside ids {tuple(ids.shape)}",
                where="Specification",
            )
        budget, scale = whole_budget(budget), share_of_distance(scale)
        first = torch.arange(ids.shape[2], device=ids.device) == 0
        return Specification(
            ids.masked_fill(~mask.unsqueeze(-1), PADDING),
            allowed & (mask.unsqueeze(-1) | first),
            mask,
            labels,
            classes,
            budget,
            scale,
            None if rows is None else rows.masked_fill(~mask, PADDING),
            reference,
        )

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device | str) -> Specification:
        """The same specification on another device."""
        return self._changed(lambda words: words.to(device), self.labels.to(device), lambda spec: spec.to(device))

    def take(self, rows: Tensor) -> Specification:
        """The same specification about some of the texts, without the padding that only the others needed."""
        longest = max(int(self.mask[rows].sum(dim=1).max()), 1) if len(rows) else 1
        return self._changed(lambda words: words[rows, :longest], self.labels[rows], lambda spec: spec.take(rows))

    def _changed(
        self, words: Callable[[Tensor], Tensor], labels: Tensor, reference: Callable[[Specification], Specification]
    ) -> Specification:
        return replace(
            self,
            ids=words(self.ids),
            allowed=words(self.allowed),
            mask=words(self.mask),
            labels=labels,
            rows=None if self.rows is None else words(self.rows),
            reference=reference(self.reference) if isinstance(self.reference, Specification) else self.reference,
        )

    @cached_property
    def fitted(self) -> Specification | None:
        """The specification to whose boxes slopes are fitted, if there is one."""
        if self.reference == "itself":
            return self if self.budget is None else replace(self, budget=None)
        return self.reference

    @cached_property
    def lengths(self) -> Lengths:
        """Real words of each text."""
        return self.mask.sum(dim=1)

    @cached_property
    def replaceable(self) -> Int[Tensor, " texts"]:
        """How many words of each text have a substitute."""
        return (self.allowed.sum(dim=2) > 1).sum(dim=1)

    @cached_property
    def unknown(self) -> Int[Tensor, " texts"]:
        """How many words of each text the model does not know."""
        return ((self.ids[..., 0] == UNKNOWN) & self.mask).sum(dim=1)

    @cached_property
    def rivals(self) -> Int[Tensor, "texts rivals"]:
        """The classes other than the label, ascending: [texts, classes - 1]."""
        others = torch.arange(self.classes - 1, device=self.labels.device)
        return others + (others >= self.labels.unsqueeze(1))

    @cached_property
    def swaps(self) -> AllowedSwaps:
        """Every single allowed replacement."""
        free = self.allowed[..., 1:]
        text, place, slot = free.nonzero(as_tuple=True)
        spots = free.any(dim=2).nonzero()
        return AllowedSwaps(text, place, slot + 1, spots, free[spots[:, 0], spots[:, 1]])

    def against_rivals(
        self, weight: Float[Tensor, "classes features"], bias: Float[Tensor, " classes"]
    ) -> tuple[Tensor, Tensor]:
        """The head's rows for (label - rival): weights [texts, rivals, features] and biases [texts, rivals]."""
        return (
            weight[self.labels].unsqueeze(1) - weight[self.rivals],
            bias[self.labels].unsqueeze(1) - bias[self.rivals],
        )


def whole_budget(given: Any) -> int | None:
    """How many words may be replaced, None being any number; what is no whole number is not taken for one."""
    if given is None:
        return None
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and 0 <= given < MOST_SUBSTITUTIONS:
        return int(given)
    raise CertificateError(
        expected="a whole number of substitutions of at least 0, or None",
        got=repr(given)[:60],
        where="max_substitutions",
    )


def share_of_distance(given: Any) -> float:
    """How far substitutes are from the word, 1 being where they are."""
    if isinstance(given, int | float | np.number) and not isinstance(given, bool) and 0 <= given <= 1:
        return given  # type: ignore[return-value]
    raise CertificateError(expected="a scale from 0 to 1", got=repr(given)[:60], where="scale")
