"""How long the rest takes, from how long the like took so far."""

from __future__ import annotations

from collections.abc import Sequence

from sgbt.evaluate.means import Mean
from sgbt.evaluate.unit import Unit


class Pace:
    """Seconds of units by family; a family nobody has seen is taken to be like all units of its kind, or like all."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._left: dict[str, Unit] = {}
        self._seconds: dict[tuple[str, ...], list[float]] = {}
        self._remaining: dict[str, float] = {}

    def expect(self, units: Sequence[Unit]) -> None:
        """What is still to be done."""
        self._left = {unit.key: unit for unit in units}

    def went_on(self, unit: Unit, fraction: float, seconds: float) -> None:
        """A running unit came so far in so many seconds."""
        if fraction > 0.01:
            self._remaining[unit.key] = seconds * (1 - fraction) / fraction

    def settled(self, unit: Unit, seconds: float, *, counts: bool) -> None:
        """A unit is over; only one that succeeded says how long the like takes."""
        self._left.pop(unit.key, None)
        self._remaining.pop(unit.key, None)
        if counts:
            for family in (unit.family, unit.family[:1], ()):
                self._seconds.setdefault(family, []).append(seconds)

    def seconds_left(self) -> float | None:
        """The seconds until all is done; None as long as there is nothing to go by."""
        if not self._seconds and len(self._remaining) < len(self._left):
            return None
        left = sum(self._remaining.get(key, self._typical(unit)) for key, unit in self._left.items())
        return left / min(self._workers, max(len(self._left), 1))

    def _typical(self, unit: Unit) -> float:
        for family in (unit.family, unit.family[:1], ()):
            if family in self._seconds:
                return Mean.of(self._seconds[family]).value
        return 0.0
