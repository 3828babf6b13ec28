"""Handing out work: every unit once, after the training it needs; a failure stops nothing but what needs it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sgbt.evaluate.metrics import Mean
from sgbt.evaluate.store import Store
from sgbt.evaluate.unit import Unit

TRIES = 3
"""How often a unit is given to a worker that then dies; a unit that fails by itself is tried once."""


@dataclass(frozen=True, slots=True)
class Event:
    """What an executor reports of a unit: `running` with a `fraction` done, or `finished`, `failed` or `lost`."""

    key: str
    state: str
    fraction: float = 0.0
    error: str = ""


class Executor(Protocol):
    """Somebody who does units of one store, several at a time."""

    @property
    def room(self) -> int:
        """How many more units it would take now."""
        ...

    def submit(self, unit: Unit) -> None:
        """Begin a unit."""
        ...

    def wait(self, seconds: float) -> list[Event]:
        """What happened, as soon as something did; nothing after so many seconds."""
        ...

    def close(self) -> None:
        """End all workers; what they had not finished is gone on with another time."""
        ...


class BenchListener:
    """Called as a benchmark goes on; this one does nothing."""

    def planned(self, units: Sequence[Unit], finished: Sequence[Unit]) -> None:
        """What there is to do, and what of it was done before."""

    def started(self, unit: Unit) -> None:
        """A unit was begun."""

    def went_on(self, unit: Unit, fraction: float) -> None:
        """So much of a unit is done."""

    def settled(self, unit: Unit, error: str) -> None:
        """A unit is done, or failed with an error."""


@dataclass
class Schedule:
    """The state of one benchmark: which units wait, run, are done or failed (`failed` has their errors)."""

    units: Sequence[Unit]
    store: Store
    executor: Executor
    listener: BenchListener = field(default_factory=BenchListener)
    failed: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """Do all units that are not done."""
        waiting = [unit for unit in self.units if not self.store.finished(unit.key)]
        done = {unit.key for unit in self.units} - {unit.key for unit in waiting}
        self.listener.planned(self.units, [unit for unit in self.units if unit.key in done])
        running: dict[str, Unit] = {}
        tries: dict[str, int] = {}
        while waiting or running:
            waiting = self._without_hope(waiting)
            for unit in [unit for unit in waiting if unit.needs is None or unit.needs in done][: self.executor.room]:
                waiting.remove(unit)
                running[unit.key] = unit
                tries[unit.key] = tries.get(unit.key, 0) + 1
                self.executor.submit(unit)
                self.listener.started(unit)
            if not running:
                if waiting:
                    time.sleep(0.2)  # an executor without room for a moment
                continue
            for event in self.executor.wait(1.0):
                unit = running[event.key]
                if event.state == "running":
                    self.listener.went_on(unit, event.fraction)
                    continue
                del running[event.key]
                if event.state == "lost" and tries[event.key] < TRIES:
                    waiting.insert(0, unit)
                    continue
                error = self._settle(unit, event)
                self.listener.settled(unit, error)
                if not error:
                    done.add(event.key)

    def _settle(self, unit: Unit, event: Event) -> str:
        """What the store says counts: a worker that died after writing the result has done its work."""
        if self.store.finished(unit.key):
            return ""
        error = event.error or "the worker ended without a result"
        if self.store.error(unit.key) is None or event.state == "lost":
            self.store.fail(unit, error)
        self.failed[unit.key] = error
        return error

    def _without_hope(self, waiting: list[Unit]) -> list[Unit]:
        """Units whose training failed fail with it."""
        for unit in [unit for unit in waiting if unit.needs in self.failed]:
            error = "the model that it measures could not be trained"
            self.store.fail(unit, error)
            self.failed[unit.key] = error
            self.listener.settled(unit, error)
        return [unit for unit in waiting if unit.key not in self.failed]


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
