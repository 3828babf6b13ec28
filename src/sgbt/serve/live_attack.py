"""An attack to watch: swap after swap, until the label flips, the search is exhausted, or the proof holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sgbt.attacks import AttackResult, Greedy, attack
from sgbt.attacks.result import FAILED, SKIPPED, SUCCESS
from sgbt.attacks.scorer import Scorer
from sgbt.attacks.space import SearchSpace
from sgbt.attacks.victim import victim_of
from sgbt.certify import Certificate, Prepared, certify, check_consistent
from sgbt.serve.examine import log10_combinations

HARDER = "ensemble"
"""What is tried on a text that greedy search did not break and that is not proven safe."""


def live_attack(prepared: Prepared, text: str, step: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Greedy search told step by step; if it fails on a text without a proof, every other attack as well.

    An attack that broke a certified text would be a contradiction, and stops with an error.
    """
    began, classifier = time.perf_counter(), prepared.classifier
    (proof,) = certify(prepared, [text])
    queries = _watched(prepared, text, proof, step)
    method = Greedy.name
    (result,) = attack(classifier, [text], prepared.table, method=method)
    if result.status == FAILED and not proof.certified:
        step({"kind": "harder", "method": HARDER})
        method = HARDER
        (result,) = attack(classifier, [text], prepared.table, method=method)
        queries += result.queries
    check_consistent([proof], [result])
    return _outcome(prepared, proof, result, method, queries, time.perf_counter() - began)


def _watched(prepared: Prepared, text: str, proof: Certificate, step: Callable[[dict[str, Any]], None]) -> int:
    """Tell greedy search's steps, and how many texts it asked about."""
    victim = victim_of(prepared.classifier)
    tokens = victim.tokenizer.tokenize(text)
    space = SearchSpace.of(tokens.words, prepared.table, length=victim.max_length)
    if not len(space.replaceable):
        return 0
    scorer = Scorer(victim.open(tokens, space), space, proof.label)
    for number, made in enumerate(Greedy().steps(scorer), start=1):
        step(
            {
                "kind": "swap",
                "number": number,
                "place": made.position,
                "old": tokens.words[made.position],
                "new": space.options[made.position][made.choice],
                "probability": made.left,
                "queries": scorer.queries,
            }
        )
    return scorer.queries


def _outcome(
    prepared: Prepared, proof: Certificate, result: AttackResult, method: str, queries: int, seconds: float
) -> dict[str, Any]:
    names, tokenizer = prepared.classifier.label_names, prepared.classifier.tokenizer
    words = tokenizer.words(result.original)[: prepared.classifier.max_length]
    return {
        "outcome": "flipped" if result.status == SUCCESS else "proven" if proof.certified else "undecided",
        "method": method,
        "label": names[proof.label],
        "after": names[result.after] if result.status != SKIPPED else names[proof.label],
        "probabilities": dict(
            zip(names, prepared.classifier.predict([result.perturbed]).probabilities[0].tolist(), strict=True)
        ),
        "text": result.perturbed,
        "swaps": [{"place": swap.position, "old": swap.old, "new": swap.new} for swap in result.swaps],
        "queries": queries,
        "seconds": seconds,
        "margin": proof.margin,
        "log10_combinations": log10_combinations(prepared.table, words),
    }
