"""What there is to say about one text: its label, whether that is proven, and what each word contributes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sgbt.certify import Certificate, Explanation, Prepared, certify, explain
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
    told = explain(prepared, text, label=number, max_substitutions=max_substitutions)
    proof = told.certificate
    read = told.tokens.words[: classifier.max_length]
    return predictions(classifier, [text])[0] | {
        "verdict": str(proof.verdict),
        "defended": classifier.label_names[proof.label],
        "margin": proof.margin,
        "clean_margin": told.clean,
        "rival": classifier.label_names[told.rival],
        "slack": proof.slack,
        "tier": proof.tier,
        "radius": _radius(prepared, text, proof),
        "max_substitutions": max_substitutions,
        "replaceable": proof.replaceable,
        "unknown": proof.unknown,
        "log10_combinations": log10_combinations(prepared.table, read),
        "shares_by": told.tier,
        "unattributed": told.clean - told.base,
        "pieces": _pieces(told, prepared.table),
        "rest": _rest(told),
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


def _pieces(told: Explanation, table: SubstitutionTable) -> list[dict[str, Any]]:
    """The words that are read, each with what stands before it: put together they are the text up to there."""
    total = math.fsum(word.drop for word in told.words)
    text, position, pieces = told.tokens.text, 0, []
    for word in told.words:
        start, end = told.tokens.starts[word.place], told.tokens.ends[word.place]
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


def _rest(told: Explanation) -> str:
    return told.tokens.text[told.tokens.ends[len(told.words) - 1] if told.words else 0 :]
