"""Who hears how training goes: a view on the screen, TensorBoard, a test, or nobody."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


class Listener(Protocol):
    """Told of every epoch and every step, in order; a resumed run begins in the middle of an epoch."""

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""


@runtime_checkable
class HearsPreparing(Protocol):
    """A listener that also wants to hear of long work before the first epoch (`preparing`)."""

    def preparing(self, title: str, done: int, of: int) -> None:
        """So many texts of all were prepared."""


def preparing(listener: Listener, title: str, done: int, of: int) -> None:
    """Tell a listener that wants to hear it of work before the first epoch."""
    if isinstance(listener, HearsPreparing):
        listener.preparing(title, done, of)


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

    def beforehand(self) -> Listener:
        """Who hears of linear models that are fitted before a network: those with a method of this name.

        A listener that counts or times epochs means those of the network.
        """
        asked = (getattr(listener, "beforehand", None) for listener in self._heard_by)
        return Listeners(*(own() for own in asked if own is not None))

    def preparing(self, title: str, done: int, of: int) -> None:
        """So many texts of all were prepared."""
        for listener in self._heard_by:
            preparing(listener, title, done, of)
