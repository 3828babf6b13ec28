"""PWWS, greedy, genetic and swarm attacks, word by word and query by query, as their papers and code tell them.

Every query is one call of `ask`, with a whole text; nothing is shared, batched or remembered. Random numbers are taken
in the same order as the fast attacks take them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Ask = Callable[[list[str]], np.ndarray]
Words = list[str]
MASK = "zzunknown"
MARGIN = 2e-6


class Victim:
    """The model's own predict, one text at a time, and how often it was asked."""

    def __init__(self, predict: Callable[[list[str]], np.ndarray], label: int, decimals: int) -> None:
        self.predict, self.label, self.decimals = predict, label, decimals
        self.queries = 0

    def ask(self, words: Words) -> np.ndarray:
        self.queries += 1
        return np.round(self.predict([" ".join(words)])[0], self.decimals)

    def left(self, words: Words) -> float:
        return float(self.ask(words)[self.label])

    def broken(self, row: np.ndarray) -> bool:
        return max(p for number, p in enumerate(row) if number != self.label) > row[self.label] + MARGIN


def replaced(words: Words, place: int, word: str) -> Words:
    return [*words[:place], word, *words[place + 1 :]]


def drawn(rng: np.random.Generator, weights: list[float]) -> int:
    threshold, total = rng.random() * float(np.cumsum(weights)[-1]), 0.0
    for place, weight in enumerate(weights):
        total += weight
        if total > threshold:
            return place
    return len(weights) - 1


def changes(words: Words, original: Words) -> int:
    return sum(word != first for word, first in zip(words, original, strict=True))


def pwws(victim: Victim, words: Words, substitutes: list[Words]) -> Words | None:
    if not any(substitutes):
        return None
    whole = victim.left(words)
    saliency = [whole - victim.left(replaced(words, place, MASK)) for place in range(len(words))]
    exponentials = [math.exp(value - max(saliency)) for value in saliency]
    scored = []
    for place, options in enumerate(substitutes):
        if not options:
            continue
        left = [victim.left(replaced(words, place, option)) for option in options]
        best = left.index(min(left))
        scored.append((exponentials[place] / sum(exponentials) * (whole - left[best]), place, options[best]))
    current = words
    for _, place, option in sorted(scored, key=lambda item: -item[0]):
        current = replaced(current, place, option)
        if victim.broken(victim.ask(current)):
            return current
    return None


def greedy(victim: Victim, words: Words, substitutes: list[Words]) -> Words | None:
    current, left = words, victim.left(words)
    while True:
        best: tuple[float, Words, np.ndarray] | None = None
        for place, options in enumerate(substitutes):
            for option in [*options, words[place]]:
                if option != current[place]:
                    text = replaced(current, place, option)
                    row = victim.ask(text)
                    if best is None or row[victim.label] < best[0]:
                        best = float(row[victim.label]), text, row
        if best is None or best[0] >= left:
            return None
        left, current = best[0], best[1]
        if victim.broken(best[2]):
            return current


def genetic(
    victim: Victim,
    words: Words,
    substitutes: list[Words],
    rng: np.random.Generator,
    *,
    population: int,
    generations: int,
    neighbours: int,
    temperature: float | None,
    max_changed: float,
) -> Words | None:
    near = [options[:neighbours] for options in substitutes]
    if not any(near):
        return None

    def perturb(current: Words) -> Words:
        untouched = [len(near[place]) if current[place] == words[place] else 0 for place in range(len(words))]
        place = drawn(rng, untouched if any(untouched) else [len(options) for options in near])
        texts = [replaced(current, place, option) for option in near[place]]
        left = [victim.left(text) for text in texts]
        return texts[left.index(min(left))] if min(left) < victim.left(current) else current

    members = [perturb(words) for _ in range(population)]
    for _ in range(generations):
        rows = [victim.ask(member) for member in members]
        left = [float(row[victim.label]) for row in rows]
        limit = math.floor(max_changed * len(words) + 1e-9)
        found = [
            place
            for place, (row, member) in enumerate(zip(rows, members, strict=True))
            if victim.broken(row) and changes(member, words) <= limit
        ]
        if found:
            return members[min(found, key=lambda place: left[place])]
        scores = [1 - value for value in left]
        parents = scores
        if temperature is not None:
            parents = [float(np.exp((score - max(scores)) / temperature)) for score in scores]
        first = [drawn(rng, parents) for _ in range(population - 1)]
        second = [drawn(rng, parents) for _ in range(population - 1)]
        children = []
        for one, two in zip(first, second, strict=True):
            children.append([b if rng.random() < 0.5 else a for a, b in zip(members[one], members[two], strict=True)])
        elite = members[left.index(min(left))]
        members = [elite, *(perturb(child) for child in children)]
    return None


def pso(
    victim: Victim,
    words: Words,
    substitutes: list[Words],
    rng: np.random.Generator,
    *,
    particles: int,
    iterations: int,
    mutation: str,
    openattack: bool,
    faulty: bool,
    max_changed: float,
) -> Words | None:
    if not any(substitutes):
        return None
    length = len(words)

    def gains(current: Words) -> tuple[list[float], Words]:
        now = victim.left(current)
        weights, best = [0.0] * length, list(current)
        for place, options in enumerate(substitutes):
            if options:
                left = [victim.left(replaced(current, place, option)) for option in options]
                weights[place] = max(now - min(left), 0.0)
                best[place] = options[left.index(min(left))]
        return (weights if any(weights) else [1.0] * length), best

    def mutated(current: Words) -> Words:
        if mutation == "best":
            weights, best = gains(current)
            place = drawn(rng, weights)
            return replaced(current, place, best[place])
        counts = [min(len(options), 10) for options in substitutes]
        untouched = [count if current[place] == words[place] else 0 for place, count in enumerate(counts)]
        place = drawn(rng, untouched if any(untouched) else counts)
        if mutation == "random":
            return replaced(current, place, substitutes[place][int(rng.integers(len(substitutes[place])))])
        left = [victim.left(replaced(current, place, option)) for option in substitutes[place]]
        return replaced(current, place, substitutes[place][left.index(min(left))])

    if mutation == "best":
        weights, best = gains(words)
        places = [drawn(rng, weights) for _ in range(particles)]
        swarm = [replaced(words, place, best[place]) for place in places]
    else:
        swarm = [mutated(words) for _ in range(particles)]
    start = -1.0 if faulty else math.inf
    own, own_left = [list(text) for text in swarm], [start] * particles
    shared, shared_left = list(swarm[0]), start

    def met(*, update: bool) -> Words | None:
        nonlocal shared, shared_left
        rows = [victim.ask(text) for text in swarm]
        left = [float(row[victim.label]) for row in rows]
        limit = math.floor(max_changed * length + 1e-9)
        found = [k for k in range(particles) if victim.broken(rows[k]) and changes(swarm[k], words) <= limit]
        if found:
            return swarm[min(found, key=lambda k: left[k])]
        if update:
            for k in range(particles):
                if left[k] < own_left[k]:
                    own[k], own_left[k] = list(swarm[k]), left[k]
            if min(left) < shared_left:
                shared, shared_left = list(swarm[left.index(min(left))]), min(left)
        return None

    if not openattack and (answer := met(update=True)):
        return answer
    start_velocity = [rng.uniform(-3, 3) for _ in range(particles)]
    velocity = [[value] * length for value in start_velocity]
    for iteration in range(iterations):
        if openattack and (answer := met(update=True)):
            return answer
        inertia = (0.8 - 0.2) * (1 - iteration / iterations) + 0.2
        c1, c2 = 0.8 - iteration / iterations * 0.6, 0.2 + iteration / iterations * 0.6
        for k in range(particles):
            for d in range(length):
                push = (3 if swarm[k][d] != own[k][d] else -3) + (3 if swarm[k][d] != shared[d] else -3)
                velocity[k][d] = inertia * velocity[k][d] + (1 - inertia) * push
            turn = [1 / (1 + float(np.exp(-velocity[k][d]))) for d in range(length)]
            if rng.random() < c1:
                swarm[k] = [own[k][d] if rng.random() < turn[d] else swarm[k][d] for d in range(length)]
            if rng.random() < c2:
                swarm[k] = [shared[d] if rng.random() < turn[d] else swarm[k][d] for d in range(length)]
            if faulty and iteration == 0:
                own[k] = list(swarm[k])
        if answer := met(update=openattack):
            return answer
        mutating = [rng.random() < 1 - 2 * (changes(swarm[k], words) / length) for k in range(particles)]
        swarm = [mutated(text) if mutates else text for text, mutates in zip(swarm, mutating, strict=True)]
        if not openattack and (answer := met(update=True)):
            return answer
    return None
