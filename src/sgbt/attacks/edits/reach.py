"""What an attack may make of texts: the substitutions of a table, or whatever a threat allows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sgbt.attacks.edits.space import ThreatSpace
from sgbt.attacks.edits.typing_errors import TypingErrors
from sgbt.attacks.result import Swap
from sgbt.attacks.space import SearchSpace, State
from sgbt.data.tokenizer import Tokenizer, Tokens
from sgbt.threats import LatticeMaker, SubstitutionTable, Threat, Vocabulary
from sgbt.threats.maker import is_reachable


class AttackBugError(AssertionError):
    """An attack returned what is not an adversarial example: a bug in sgbt, never a condition of the input."""


class AttackReach(Protocol):
    """Which texts may be made of one, and how rows name that."""

    @property
    def names(self) -> dict[str, str]:
        """The fields of a row that say what was allowed."""
        ...

    def space(self, tokens: Tokens, *, length: int | None) -> SearchSpace:
        """The texts that may be made of the first `length` words of one."""
        ...

    def swaps(self, space: SearchSpace, state: State) -> tuple[Swap, ...]:
        """What a text of the space changes."""
        ...

    def text(self, space: SearchSpace, tokens: Tokens, swaps: tuple[Swap, ...], state: State) -> str | None:
        """The text as a string, None where none is read so; an attack that goes too far is a bug, and raises."""
        ...


@dataclass(frozen=True)
class TableReach:
    """Words replaced by their substitutes."""

    table: SubstitutionTable
    method: str

    @property
    def names(self) -> dict[str, str]:
        """The hash of the table."""
        return {"table_hash": self.table.hash}

    def space(self, tokens: Tokens, *, length: int | None) -> SearchSpace:
        """Positions are words."""
        return SearchSpace.of(tokens.words, self.table, length=length)

    def swaps(self, space: SearchSpace, state: State) -> tuple[Swap, ...]:
        """Each word that was replaced."""
        return tuple(Swap(place, space.options[place][0], word) for place, word in sorted(space.changes(state).items()))

    def text(self, space: SearchSpace, tokens: Tokens, swaps: tuple[Swap, ...], state: State) -> str | None:
        """The text is written back, tokenised afresh, and compared word by word with the allowed set."""
        text = tokens.written({swap.position: swap.new for swap in swaps})
        if text is None:
            return None
        words = tokens.tokenizer.words(text)
        if len(words) != len(tokens):
            raise AttackBugError(f"{self.method}: {len(tokens)} words became {len(words)}")
        changed = {place for place, word in enumerate(words) if word != tokens.words[place]}
        for place in changed:
            if words[place] not in self.table.substitutes(tokens.words[place]):
                raise AttackBugError(f"{self.method}: {tokens.words[place]!r} -> {words[place]!r} is not allowed")
        if changed != {swap.position for swap in swaps}:
            raise AttackBugError(f"{self.method}: the stated swaps are not the words that changed")
        if not changed:
            raise AttackBugError(f"{self.method}: no word changed")
        return text


@dataclass(frozen=True, eq=False)
class ThreatReach:
    """Everything that a threat allows. A vocabulary says which misspelt words a model distinguishes."""

    threat: Threat
    tokenizer: Tokenizer
    vocabulary: Vocabulary | None
    method: str

    def __post_init__(self) -> None:
        LatticeMaker(self.threat, Vocabulary(()), self.tokenizer)  # refuses what no lattice can be made of

    @property
    def names(self) -> dict[str, str]:
        """The threat by its name, and its hash."""
        return {"threat": self.threat.name, "threat_hash": self.threat.hash}

    @cached_property
    def _errors(self) -> TypingErrors:
        return TypingErrors(self.tokenizer, self.vocabulary)

    def space(self, tokens: Tokens, *, length: int | None) -> SearchSpace:
        """Positions are stretches of the text."""
        return ThreatSpace.under(self.threat, tokens, self._errors, length=length)

    def swaps(self, space: Any, state: State) -> tuple[Swap, ...]:
        """Each edit by what stood there and what is written."""
        return tuple(
            Swap(space.stretches[at].place, space.options[at][0], space.options[at][state[at]])
            for at in np.flatnonzero(state).tolist()
        )

    def text(self, space: Any, tokens: Tokens, swaps: tuple[Swap, ...], state: State) -> str | None:
        """The text is read again from its string, and its words must stand along a path of the lattice."""
        text: str = space.written(state)
        if not is_reachable(self.threat, tokens.text, text, self.tokenizer):
            raise AttackBugError(f"{self.method}: {text!r} is not within {self.threat.name} of {tokens.text!r}")
        return text
