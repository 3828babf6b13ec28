"""WordSets: the sets of words that the places of a batch allow, each once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgbt.core.shapes import Bool, Int
from sgbt.models.shapes import Allowed, Choices, Ids


@dataclass(frozen=True, slots=True)
class WordSets:
    """The sets of words that a batch allows, each once: set `places[text, word]` has `words[choices[set]]`.

    A text repeats words and words repeat their substitutes; doing the affine work once per distinct word and once per
    distinct set is what makes interval propagation about as cheap as an ordinary pass.
    """

    words: Int[Tensor, " distinct"]
    choices: Int[Tensor, "sets choices"]
    allowed: Bool[Tensor, "sets choices"]
    places: Ids

    @staticmethod
    def of(ids: Choices, allowed: Allowed) -> WordSets:
        """From ids and their mask, both [texts, words, choices], with the word itself first."""
        texts, length, width = ids.shape
        rows = ids.masked_fill(~allowed, -1).reshape(texts * length, width)
        sets, places = _distinct(rows)
        permitted = sets >= 0
        words, choices = sets.clamp(min=0).unique(return_inverse=True)
        return WordSets(words, choices, permitted, places.reshape(texts, length))

    def members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The allowed choices of all sets, one after another, and where each set starts, with the end of the last."""
        starts = np.zeros(len(self.choices) + 1, np.int64)
        np.cumsum(self.allowed.sum(dim=1).numpy(), out=starts[1:])
        return starts, self.choices[self.allowed].numpy()


def _distinct(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows in lexicographic order, and which of them each row is.

    Rows are distinguished by one number each, a random combination of theirs that wraps around at 2^64. Should two rows
    share theirs, which is found, the slow way goes.
    """
    sets: Tensor
    places: Tensor
    generator = torch.Generator().manual_seed(rows.shape[1])
    factors = torch.randint(-(2**63), 2**63 - 1, rows.shape[1:], generator=generator).to(rows.device)
    numbers, places = (rows * factors).sum(dim=1).unique(return_inverse=True)
    some = torch.empty_like(numbers).scatter_(0, places, torch.arange(len(rows), device=rows.device))
    sets = rows[some]
    if not torch.equal(sets[places], rows):
        sets, places = rows.unique(dim=0, return_inverse=True)
        return sets, places
    order = torch.from_numpy(np.lexsort(sets.T.flip(0).cpu().numpy())).to(rows.device)
    return sets[order], order.argsort()[places]
