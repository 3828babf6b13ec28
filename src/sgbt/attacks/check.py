"""The one check that every attack's answer must pass before anybody sees it."""

from __future__ import annotations

import numpy as np

from sgbt.attacks.result import Swap
from sgbt.attacks.victim import Victim
from sgbt.data.tokenizer import Tokens
from sgbt.lexicon import SubstitutionTable


class AttackBugError(AssertionError):
    """An attack returned what is not an adversarial example: a bug in sgbt, never a condition of the input."""


def checked(
    victim: Victim, tokens: Tokens, swaps: tuple[Swap, ...], label: int, table: SubstitutionTable, name: str
) -> tuple[str, int]:
    """The adversarial text and its new label, after all that makes it one was seen to hold.

    The text is written back, tokenised afresh, compared word by word with the allowed set, and shown to the victim
    itself, not to the engine that found it.
    """
    text = tokens.replace({swap.position: swap.new for swap in swaps})
    words = victim.tokenizer.words(text)
    if len(words) != len(tokens):
        raise AttackBugError(f"{name}: {len(tokens)} words became {len(words)}")
    changed = {place for place, word in enumerate(words) if word != tokens.words[place]}
    for place in changed:
        if words[place] not in table.substitutes(tokens.words[place]):
            raise AttackBugError(f"{name}: {tokens.words[place]!r} -> {words[place]!r} is not allowed")
    if changed != {swap.position for swap in swaps}:
        raise AttackBugError(f"{name}: the swaps told are not the words that changed")
    after = int(np.argmax(victim.probabilities([text])[0]))
    if after == label:
        raise AttackBugError(f"{name}: the label did not change")
    return text, after
