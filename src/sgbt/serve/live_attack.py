"""An attack to watch: swap after swap, until the label flips, the search is exhausted, or the proof holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from sgbt.attacks import BLACK_BOX, AttackResult, Ensemble, Greedy, attack
from sgbt.attacks.lockstep import searched_alone
from sgbt.attacks.result import FAILED, SUCCESS
from sgbt.attacks.search.greedy import GreedyStep
from sgbt.attacks.search.method import Limited
from sgbt.attacks.search.scorer import Scorer
from sgbt.attacks.space import SearchSpace
from sgbt.attacks.victim import victim_of
from sgbt.certify import Certificate, Prepared, Verdict, certify, check_consistent
from sgbt.serve.examine import log10_combinations

Tell = Callable[[dict[str, Any]], None]
UNBROKEN = {Verdict.CERTIFIED: "proven", Verdict.VACUOUS: str(Verdict.VACUOUS)}
"""What it means that no attack succeeded, where a certificate says so."""


def live_attack(prepared: Prepared, text: str, step: Tell, *, max_substitutions: int | None = None) -> dict[str, Any]:
    """Greedy search told step by step; if it fails on a text without a proof, every other attack as well.

    An attack that broke a certified text would be a contradiction, and stops with an error.
    """
    began, classifier = time.perf_counter(), prepared.classifier
    (proof,) = certify(prepared, [text], max_substitutions=max_substitutions)
    share = _share(proof)
    greedy = Greedy(max_changed=share or 1.0)
    table = prepared.table if share else prepared.table.nearest(0)
    queries = _watched(prepared, text, proof, greedy, step) if share else 0
    (result,) = attack(classifier, [text], table, method=greedy)
    if result.status == FAILED and share and not proof.stays:
        step({"kind": "harder", "method": Ensemble.name})
        (result,) = attack(classifier, [text], table, method=_within(share))
        queries += result.queries
    check_consistent([proof], [result])
    return _outcome(prepared, proof, result, queries, time.perf_counter() - began)


def _share(proof: Certificate) -> float:
    """The share of words that may be changed, such that it comes to the number that the proof is about."""
    if proof.max_substitutions is None:
        return 1.0
    return min((proof.max_substitutions + 0.5) / max(proof.read, 1), 1.0) if proof.max_substitutions else 0.0


def _within(share: float) -> Ensemble:
    """All attacks that only ask for scores, without their papers' own limits on changed words."""
    return Ensemble(parts=tuple(replace(part, max_changed=share) for part in BLACK_BOX if isinstance(part, Limited)))


def _watched(prepared: Prepared, text: str, proof: Certificate, greedy: Greedy, step: Tell) -> int:
    """Tell greedy search's steps, and how many texts it asked about."""
    victim = victim_of(prepared.classifier)
    tokens = victim.tokenizer.tokenize(text)
    space = SearchSpace.of(tokens.words, prepared.table, length=victim.max_length)
    if not len(space.replaceable):
        return 0
    engine = victim.open(tokens, space)
    scorer, numbers = Scorer(engine, space, proof.label), count(1)

    def tell(made: GreedyStep) -> None:
        step(
            {
                "kind": "swap",
                "number": next(numbers),
                "place": made.position,
                "old": tokens.words[made.position],
                "new": space.options[made.position][made.choice],
                "probability": made.left,
                "queries": scorer.queries,
            }
        )

    searched_alone(victim, engine, greedy.watched(scorer, tell))
    return scorer.queries


def _outcome(
    prepared: Prepared, proof: Certificate, result: AttackResult, queries: int, seconds: float
) -> dict[str, Any]:
    names, tokenizer = prepared.classifier.label_names, prepared.classifier.tokenizer
    words = tokenizer.words(result.original)[: prepared.classifier.max_length]
    return {
        "outcome": "flipped" if result.status == SUCCESS else UNBROKEN.get(proof.verdict, "undecided"),
        "method": result.method,
        "label": names[proof.label],
        "after": names[result.after],
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
