"""PWWS: Probability Weighted Word Saliency (Ren, Deng, He and Che, ACL 2019).

1. The saliency of a word is S_i = P(y|x) - P(y|x with word i unknown).
2. The substitute of a word is the one with the greatest drop of P(y) in the original text.
3. Words are taken in descending order of softmax(S)_i times that drop, and their substitutes are put in one after the
   other, until the label changes.

Departures. The paper looks up WordNet synonyms of the word's part of speech in the sentence; here the table says what
may stand for what, and the table `wordnet` joins all parts of speech. With a tagger (`parts_of_speech`), only synonyms
of the tagged part of speech are tried. Named entities are replaced if the table lists them
(`sgbt.threats.named_entities`). The texts of step 3 are known in advance, so they are scored many at a time; only those
up to the first broken one count as queries. Every masked word counts as a query, but only those that decide the order
are asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.search.method import Limited
from sgbt.attacks.search.scorer import Asking, Scorer
from sgbt.attacks.space import MASKED, State
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


FIRST_LOOK = 8
"""How many texts of the last step are scored in the first request; each further request has twice as many."""


@dataclass(frozen=True, kw_only=True)
class PWWS(Limited):
    """Words in the order of saliency times the drop of their best substitute."""

    name: ClassVar[str] = "pwws"
    replaces_words: ClassVar[bool] = True
    source: ClassVar[str] = "wordnet"
    parts_of_speech: PartsOfSpeech | None = None
    """None tries every substitute that the table lists."""

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The first broken text along the order, or None."""
        space, label = scorer.space, scorer.label
        if not len(space.replaceable):
            return None
        positions, choices = space.swaps
        if self.parts_of_speech is not None:
            fitting = np.array(
                [fits for own in self.parts_of_speech.allowed(space.options) for fits in own], dtype=bool
            )
            positions, choices = positions[fitting], choices[fitting]
            if not len(positions):
                return None
        scorer.charge(1 + len(space))  # the text itself, and each of its words masked, as the paper counts
        zero = np.zeros(len(positions), np.int64)
        found = yield from scorer.neighbourhood(space.original[None], zero, positions, choices)
        left = found.swaps[:, label]
        edges = np.flatnonzero(np.diff(positions, prepend=-1))
        best = [start + int(np.argmin(part)) for start, part in zip(edges, np.split(left, edges[1:]), strict=True)]
        order = Order(positions[best], found.texts[0, label] - left[best])
        most = min(self.most_changes(space), len(best))
        start, size = 0, FIRST_LOOK
        state = space.original
        while start < most:
            wanted = order.unsure(start + size)
            order.learn(wanted, (yield from self._masked(scorer, order.positions[wanted])))
            states: list[State] = []
            for which in order.first(min(start + size, most))[start:]:
                state[positions[best[which]]] = choices[best[which]]
                states.append(state.copy())
            answers = yield from scorer.probabilities(np.stack(states), free=True)
            broken = np.flatnonzero(scorer.broken(answers))
            scorer.charge(int(broken[0]) + 1 if len(broken) else len(states))
            if len(broken):
                return states[int(broken[0])]
            start, size = start + size, 2 * size
        return None

    @staticmethod
    def _masked(scorer: Scorer, positions: NDArray[np.int64]) -> Asking[NDArray[np.float64]]:
        """P(y|x with the word masked) for some positions; they were charged for."""
        if not len(positions):
            return np.zeros(0)
        zero = np.zeros(len(positions), np.int64)
        found = yield from scorer.neighbourhood(
            scorer.space.original[None], zero, positions, np.full(len(positions), MASKED), free=True
        )
        return found.swaps[:, scorer.label]


class Order:
    """The order of descending softmax(S)_i drop_i, found by asking only for the saliencies that decide it.

    S_i = P - m_i, where m_i is the probability with word i masked, and one positive factor for all words changes no
    order: it is that of exp(-m_i) drop_i. As m_i is a probability, this lies between drop_i and drop_i / e. A word
    whose upper end is below the lower ends of k others is not among the first k, whatever its saliency.
    """

    def __init__(self, positions: NDArray[np.int64], drops: NDArray[np.float64]) -> None:
        self.positions, self._drops = positions, drops
        self._least, self._most = np.zeros(len(drops)), np.ones(len(drops))
        """What is known of m_i."""

    def unsure(self, count: int) -> NDArray[np.int64]:
        """The words whose saliency must be known before the first `count` are."""
        ends = np.sort([self._drops * np.exp(-self._least), self._drops * np.exp(-self._most)], axis=0)
        lower, upper = ends
        bar = np.sort(lower)[-min(count, len(lower))]
        return np.flatnonzero((upper >= bar) & (self._least < self._most))

    def learn(self, which: NDArray[np.int64], masked: NDArray[np.float64]) -> None:
        """m_i of some words."""
        self._least[which] = self._most[which] = masked

    def first(self, count: int) -> NDArray[np.int64]:
        """The first `count` words, of which equals stand in the order of the text; `unsure` of them were learnt."""
        return np.argsort(-self._drops * np.exp(-self._least), kind="stable")[:count]
