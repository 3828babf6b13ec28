"""The texts of one search space, scored by any callable: each distinct text is asked about once."""

from __future__ import annotations

import numpy as np

from sgbt.attacks.engine import Classify, Neighbourhood, Probabilities, Swaps
from sgbt.attacks.space import MASKED, SearchSpace, State
from sgbt.data.tokenizer import Tokens
from sgbt.errors import AttackError

BATCH = 256
MASK_WORD = "<unk>"
"""What stands for a masked word in a text that is shown to a victim whose unknown id is out of reach."""


class CallableEngine:
    """Scores states as texts, in batches without repetitions, and remembers every answer."""

    resolution = 6

    def __init__(self, classify: Classify, space: SearchSpace, tokens: Tokens) -> None:
        self._classify, self._space, self._tokens = classify, space, tokens
        self._known: dict[str, Probabilities] = {}

    def probabilities(self, states: State) -> Probabilities:
        """Label probabilities of texts given in full."""
        texts = [self._written(state) for state in states]
        asked = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(asked), BATCH):
            batch = asked[start : start + BATCH]
            self._known.update(zip(batch, checked_answer(self._classify(batch), len(batch)), strict=True))
        rounded: Probabilities = np.stack([self._known[text] for text in texts]).round(self.resolution)
        return rounded

    def neighbourhood(self, states: State, swaps: Swaps) -> Neighbourhood:
        """Label probabilities of texts and of one-word changes of them."""
        both = self.probabilities(np.concatenate([states, swaps.applied(states)]))
        return Neighbourhood(both[: len(states)], both[len(states) :])

    def _written(self, state: State) -> str:
        swaps = dict(self._space.changes(np.where(state == MASKED, 0, state)))
        masked = np.flatnonzero(state == MASKED)
        if not len(masked):
            return self._tokens.replace(swaps)
        tokens, pieces, position = self._tokens, [], 0
        swaps |= {int(place): MASK_WORD for place in masked}
        for place in sorted(swaps):
            pieces += [tokens.text[position : tokens.starts[place]], swaps[place]]
            position = tokens.ends[place]
        return "".join([*pieces, tokens.text[position:]])


def checked_answer(answer: object, texts: int) -> Probabilities:
    """A victim's answer as probabilities, or what is wrong with it."""
    rows = np.asarray(answer, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != texts or rows.shape[1] < 2 or not np.isfinite(rows).all():
        raise AttackError(
            wanted=f"one row of label probabilities for each of {texts} texts",
            got=f"an array of shape {rows.shape}" if np.isfinite(rows).all() else "values that are not finite",
            where="the answer of the model",
            remedy="pass a callable such as pipeline.predict_proba",
        )
    return rows
