"""The one check that every attack's answer must pass before anybody sees it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from sgbt.attacks.result import Swap
from sgbt.data.tokenizer import Tokenizer, Tokens
from sgbt.threats import SubstitutionTable


class AttackBugError(AssertionError):
    """An attack returned what is not an adversarial example: a bug in sgbt, never a condition of the input."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A text to be shown to the victim itself; the answer is the label that it gives."""

    text: str


def checked(
    tokenizer: Tokenizer, tokens: Tokens, swaps: tuple[Swap, ...], label: int, table: SubstitutionTable, name: str
) -> Generator[Shown, int, tuple[str, int] | None]:
    """The adversarial text and its new label, after all that makes it one was seen to hold.

    The text is written back, tokenised afresh, compared word by word with the allowed set, and shown to the victim
    itself, not to the engine that found it; texts of several attacks are shown together. None if no text can be written
    of the swaps, or if the victim keeps its label: an engine may round otherwise than the victim decides.
    """
    text = tokens.written({swap.position: swap.new for swap in swaps})
    if text is None:
        return None
    words = tokenizer.words(text)
    if len(words) != len(tokens):
        raise AttackBugError(f"{name}: {len(tokens)} words became {len(words)}")
    changed = {place for place, word in enumerate(words) if word != tokens.words[place]}
    for place in changed:
        if words[place] not in table.substitutes(tokens.words[place]):
            raise AttackBugError(f"{name}: {tokens.words[place]!r} -> {words[place]!r} is not allowed")
    if changed != {swap.position for swap in swaps}:
        raise AttackBugError(f"{name}: the swaps told are not the words that changed")
    if not changed:
        raise AttackBugError(f"{name}: no word changed")
    after = yield Shown(text)
    return None if after == label else (text, after)
