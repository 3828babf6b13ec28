"""What every attack is: a value with options, and one search; and attacks by their names on the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.search.scorer import Asking, Scorer
from sgbt.attacks.space import SearchSpace, State
from sgbt.core.errors import AttackError, did_you_mean
from sgbt.core.registry import ATTACKS


class Attack(Protocol):
    """A way to look for a text of the space that the victim gives another label."""

    @property
    def name(self) -> str:
        """How rows and the command line call it."""
        ...

    @property
    def source(self) -> str:
        """The substitution table that its paper used, by its name on the command line."""
        ...

    def search(self, scorer: Scorer, rng: np.random.Generator) -> Asking[State | None]:
        """A generator that asks, and comes to a broken text, or None where none was found.

        All randomness comes from `rng`.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Limited:
    """An attack that may change at most a share of the words that are read; 1 is no limit."""

    source: ClassVar[str] = "counter_fitted"
    max_changed: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.max_changed <= 1:
            raise AttackError(
                expected="a share of changed words above 0 and up to 1", got=str(self.max_changed), where="max_changed"
            )

    def most_changes(self, space: SearchSpace) -> int:
        """How many words of a text may be changed."""
        return math.floor(self.max_changed * len(space) + 1e-9)

    def within(self, states: State) -> NDArray[np.bool_]:
        """Which texts keep the limit."""
        found: NDArray[np.bool_] = (states != 0).sum(axis=1) <= math.floor(self.max_changed * states.shape[1] + 1e-9)
        return found


def draw_each(rng: np.random.Generator, weights: NDArray[np.floating]) -> NDArray[np.int64]:
    """One place for each row of weights, in proportion to them: a uniform number, looked up in their running sums."""
    sums = np.cumsum(weights, axis=1)
    thresholds = rng.random(len(sums)) * sums[:, -1]
    found: NDArray[np.int64] = (sums <= thresholds[:, None]).sum(axis=1).clip(max=sums.shape[1] - 1)
    return found


def still_original(states: State, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each text, the weights of the words that are not yet replaced; of all words, when every one is."""
    left = np.where(states == 0, weights, 0)
    left[~left.any(axis=1)] = weights
    return left


def substitutes_at(
    space: SearchSpace, places: NDArray[np.int64], most: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each of some texts, all substitutes at its place, or the first `most`: their texts, and their choices."""
    counts = space.substitutes[places] if most is None else np.minimum(space.substitutes[places], most)
    owners = np.repeat(np.arange(len(places)), counts)
    return owners, np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + 1


def first_where(found: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first place that is True in each stretch; stretches begin at `starts`, and each has one."""
    places = np.flatnonzero(found)
    first: NDArray[np.int64] = places[np.searchsorted(places, starts)]
    return first


def at_least(name: str, value: float, least: float) -> None:
    """Refuse an option that is too small."""
    if value < least:
        raise AttackError(expected=f"{name} of at least {least}", got=str(value))


def within_threat(attack: Attack, options: Mapping[str, Any]) -> Attack:
    """The attack as it is made within a threat, whose budgets take the place of a share of words."""
    if getattr(attack, "replaces_words", False):
        raise AttackError(
            expected="an attack that makes any edit",
            got=f"{attack.name}, which is about substitutes",
            where="an attack within a threat",
            remedy="take greedy, beam, genetic, pso, charmer or leave-out",
        )
    if options.get("max_changed", 1.0) != 1.0:
        raise AttackError(
            expected="the budgets of the threat alone",
            got=f"max_changed {options['max_changed']}",
            where="an attack within a threat",
            remedy="leave it out, or lower the budgets",
        )
    return replace(attack, max_changed=1.0) if isinstance(attack, Limited) else attack


ALIASES = {"ga": "genetic"}


def method_named(name: str, **options: Any) -> Attack:
    """The attack of a name, with some of its options changed."""
    head, colon, preset = name.strip().lower().partition(":")
    full = ALIASES.get(head, head) + colon + preset
    if full not in ATTACKS:
        raise AttackError(
            expected=f"one of {', '.join(ATTACKS)}",
            got=repr(name),
            where="method",
            remedy=did_you_mean(full, ATTACKS) or "choose one of them",
        )
    attack: Attack = ATTACKS[full]() if isinstance(ATTACKS[full], type) else ATTACKS[full]
    known = {field.name for field in fields(attack)}  # type: ignore[arg-type]
    if unknown := sorted(set(options) - known):
        raise AttackError(
            expected=f"options of {full} ({', '.join(sorted(known))})", got=unknown[0], where="the options of an attack"
        )
    return replace(attack, **options)  # type: ignore[type-var]


def options_of(name: str, attack: Attack) -> dict[str, Any] | None:
    """The options that `method_named` needs to give this attack; None if no plain values do."""
    base = method_named(name) if name in ATTACKS else None
    if type(base) is not type(attack):
        return None
    names = [field.name for field in fields(attack)]  # type: ignore[arg-type]
    changed = {each: getattr(attack, each) for each in names if getattr(attack, each) != getattr(base, each)}
    plain = all(value is None or isinstance(value, bool | int | float | str) for value in changed.values())
    return changed if plain else None


def full_name(method: str) -> str:
    """The name under which rows are kept: `ga` is `genetic`."""
    head, colon, preset = method.strip().lower().partition(":")
    return ALIASES.get(head, head) + colon + preset
