"""The texts of one search space, scored by any callable: each distinct text is asked about once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgbt.attacks.queries.engine import Classify, Neighbourhood, Probabilities, Query
from sgbt.attacks.space import MASKED, SearchSpace, State
from sgbt.core.errors import AttackError
from sgbt.data.tokenizer import Tokens

BATCH = 256
RESOLUTION = 6
"""Decimals of a probability that mean something: differences below are rounding, and count as none."""
MASK_WORD = "unk"
"""What stands for a masked word in a text that is shown to a victim whose unknown id is out of reach: one word."""


class CallableEngine:
    """Scores states as texts, in batches without repetitions, and remembers every answer."""

    def __init__(self, classify: Classify, space: SearchSpace, tokens: Tokens) -> None:
        self._classify, self._space, self._tokens = classify, space, tokens
        self._known: dict[str, Probabilities] = {}

    def answer(self, query: Query) -> Neighbourhood:
        """Label probabilities of the texts asked about and of their changes."""
        return CallableEngine.together([self], [query])[0]

    @staticmethod
    def together(engines: Sequence[CallableEngine], queries: Sequence[Query]) -> list[Neighbourhood]:
        """One answer per query, each from its own engine; all engines are of one callable."""
        texts = [
            [engine._written(state) for state in (*query.states, *query.swaps.applied(query.states))]
            for engine, query in zip(engines, queries, strict=True)
        ]
        new = [text for engine, own in zip(engines, texts, strict=True) for text in own if text not in engine._known]
        asked = list(dict.fromkeys(new))
        found: dict[str, Probabilities] = {}
        for start in range(0, len(asked), BATCH):
            batch = asked[start : start + BATCH]
            rows = checked_answer(engines[0]._classify(batch), len(batch)).round(RESOLUTION)
            found.update(zip(batch, rows, strict=True))
        answers = []
        for engine, query, own in zip(engines, queries, texts, strict=True):
            engine._known.update((text, found[text]) for text in own if text in found)
            rows = np.stack([engine._known[text] for text in own])
            answers.append(Neighbourhood(rows[: len(query.states)], rows[len(query.states) :]))
        return answers

    def _written(self, state: State) -> str:
        """The state as a text of as many words; what cannot be written changes nothing, so it breaks nothing."""
        swaps = dict(self._space.changes(np.where(state == MASKED, 0, state)))
        swaps |= {int(place): MASK_WORD for place in np.flatnonzero(state == MASKED)}
        text = self._tokens.written(swaps)
        return self._tokens.text if text is None else text


def checked_answer(answer: object, texts: int) -> Probabilities:
    """A victim's answer as probabilities, or what is wrong with it."""
    rows = np.asarray(answer, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != texts or rows.shape[1] < 2 or not np.isfinite(rows).all():
        raise AttackError(
            expected=f"one row of label probabilities for each of {texts} texts",
            got=f"an array of shape {rows.shape}" if np.isfinite(rows).all() else "values that are not finite",
            where="the answer of the model",
            remedy="pass a callable such as pipeline.predict_proba",
        )
    return rows
