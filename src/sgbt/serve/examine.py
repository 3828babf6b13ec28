"""One text examined, with its weak words and what it would become; and attacked, step by step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
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
from sgbt.certify import Certificate, Explanation, Prepared, Verdict, certify, check_consistent, explain
from sgbt.core.errors import ServeError
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable


def predictions(classifier: TextClassifier, texts: Sequence[str]) -> list[dict[str, Any]]:
    """The label and the probability of every label, for each text; the model is called once for all."""
    found = classifier.predict(texts)
    return [
        {
            "label": label,
            "probability": max(row),
            "probabilities": dict(zip(classifier.label_names, row, strict=True)),
            "words": words,
            "read": min(words, classifier.max_length),
        }
        for label, row, words in zip(found.labels, found.probabilities.tolist(), found.words.tolist(), strict=True)
    ]


def examined(
    prepared: Prepared, text: str, *, label: str | None = None, max_substitutions: int | None = None
) -> dict[str, Any]:
    """A prediction, its certificate, and every word with its share of the worst case and its substitutes."""
    classifier = prepared.classifier
    number = None if label is None else _number(classifier.label_names, label)
    explanation = explain(prepared, text, label=number, max_substitutions=max_substitutions)
    proof = explanation.certificate
    read = explanation.tokens.words[: classifier.max_length]
    return predictions(classifier, [text])[0] | {
        "verdict": str(proof.verdict),
        "defended": classifier.label_names[proof.label],
        "margin": proof.margin,
        "clean_margin": explanation.clean,
        "rival": classifier.label_names[explanation.rival],
        "slack": proof.slack,
        "tier": proof.tier,
        "radius": _radius(prepared, text, proof),
        "max_substitutions": max_substitutions,
        "replaceable": proof.replaceable,
        "unknown": proof.unknown,
        "log10_combinations": log10_combinations(prepared.table, read),
        "shares_by": explanation.tier,
        "unattributed": explanation.clean - explanation.base,
        "pieces": _pieces(explanation, prepared.table),
        "rest": _rest(explanation),
    }


def log10_combinations(table: SubstitutionTable, words: Sequence[str]) -> float:
    """The decimal logarithm of how many texts substitution makes out of one, itself included."""
    return math.fsum(math.log10(1 + len(table.substitutes(word))) for word in words)


def _number(names: Sequence[str], label: str) -> int:
    if label not in names:
        raise ServeError(expected=f"one of the labels {', '.join(names)}", got=repr(label[:80]), where="label")
    return names.index(label)


def _radius(prepared: Prepared, text: str, proof: Certificate) -> int | None:
    """The largest number of words that may be replaced at once so that the label provably stays; None if unknown.

    Whatever is replaced, for a certified text. Otherwise budgets are tried, doubling while they hold and then halving
    the gap: bounds made for a small budget prove more about it than those made for any number of words.
    """
    if proof.predicted != proof.label:
        return None
    limit = proof.replaceable if proof.max_substitutions is None else min(proof.replaceable, proof.max_substitutions)
    if proof.stays:
        return limit
    holds, fails = max(proof.radius or 0, 0), limit
    while fails - holds > 1:
        middle = min(2 * holds, (holds + fails) // 2) if holds else 1
        (found,) = certify(prepared, [text], labels=[proof.label], max_substitutions=middle)
        holds, fails = (middle, fails) if found.certified else (holds, middle)
    return holds


def _pieces(explanation: Explanation, table: SubstitutionTable) -> list[dict[str, Any]]:
    """The words that are read, each with what stands before it: put together they are the text up to there."""
    total = math.fsum(word.drop for word in explanation.words)
    text, position, pieces = explanation.tokens.text, 0, []
    for word in explanation.words:
        start, end = explanation.tokens.starts[word.place], explanation.tokens.ends[word.place]
        pieces.append(
            {
                "before": text[position:start],
                "text": text[start:end],
                "share": word.drop / total if word.drop else 0.0,
                "drop": word.drop,
                "worst": word.substitute,
                "substitutes": list(table.substitutes(word.word)),
            }
        )
        position = end
    return pieces


def _rest(explanation: Explanation) -> str:
    return explanation.tokens.text[explanation.tokens.ends[len(explanation.words) - 1] if explanation.words else 0 :]


Tell = Callable[[dict[str, Any]], None]
UNBROKEN = {Verdict.CERTIFIED: "proven", Verdict.VACUOUS: str(Verdict.VACUOUS)}
"""What it means that no attack succeeded, where a certificate says so."""


def live_attack(prepared: Prepared, text: str, step: Tell, *, max_substitutions: int | None = None) -> dict[str, Any]:
    """Greedy search shown step by step; if it fails on a text without a proof, every other attack as well.

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
