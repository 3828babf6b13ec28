"""PartsOfSpeech: the condition of PWWS that a substitute is a synonym of the word as it is used in its sentence.

A substitution table joins all parts of speech of a word, because a certificate must hold whatever the word is in its
sentence. An attack may look at less: with a tagger, only those substitutes are tried that WordNet lists as synonyms for
the tagged part of speech, as Ren et al. 2019 do. No tagger comes with sgbt; any callable from words to tags serves,
such as one around `nltk.pos_tag`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sgbt.core.errors import AttackError
from sgbt.threats.wordnet import load_wordnet
from sgbt.threats.wordnet_database import WordNet

BEGINNINGS = {"NN": "n", "NOUN": "n", "VB": "v", "VERB": "v", "JJ": "a", "ADJ": "a", "RB": "r", "ADV": "r"}
"""How tags of the Penn Treebank, and universal ones, begin; all others (PROPN, CD, ...) are never replaced."""


@dataclass(frozen=True)
class PartsOfSpeech:
    """A tagger, the name by which rows remember it, and the WordNet to look synonyms up in (the published one)."""

    tag: Callable[[Sequence[str]], Sequence[str]] = field(repr=False)
    name: str = "tagger"
    wordnet: WordNet | None = field(default=None, repr=False)

    def allowed(self, options: Sequence[Sequence[str]]) -> list[tuple[bool, ...]]:
        """For each position of a text, which of its substitutes fit; `options[i]` is the word and its substitutes."""
        words = [choices[0] for choices in options]
        tags = list(self.tag(words))
        if len(tags) != len(words):
            raise AttackError(
                expected=f"one part of speech for each of {len(words)} words",
                got=f"{len(tags)}",
                where=f"the answer of {self.name}",
                remedy="pass a callable from words to tags, without their words",
            )
        wordnet = load_wordnet() if self.wordnet is None else self.wordnet
        return [self._fitting(choices, tag, wordnet) for choices, tag in zip(options, tags, strict=True)]

    @staticmethod
    def _fitting(choices: Sequence[str], tag: str, wordnet: WordNet) -> tuple[bool, ...]:
        letter = next((letter for start, letter in BEGINNINGS.items() if tag.upper().startswith(start)), None)
        synonyms = set(wordnet.synonyms(choices[0], letter)) if letter and len(choices) > 1 else set()
        return tuple(word in synonyms for word in choices[1:])
