"""Each attack gives the same adversarial texts, for the same number of queries, as its slow twin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.attacks.world import World
from tests.reference import slow_attacks as slow

from sgbt.attacks import PSO, Genetic, attack, method_named
from sgbt.attacks.campaign import generator_for
from sgbt.attacks.search.pso import Bests, BestWord, QuickWord
from sgbt.models import TextClassifier


def slow_genetic(
    victim: slow.Victim, words: list[str], options: list[list[str]], method: Genetic, text: str
) -> list[str] | None:
    return slow.genetic(
        victim,
        words,
        options,
        generator_for(text, 0),
        population=method.population,
        generations=method.generations,
        neighbours=method.neighbours,
        temperature=method.temperature,
        max_changed=method.max_changed,
    )


def slow_pso(
    victim: slow.Victim, words: list[str], options: list[list[str]], method: PSO, text: str
) -> list[str] | None:
    kinds = {BestWord: "best", QuickWord: "quick"}
    return slow.pso(
        victim,
        words,
        options,
        generator_for(text, 0),
        particles=method.particles,
        iterations=method.iterations,
        mutation=kinds.get(type(method.mutation), "random"),
        openattack=method.openattack,
        faulty=method.faulty_elites,
        max_changed=method.max_changed,
    )


TWINS = {
    "pwws": ({}, lambda victim, words, options, method, text: slow.pwws(victim, words, options)),
    "greedy": ({}, lambda victim, words, options, method, text: slow.greedy(victim, words, options)),
    "genetic": ({"population": 8, "generations": 4, "neighbours": 3, "max_changed": 0.3}, slow_genetic),
    "genetic:openattack": ({"population": 7, "generations": 4}, slow_genetic),
    "pso": ({"particles": 5, "iterations": 3}, slow_pso),
    "pso:quick": ({"particles": 6, "iterations": 4, "max_changed": 1.0}, slow_pso),
    "pso:openattack": ({"particles": 8, "iterations": 5}, slow_pso),
    "pso:openattack-compat": ({"particles": 8, "iterations": 5}, slow_pso),
}
TEXTS = {"pso:openattack-compat": 60}
"""Texts per attack and model, 24 of the others; the long campaign takes many more."""


def compare(name: str, classifier: TextClassifier, world: World, *, count: int, seed: int = 1, length: int = 9) -> int:
    """Attack texts in both ways; how many were broken."""
    options, twin = TWINS[name]
    method = method_named(name, **options)
    texts, labels = world.texts(count, length=length, seed=seed)
    texts[0] = f"strange {texts[0]}"
    results = attack(classifier, texts, world.table, method=name, labels=labels, **options)
    broken = 0
    for result in results:
        if result.status == "skipped":
            continue
        words = result.original.split()
        victim = slow.Victim(lambda asked: classifier.predict(asked).probabilities, result.label, 9)
        found = twin(victim, words, [list(world.table.substitutes(word)) for word in words], method, result.original)
        assert (" ".join(found) if found else None) == (result.perturbed if result.status == "success" else None)
        assert victim.queries == result.queries
        broken += found is not None
    return broken


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
@pytest.mark.parametrize("name", TWINS)
def test_same_texts_and_queries_as_the_slow_twin(
    name: str, kind: str, world: World, classifier_of: Callable[..., TextClassifier]
) -> None:
    broken = compare(name, classifier_of(kind), world, count=TEXTS.get(name, 24))
    assert broken >= 3, "too few broken texts to say anything"


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 110))
@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
@pytest.mark.parametrize("name", TWINS)
def test_same_texts_as_the_slow_twin_in_a_long_campaign(
    name: str, kind: str, seed: int, world: World, classifier_of: Callable[..., TextClassifier]
) -> None:
    assert compare(name, classifier_of(kind), world, count=60, seed=seed, length=6 + seed % 10) >= 3


def test_faulty_elites_are_what_they_were() -> None:
    """OpenAttack's bests start at -1, which no probability is below; mended, they follow the least probability."""
    swarm, better = np.zeros((3, 4), np.int32), np.ones((3, 4), np.int32)
    for faulty in (True, False):
        bests = Bests(swarm, faulty=faulty)
        bests.update(better, np.array([0.5, 0.0, 0.2]))
        assert (bests.own == (swarm if faulty else better)).all()
        assert (bests.shared == (swarm if faulty else better)[1]).all()


def test_the_fault_of_openattack_costs_successes(world: World, classifier_of: Callable[..., TextClassifier]) -> None:
    texts, labels = world.texts(40, length=12)
    broken = {
        name: sum(
            row.status == "success"
            for row in attack(classifier_of("cnn"), texts, world.table, method=name, labels=labels)
        )
        for name in ("pso:openattack", "pso:openattack-compat")
    }
    assert 0 < broken["pso:openattack-compat"] < broken["pso:openattack"]
