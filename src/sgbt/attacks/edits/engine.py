"""The texts of a threat's space, scored as strings: each distinct one is asked about once."""

from __future__ import annotations

from sgbt.attacks.edits.space import ThreatSpace
from sgbt.attacks.queries.callable import CallableEngine
from sgbt.attacks.queries.engine import Classify
from sgbt.attacks.space import State


class ThreatEngine(CallableEngine):
    """What a victim says about texts as they are written; of a state that is none, what it says about the original."""

    def __init__(self, classify: Classify, space: ThreatSpace) -> None:
        super().__init__(classify, space, space.tokens)
        self._edits = space

    def _written(self, state: State) -> str:
        return self._edits.spaced(state) if self._edits.admits(state[None])[0] else self._edits.tokens.text
