"""What a linear model counts at one position: the word itself, the word beside codes, and runs of codes.

Every feature of a position is a function of three things only: the word that stands there and the codes of its two
neighbours. That is what keeps the worst case over substitutions exact (`sgbt.models.bag_of_words.worst_case`).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sgbt.core.errors import ModelError

FAMILIES = ("before", "after", "around", "pair", "triple", "skip")
"""The features that read codes, by name; a family's place in this list is part of its keys.

- before, after, around: the word with the code of the previous word, of the next word, of both;
- pair: the code of the previous word and of this one; triple: the codes of previous, this and next word; skip: the
  codes of the previous and the next word. Where no word nearby is ambiguous, no substitution changes these.
"""

OF_CODES_ALONE = ("pair", "triple", "skip")
"""The families that do not read the word itself."""

BITS = 20
LARGEST = 1 << BITS
"""Words and codes must be fewer than this, so that three of them and a family fit into one 64-bit key."""


def keys_at(families: Sequence[str], words: Tensor, codes: Tensor, before: Tensor, after: Tensor) -> Tensor:
    """One whole number for each family at each position, [..., families]; different features have different keys.

    `words` are ids, `codes` their codes, `before` and `after` the codes of the neighbours (zero beyond the text).
    """
    words = words.long()  # three of them and a family do not fit into narrower numbers
    parts = {
        "before": (words, before),
        "after": (words, after),
        "around": (words, before, after),
        "pair": (before, codes),
        "triple": (before, codes, after),
        "skip": (before, after),
    }
    return torch.stack([_key(FAMILIES.index(name), *parts[name]) for name in families], dim=-1)


def _key(family: int, first: Tensor, second: Tensor, third: Tensor | None = None) -> Tensor:
    high = ((family << BITS | first) << BITS) | second
    return high << BITS if third is None else high << BITS | third


def word_of(keys: Tensor) -> Tensor:
    """The word of each key, or -1 for features of codes alone."""
    reads_word = torch.tensor([name not in OF_CODES_ALONE for name in FAMILIES], device=keys.device)
    return torch.where(reads_word[keys >> 3 * BITS], keys >> 2 * BITS & LARGEST - 1, -1)


def with_word(keys: Tensor, words: Tensor) -> Tensor:
    """The keys of the same features of other words."""
    return keys & ~(LARGEST - 1 << 2 * BITS) | words << 2 * BITS


def places_of(sorted_keys: Tensor, keys: Tensor) -> Tensor:
    """The place of each key in the sorted list, or -1 for one that is not listed."""
    if not len(sorted_keys):
        return torch.full_like(keys, -1)
    places = torch.searchsorted(sorted_keys, keys).clamp(max=len(sorted_keys) - 1)
    return places.masked_fill(sorted_keys[places] != keys, -1)


def check_families(families: Sequence[str]) -> None:
    """Refuse a name that is not a family, or one given twice."""
    for name in families:
        if name not in FAMILIES:
            raise ModelError(expected=f"some of {', '.join(FAMILIES)}", got=repr(name), where="the option features")
    if len(set(families)) < len(families):
        raise ModelError(expected="each family once", got=", ".join(families), where="the option features")
