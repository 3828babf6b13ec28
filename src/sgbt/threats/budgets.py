"""How much of its budgets a path has used, as numbered states; and what a lattice comes to in figures."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sgbt.core.errors import LexiconError
from sgbt.threats.edit_kinds import KINDS
from sgbt.threats.lattice import KEPT, NOTHING, Lattice

MOST_STATES = 4096
MOST_COST = 2
"""No edge costs more."""


@dataclass(frozen=True, eq=False)
class BudgetStates:
    """State 0 has used nothing; `step[state, kind, cost]` is the state behind an edit, -1 where a budget is exceeded.

    Only kinds with a limit are counted. `step[state, KEPT, 0]` is the state itself.
    """

    step: np.ndarray

    def __len__(self) -> int:
        return len(self.step)

    @staticmethod
    def of(*lattices: Lattice) -> BudgetStates:
        """The states of the paths of lattices of one threat."""
        present = {kind for lattice in lattices for kind in np.unique(lattice.kind).tolist()}
        return _states(lattices[0].limited, lattices[0].total, tuple(sorted(present - {KEPT})), len(KINDS))


@lru_cache(maxsize=64)
def _states(
    limited: tuple[tuple[int, int], ...], total: int | None, present: tuple[int, ...], all_kinds: int
) -> BudgetStates:
    limits = {kind: most for kind, most in limited if kind in present}
    if total is not None:
        limits = {kind: min(limits.get(kind, total), total) for kind in present}
    kinds = sorted(limits)
    if math.prod(limits[kind] + 1 for kind in kinds) > 16 * MOST_STATES:
        raise LexiconError(
            expected=f"budgets with at most {MOST_STATES:,} combinations", got="more", remedy="take smaller budgets"
        )
    spent = [
        used
        for used in itertools.product(*(range(limits[kind] + 1) for kind in kinds))
        if total is None or sum(used) <= total
    ]
    number = {used: place for place, used in enumerate(spent)}
    step = np.full((len(spent), all_kinds + 1, MOST_COST + 1), -1, dtype=np.int64)
    for used, place in number.items():
        step[place, KEPT, 0] = place
        for kind, cost in itertools.product(range(all_kinds), range(MOST_COST + 1)):
            after = list(used)
            if kind in limits:
                after[kinds.index(kind)] += cost
            step[place, kind, cost] = number.get(tuple(after), -1)
    return BudgetStates(step)


@dataclass(frozen=True, slots=True)
class LatticeDescription:
    """What a text may become: edits that are possible by kind, words of the shortest and longest version, and the
    base-10 logarithm of the number of paths, which is at least the number of versions."""

    words: int
    edits: tuple[tuple[str, int], ...]
    fewest: int
    most: int
    log10_paths: float

    def __str__(self) -> str:
        listed = ", ".join(f"{count:,} by {name.replace('_', ' ')}" for name, count in self.edits) or "no edit"
        return (
            f"{self.words:,} words; edits: {listed}; {self.fewest:,} to {self.most:,} words; "
            f"at most 10^{self.log10_paths:.1f} versions"
        )


def describe(lattice: Lattice) -> LatticeDescription:
    """A lattice in figures; paths are counted within the budgets."""
    states = BudgetStates.of(lattice)
    counts = [[0] * len(states) for _ in range(lattice.nodes)]
    lengths: list[list[tuple[int, int] | None]] = [[None] * len(states) for _ in range(lattice.nodes)]
    counts[0][0], lengths[0][0] = 1, (0, 0)
    edges = list(
        zip(*(part.tolist() for part in (lattice.source, lattice.target, lattice.kind, lattice.cost)), strict=True)
    )
    for edge in np.lexsort((lattice.source == lattice.target, lattice.target)).tolist():
        source, target, kind, cost = edges[edge]
        number = int(lattice.choices[edge])
        wide, more = (1, 0) if number == NOTHING else (len(lattice.sets[number]), 1)
        for state in range(len(states)):
            after, reached = int(states.step[state, kind, cost]), lengths[source][state]
            if after < 0 or reached is None:
                continue
            counts[target][after] += counts[source][state] * wide
            low, high = reached[0] + more, reached[1] + more
            known = lengths[target][after]
            lengths[target][after] = (low, high) if known is None else (min(low, known[0]), max(high, known[1]))
    spans = [span for span in lengths[-1] if span is not None]
    possible: Counter[int] = Counter()
    for (_, _, kind, _), number in zip(edges, lattice.choices.tolist(), strict=True):
        if kind != KEPT:
            possible[kind] += 1 if number == NOTHING else len(lattice.sets[number])
    return LatticeDescription(
        words=len(lattice.ids),
        edits=tuple((KINDS[kind], possible[kind]) for kind in sorted(possible)),
        fewest=min(low for low, _ in spans),
        most=max(high for _, high in spans),
        log10_paths=math.log10(sum(counts[-1])),
    )
