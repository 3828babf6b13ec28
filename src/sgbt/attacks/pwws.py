"""PWWS: Probability Weighted Word Saliency (Ren, Deng, He and Che, ACL 2019).

1. The saliency of a word is S_i = P(y|x) - P(y|x with word i unknown).
2. The substitute of a word is the one with the greatest drop of P(y) in the original text.
3. Words are taken in descending order of softmax(S)_i times that drop, and their substitutes are put in one after the
   other, until the label changes.

Departures. The paper looks up WordNet synonyms of the word's part of speech in the sentence; here the table says what
may stand for what, and the table `wordnet` joins all parts of speech, because no tagger comes with sgbt. Named entities
are replaced only if the table lists them. The texts of step 3 are known in advance, so they are scored many at a
time; only those up to the first broken one count as queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sgbt.attacks.method import Limited
from sgbt.attacks.scorer import Asking, Scorer
from sgbt.attacks.space import MASKED, State

FIRST_LOOK = 16
"""How many texts of the last step are scored in the first request; each further request has twice as many."""


@dataclass(frozen=True, kw_only=True)
class PWWS(Limited):
    """Words in the order of saliency times the drop of their best substitute."""

    name: ClassVar[str] = "pwws"
    source: ClassVar[str] = "wordnet"

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """The first broken text along the order, or None."""
        space, label = scorer.space, scorer.label
        if not len(space.replaceable):
            return None
        positions, choices = space.swaps
        scorer.charge(1)  # the text itself
        found = yield from scorer.neighbourhood(
            space.original[None],
            np.zeros(len(space) + len(positions), np.int64),
            np.concatenate([np.arange(len(space)), positions]),
            np.concatenate([np.full(len(space), MASKED), choices]),
        )
        original = found.texts[0, label]
        masked, left = np.split(found.swaps[:, label], [len(space)])
        saliency = original - masked
        weights = np.exp(saliency - saliency.max())
        weights /= weights.sum()
        edges = np.flatnonzero(np.diff(positions, prepend=-1))
        best = [start + int(np.argmin(part)) for start, part in zip(edges, np.split(left, edges[1:]), strict=True)]
        gain = weights[positions[best]] * (original - left[best])
        order = np.argsort(-gain, kind="stable")[: self.most_changes(space)]
        states = np.repeat(space.original[None], len(order), axis=0)
        for step, which in enumerate(order):
            states[step:, positions[best[which]]] = choices[best[which]]
        start, size = 0, FIRST_LOOK
        while start < len(states):
            part = states[start : start + size]
            broken = np.flatnonzero(scorer.broken((yield from scorer.probabilities(part, free=True))))
            scorer.charge(int(broken[0]) + 1 if len(broken) else len(part))
            if len(broken):
                return part[broken[0]]
            start, size = start + size, 2 * size
        return None
