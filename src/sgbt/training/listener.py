"""Who hears how training goes: a view on the screen, TensorBoard, a test, or nobody."""

from __future__ import annotations

from typing import Protocol


class Listener(Protocol):
    """Told of every epoch and every step, in order; a resumed run begins in the middle of an epoch."""

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""


class Listeners:
    """Several listeners as one; without any, the listener that says nothing."""

    def __init__(self, *heard_by: Listener) -> None:
        self._heard_by = heard_by

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        for listener in self._heard_by:
            listener.epoch(number, of, steps)

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""
        for listener in self._heard_by:
            listener.step(number, parts, accuracy, examples)

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        for listener in self._heard_by:
            listener.scores(number, scores, best)
