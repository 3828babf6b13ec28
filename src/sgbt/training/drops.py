"""Drops: what the worst outcome of an edit takes from each word of a vocabulary, as training sees it.

What an edit does to a bag of words is nearly a matter of the word it meets: each distinct word has outcomes (another
word, "unknown", two halves, nothing), and the least over them is found once per distinct word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from sgbt.threats import Vocabulary
from sgbt.threats.edit_kinds import rewrites
from sgbt.threats.lattice import ChoiceSets
from sgbt.threats.misspelt import Misspelt
from sgbt.threats.threat import Edit
from sgbt.threats.vocabulary import PADDING, UNKNOWN

Outcome = tuple[int, int]
"""The ids that stand in the place of a word, `PADDING` for none."""


@dataclass(frozen=True, eq=False)
class Drops:
    """The outcomes of one kind of edit, word by word: outcome i, two ids, belongs to word `owner[i]`."""

    first: Tensor
    second: Tensor
    owner: Tensor
    at_most: int | None

    @staticmethod
    def of(edit: Edit, vocabulary: Vocabulary) -> Drops:
        """Of all words of a vocabulary."""
        found = _outcomes(edit, vocabulary)
        owner = [number for number, each in enumerate(found) for _ in each]
        pairs = [pair for each in found for pair in each]
        first, second = (torch.tensor([pair[side] for pair in pairs], dtype=torch.int64) for side in (0, 1))
        return Drops(first, second, torch.tensor(owner, dtype=torch.int64), edit.at_most)

    def worst(self, leads: Tensor, codes: Tensor | None = None) -> Tensor:
        """What the worst outcome of each word takes away from each lead, at least 0, [ids, leads]. With `codes` leads
        and outcomes are those of codes."""
        after = leads[self.first] + leads[self.second]
        own = leads if codes is None else leads[codes]
        least = own.scatter_reduce(0, self.owner.unsqueeze(1).expand_as(after), after, "amin", include_self=True)
        return own - least

    def taken(self, leads: Tensor) -> Tensor:
        """The same where the edit is made: below 0 where that helps, and minus infinity where it cannot be made."""
        after = leads[self.first] + leads[self.second]
        none = torch.full_like(leads, torch.inf)
        return leads - none.scatter_reduce(0, self.owner.unsqueeze(1).expand_as(after), after, "amin")


def _outcomes(edit: Edit, vocabulary: Vocabulary) -> list[set[Outcome]]:
    names = ("", "", *vocabulary.words)
    found: list[set[Outcome]] = [set() for _ in names]
    sets = ChoiceSets()
    misspelt = Misspelt(vocabulary, sets) if edit.kind == "typos" else None
    for number, word in enumerate(names):
        if number == PADDING:
            continue
        if misspelt is not None:
            found[number] |= _typos_of(word, misspelt, sets, vocabulary)
        elif edit.kind == "insertions":
            found[number] |= {(number, other) for other in vocabulary.encode(edit.words)}
        elif word:
            found[number] |= set(_written(edit, word, vocabulary))
    return found


def _written(edit: Edit, word: str, vocabulary: Vocabulary) -> Iterator[Outcome]:
    """What an edit makes of a word alone, of up to two words."""
    for taken, choices in rewrites(edit, (word,), 0):
        if taken == 1 and len(choices) <= 2:
            ids = [vocabulary.encode(each) for each in choices]
            yield from product(*ids, *([[PADDING]] * (2 - len(ids))))


def _typos_of(word: str, misspelt: Misspelt, sets: ChoiceSets, vocabulary: Vocabulary) -> set[Outcome]:
    """One error within a word: another word, an unknown one, or two halves with or without the character between."""
    found = {(number, PADDING) for _, _, each in misspelt.changed(word, 1) for number in sets[each]} if word else set()
    found.add((UNKNOWN, PADDING))
    for at in range(1, len(word)):
        left = vocabulary.id_of(word[:at])
        found.add((left, vocabulary.id_of(word[at:])))
        if at + 1 < len(word):
            found.add((left, vocabulary.id_of(word[at + 1 :])))
    return found
