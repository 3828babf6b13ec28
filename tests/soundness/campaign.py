"""Certificates against enumeration: random models of every kind, random texts, and a plain search over strings.

    python -m tests.soundness.campaign --minutes 60 [--state counts.json]

A case is made of its number alone. Nothing here comes from `sgbt.attacks`, and of `sgbt.certify` only the answers that
are put to the test: versions of a text are written as strings, the model is asked as it is deployed, and its answers
are compared with what the row says. A state file keeps the counts and the next case, so the same command goes on there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.soundness.worlds import KINDS, classifier_of

from sgbt.certify import DEFAULT_TIERS, TIERS, Certificate, certify
from sgbt.models import TextClassifier

ALL = 400
"""A text with at most so many versions within its budget is enumerated; of others the worst are looked for."""
SAMPLED = 60
SIZES = {"short": (0, 9, 4), "medium": (10, 80, 2), "long": (200, 2000, 1)}
"""Fewest words, most words, and how many texts a case of that size has."""

Swaps = dict[int, str]


@dataclass(frozen=True)
class Violation:
    """A version of a text that a row says cannot be."""

    case: int
    kind: str
    row: dict[str, object]
    text: str
    swaps: Swaps
    reason: str


def run_case(
    number: int, counts: Counter[str], *, size: str | None = None, world: tuple[str, int] | None = None
) -> Violation | None:
    """Certify the texts of one case and search for a version that contradicts a row; the first one, if any.

    `world` is a kind and a seed that remain the same when kinds are added.
    """
    drawn = random.Random(number)
    kind, seed = world or (KINDS[number % len(KINDS)], number // len(KINDS))
    classifier = classifier_of(kind, seed)
    size = size or drawn.choice(("short", "short", "short", "medium", "medium", "long"))
    texts = [_text(drawn, classifier, size) for _ in range(SIZES[size][2])]
    budget = drawn.choice((None, None, 0, 1, 1, 2, 3))
    tiers = DEFAULT_TIERS if drawn.random() < 0.6 else (drawn.choice(TIERS.own if size == "short" else DEFAULT_TIERS),)
    proofs = certify(classifier, texts, tiers=tiers, max_substitutions=budget)
    rows = list(zip(proofs, texts, strict=True))
    counts[f"{size} cases"] += 1
    if "grams" in kind:
        rows += _neighbours(number, classifier, counts)
    for row, text in rows:
        counts[f"{row.verdict} rows"] += 1
        counts["rows with a radius"] += row.radius is not None
        found = search(classifier, row, text, drawn, counts)
        if found is not None:
            swaps, reason = found
            return Violation(number, kind, row.to_row(), text, swaps, reason)
    return None


def _neighbours(number: int, classifier: TextClassifier, counts: Counter[str]) -> list[tuple[Certificate, str]]:
    """Rows of texts in which words that can be replaced are neighbours, for any number of them and within budgets.

    Of several such texts that of the greatest margin: it has a radius though it may not be certified.
    """
    drawn = random.Random(f"neighbours {number}")
    assert classifier.table is not None
    can = sorted(classifier.table.entries)
    cannot = ["moped", *(word for word in classifier.vocabulary.words if word not in classifier.table)]
    rows = []
    for length in (3, 4, 6):
        parts = (
            (drawn.choices(cannot, k=2), drawn.choices(can, k=length), drawn.choices(cannot, k=1)) for _ in range(12)
        )
        texts = [" ".join(itertools.chain(*part)) for part in parts]
        logits = classifier.logits_of(classifier.encode(texts)).sort(dim=1).values
        text = texts[int((logits[:, -1] - logits[:, -2]).argmax())]
        for budget in (None, 1, drawn.randint(2, length)):
            (row,) = certify(classifier, [text], tiers=("ibp",), max_substitutions=budget)
            rows.append((row, text))
            counts["rows of neighbours within a budget"] += budget is not None
            counts["rows of neighbours that are open and have a radius"] += bool(row.radius and not row.certified)
    return rows


def search(
    classifier: TextClassifier, row: Certificate, text: str, drawn: random.Random, counts: Counter[str]
) -> tuple[Swaps, str] | None:
    """A version of the text that the row says cannot be, and what it contradicts."""
    words = text.split()
    for swaps, margin in _tried(classifier, words, row, drawn):
        counts["versions"] += 1
        reason = _contradiction(row, len(swaps), margin)
        if reason:
            return swaps, reason
    return None


def _contradiction(row: Certificate, replaced: int, margin: float) -> str:
    """What a version says against a row: its label is lost where it was promised, or its margin is below the bound."""
    within = row.max_substitutions is None or replaced <= row.max_substitutions
    if row.predicted != row.label:
        return "the prediction is another" if not replaced and margin > row.slack else ""
    if within and str(row.verdict) in ("certified", "nothing-to-replace") and margin < 0:
        return f"the label is lost, margin {margin}"
    if row.radius is not None and row.radius > 0 and replaced <= row.radius and margin < 0:
        return f"the label is lost with {replaced} words replaced, margin {margin}"
    if within and margin < row.margin - row.slack - 1e-9 * (1 + abs(row.margin)):
        return f"margin {margin} is below the bound"
    return ""


def _tried(
    classifier: TextClassifier, words: list[str], row: Certificate, drawn: random.Random
) -> Iterator[tuple[Swaps, float]]:
    """Versions of a text with their margins: all of them where they are few, else single ones and the worst together.

    As many words are replaced as the budget or the radius speaks of; an abstained row without either bounds all.
    """
    table = classifier.table
    assert table is not None
    options = {place: table.entries[word] for place, word in enumerate(words) if word in table.entries}
    limit = len(options) if row.max_substitutions is None else min(row.max_substitutions, len(options))
    few = _all(options, limit)
    if few is not None:
        yield from _asked(classifier, words, few, row.label)
        return
    singles = [{place: other} for place, others in options.items() for other in others]
    singles = drawn.sample(singles, min(len(singles), ALL))
    told = list(_asked(classifier, words, [{}, *singles], row.label))
    yield from told
    worst: dict[int, tuple[float, str]] = {}
    for swaps, margin in told[1:]:
        ((place, other),) = swaps.items()
        worst[place] = min(worst.get(place, (math.inf, "")), (margin, other))
    ranked = sorted(worst, key=lambda place: worst[place])
    together = [{place: worst[place][1] for place in ranked[:count]} for count in _counts(limit)]
    for _ in range(SAMPLED):  # some of the worst places, and any
        count = drawn.randint(1, max(limit, 1))
        near = ranked[: max(10, count)] if drawn.random() < 0.5 else list(options)
        places = drawn.sample(near, min(count, len(near)))
        together.append({place: drawn.choice(options[place]) for place in places})
    yield from _asked(classifier, words, together, row.label)


def _all(options: dict[int, tuple[str, ...]], limit: int) -> list[Swaps] | None:
    """Every version with at most so many words replaced; None if they are too many."""
    found: list[Swaps] = []
    for count in range(limit + 1):
        for places in itertools.combinations(options, count):
            for others in itertools.product(*(options[place] for place in places)):
                found.append(dict(zip(places, others, strict=True)))
                if len(found) > ALL:
                    return None
    return found


def _counts(limit: int) -> list[int]:
    """How many of the worst words are replaced together."""
    return sorted({count for count in (1, 2, 3, 5, 10, 30, 100, 300, limit) if count <= limit})


def _asked(
    classifier: TextClassifier, words: list[str], versions: list[Swaps], label: int
) -> Iterator[tuple[Swaps, float]]:
    """The margin of every version, as the deployed model has it of the text."""
    for start in range(0, len(versions), 128):
        part = versions[start : start + 128]
        texts = [" ".join(swaps.get(place, word) for place, word in enumerate(words)) for swaps in part]
        logits = classifier.logits_of(classifier.encode(texts)).numpy()
        margins = logits[:, label] - np.delete(logits, label, axis=1).max(axis=1)
        yield from zip(part, margins.tolist(), strict=True)


def _text(drawn: random.Random, classifier: TextClassifier, size: str) -> str:
    """Words at random: of short texts half can be replaced, of others a handful, or all."""
    assert classifier.table is not None
    fewest, most, _ = SIZES[size]
    length = drawn.randint(fewest, most)
    can = sorted(classifier.table.entries)
    cannot = ["moped", *(word for word in classifier.vocabulary.words if word not in classifier.table)]
    dense = drawn.random() < 0.3
    few = max(length // 2, 1) if size == "short" else 5
    count = length if dense else drawn.randint(int(drawn.random() < 0.95), few)
    count = min(count, length)
    places = set(drawn.sample(range(length), count))
    if not dense and length and size == "long" and drawn.random() < 0.5:
        places.add(length - 1)
    return " ".join(drawn.choice(can if place in places else cannot) for place in range(length))


def campaign(minutes: float, *, first: int = 0, counts: Counter[str] | None = None, state: Path | None = None) -> int:
    """Run case after case until the time is over or one is violated; prints the counts, and gives the violations."""
    counts = Counter() if counts is None else counts
    number, end, told = first, time.monotonic() + 60 * minutes, time.monotonic()
    violation = None
    while time.monotonic() < end and violation is None:
        violation = run_case(number, counts)
        number += 1
        if time.monotonic() - told > 60:
            told = time.monotonic()
            _keep(state, number, counts)
            print(_shown(number, counts), flush=True)
    counts["violations"] += violation is not None
    _keep(state, number, counts)
    print(_shown(number, counts))
    if violation is not None:
        print(f"VIOLATION: {violation}")
    return counts["violations"]


def _keep(state: Path | None, number: int, counts: Counter[str]) -> None:
    if state is not None:
        state.write_text(json.dumps({"next": number, "counts": counts}))


def _shown(number: int, counts: Counter[str]) -> str:
    told = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()) if name != "violations")
    return f"up to case {number:,}: {told}, violations {counts['violations']}"


def main() -> int:
    """The command line; exit code 1 if a row was violated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, help="the case to begin with")
    parser.add_argument("--state", type=Path, help="a file that keeps the counts; the same command goes on there")
    given = parser.parse_args()
    first, counts = given.first, Counter()
    if given.state and given.state.is_file():
        kept = json.loads(given.state.read_text())
        first, counts = kept["next"], Counter(kept["counts"])
    return int(campaign(given.minutes, first=first, counts=counts, state=given.state) > 0)


if __name__ == "__main__":
    sys.exit(main())
