"""Additive models, linear over counts of n-grams: their worst case over all cluster choices without enumeration.

    scores(text) = W x / |x| + b,    x_v = sum over the n-grams of the text that are feature v of their factor

with |x| the norm of x, or 1. What n-grams add to a margin adds up along the text, and an n-gram reaches back n - 1
tokens: a dynamic programme whose state is the last n - 1 tokens finds the least sum exactly, with a limit on replaced
words too. Without row normalisation, and with L1 over positive factors (the norm is itself such a sum), the margin is
exact. With L2 the sign of W x / |x| + b is that of W x + b |x|, and |x| is bounded from the least and the largest value
that each feature can take: sound, and exact where the intercept is 0. Where a feature grows less with every occurrence
(binary counts, sublinear ones), straight lines bound its growth (`sgbt.certify.black_box.counts`): sound, and exact for
features that one choice at most can bring.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sgbt.certify.black_box.counts import (
    GROWTHS,
    Feature,
    Norm,
    SwapTuples,
    Tokens,
    Transition,
    Transitions,
    norms_of,
    straightened,
)
from sgbt.certify.black_box.encoder import EncodedText
from sgbt.certify.black_box.rendering import is_plain, space_between
from sgbt.core.errors import CertificateError

REMEMBERED = 1_000_000
"""Pieces of text whose tokens are kept."""
MOST_TRANSITIONS = 20_000
"""Pairs of a state and an alternative at one place; a text with more is not bounded here."""


@dataclass(frozen=True, slots=True)
class WorstCase:
    """A lower bound of a margin over all choices, and choices for which the sum of what n-grams add is least."""

    margin: float
    swaps: Mapping[int, str]


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A linear model over n-grams.

    `tokens` reads a text, and a space always separates tokens: those of `a + " " + b` are those of a, then those of b.
    `feature` gives the number and the factor of an n-gram (tokens with a space between), or None. `weights` is
    [classes, features], `intercepts` [classes]. With a `growth`, the factor times that of the count takes the place of
    the factor times the count; all n-grams of a feature then have one factor.
    """

    tokens: Callable[[str], Sequence[str]]
    feature: Callable[[str], Feature | None]
    sizes: tuple[int, int]
    weights: np.ndarray
    intercepts: np.ndarray
    norm: Norm = None
    growth: str | None = None
    _differences: dict[tuple[int, int], list[float]] = field(default_factory=dict, repr=False)
    _read: dict[str, Tokens] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.growth is not None and (self.growth not in GROWTHS or self.norm == "l1"):
            raise CertificateError(
                expected=f"a growth among {', '.join(GROWTHS)}, and not the l1 norm",
                got=f"{self.growth} and {self.norm}",
                where="an additive model",
            )

    def worst(self, encoded: EncodedText, label: int, *, max_substitutions: int | None = None) -> WorstCase:
        """The label's score minus the largest other one at its least over all choices, or a lower bound of it.

        What rounding may do is taken off. Minus infinity, and no swaps, where the text cannot be bounded here.
        """
        slots = _slots(encoded, self._tokens_of)
        steps = None if slots is None else _steps(slots, self.sizes, self.feature)
        if steps is None:
            return WorstCase(-math.inf, {})
        norms = norms_of(steps, self.norm, self.growth)
        rivals = [rival for rival in range(len(self.weights)) if rival != label]
        found = [self._against(steps, norms, label, rival, max_substitutions) for rival in rivals]
        return min(found, key=lambda each: each.margin)

    def _tokens_of(self, text: str) -> Tokens:
        found = self._read.get(text)
        if found is None:
            if len(self._read) >= REMEMBERED:
                self._read.clear()
            found = self._read[text] = tuple(self.tokens(text))
        return found

    def _against(
        self, steps: list[Transitions], norms: tuple[float, float], label: int, rival: int, budget: int | None
    ) -> WorstCase:
        weights = self._differences.get((label, rival))
        if weights is None:
            weights = self._differences[label, rival] = (self.weights[label] - self.weights[rival]).tolist()
        intercept = float(self.intercepts[label] - self.intercepts[rival])
        shift = intercept if self.norm == "l1" else 0.0
        straight = steps if self.growth is None else straightened(steps, weights, GROWTHS[self.growth])
        least, size, swaps = _least_sum(straight, weights, shift, budget)
        low, high = norms
        if self.norm == "l1":
            total = least
        elif self.norm == "l2":
            total = least + intercept * (low if intercept > 0 else high)
        else:
            total, low, high = least + intercept, 1.0, 1.0
        size += abs(intercept) * max(high, 1.0)
        terms = sum(max(len(each.features) for each in step) for step in straight)
        total -= 1e-12 * (terms + 10) * size  # far above gamma_n times the sum of magnitudes, in float64
        if high:
            total = total / high if total > 0 else total / low if low else total
        if low == 0:  # no feature may be left: then the score is the intercept alone
            total = min(total, intercept)
        return WorstCase(total, swaps)


_Slot = list[tuple[Tokens, SwapTuples]]


def _slots(encoded: EncodedText, tokens: Callable[[str], Tokens]) -> list[_Slot] | None:
    """Between spaces, the tokens that can stand there, with the swaps for each; None where spaces depend on them."""
    for place, others in encoded.others.items():
        if not all(map(is_plain, (encoded.pieces[place], *others))):
            return None
    slots: list[_Slot] = []
    for places in _between_spaces(encoded):
        free = [place for place in places if place in encoded.others]
        if not free:
            slots.append([(tokens(encoded.part(places, {})), ())])
            continue
        alternatives = []
        for chosen in itertools.product(*(("", *encoded.others[place]) for place in free)):
            swaps = {place: word for place, word in zip(free, chosen, strict=True) if word}
            text = encoded.part(places, swaps)
            alternatives.append((tokens(text), tuple(swaps.items())))
        slots.append(alternatives)
    return slots


def _between_spaces(encoded: EncodedText) -> Iterator[range]:
    start = 0
    for place in range(1, len(encoded.pieces)):
        if space_between(encoded.pieces[place - 1], encoded.pieces[place], encoded.tokenizer):
            yield range(start, place)
            start = place
    if encoded.pieces:
        yield range(start, len(encoded.pieces))


def _steps(
    slots: list[_Slot], sizes: tuple[int, int], feature: Callable[[str], Feature | None]
) -> list[Transitions] | None:
    """The transitions between states, with the features that each adds; what follows without a choice is one step."""
    reach = sizes[1] - 1
    tails: list[Tokens] = [()]
    steps: list[Transitions] = []
    straight: list[Feature] = []
    start: Tokens = ()
    for alternatives in slots:
        if len(tails) * len(alternatives) > MOST_TRANSITIONS:
            return None
        if len(tails) == 1 and len(alternatives) == 1:
            joined = tails[0] + alternatives[0][0]
            straight += _added(joined, len(tails[0]), sizes, feature)
            tails = [joined[-reach:] if reach else ()]
            continue
        if tails[0] != start or straight:
            steps.append([Transition(start, tails[0], (), tuple(straight))])
        step = []
        for tail in tails:
            for tokens, swaps in alternatives:
                joined = tail + tokens
                added = tuple(_added(joined, len(tail), sizes, feature))
                step.append(Transition(tail, joined[-reach:] if reach else (), swaps, added))
        steps.append(step)
        tails = list(dict.fromkeys(each.after for each in step))
        start, straight = tails[0], []
    if straight or not steps:
        steps.append([Transition(start, tails[0], (), tuple(straight))])
    return steps


def _added(
    tokens: Tokens, before: int, sizes: tuple[int, int], feature: Callable[[str], Feature | None]
) -> Iterator[Feature]:
    """The features of the n-grams that end behind the first `before` tokens."""
    smallest, largest = sizes
    for end in range(before + 1, len(tokens) + 1):
        for size in range(smallest, min(largest, end) + 1):
            found = feature(tokens[end - 1] if size == 1 else " ".join(tokens[end - size : end]))
            if found is not None:
                yield found


def _least_sum(
    steps: list[Transitions], weights: list[float], shift: float, budget: int | None
) -> tuple[float, float, dict[int, str]]:
    """The least sum of (weight + shift) times factor over all paths, a bound of magnitudes, and swaps that reach it."""
    width = 1 if budget is None else budget + 1
    best: Mapping[Tokens, list[float]] = {(): [0.0] + [math.inf] * (width - 1)}
    came: list[dict[tuple[Tokens, int], tuple[Transition, int]]] = []
    magnitude = 0.0
    for step in steps:
        after: dict[Tokens, list[float]] = {}
        origin: dict[tuple[Tokens, int], tuple[Transition, int]] = {}
        largest = 0.0
        for each in step:
            values = [(weights[number] + shift) * factor for number, factor in each.features]
            added = sum(values)
            largest = max(largest, sum(map(abs, values)))
            cost = 0 if budget is None else len(each.swaps)
            row = after.setdefault(each.after, [math.inf] * width)
            for used, value in enumerate(best[each.before]):
                if used + cost < width and value + added < row[used + cost]:
                    row[used + cost] = value + added
                    origin[each.after, used + cost] = each, used
        came.append(origin)
        best = after
        magnitude += largest
    least, tail, used = min((value, tail, used) for tail, row in best.items() for used, value in enumerate(row))
    swaps: dict[int, str] = {}
    for origin in reversed(came):
        each, used = origin[tail, used]
        swaps |= dict(each.swaps)
        tail = each.before
    return least, magnitude, swaps
