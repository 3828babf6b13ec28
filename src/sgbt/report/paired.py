"""Two methods on the same texts: which pairs to compare, at matched clean accuracy where asked, and how they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sgbt.evaluate import Mean, Paired, compare
from sgbt.evaluate.metrics import PAIRED_BUDGETS
from sgbt.evaluate.outcomes import within
from sgbt.evaluate.significance import Held
from sgbt.report.methods import MethodRuns, attacks_in


@dataclass(frozen=True)
class Comparison:
    """One metric of two methods over the seeds that both have."""

    first: MethodRuns
    second: MethodRuns
    metric: str
    result: Paired


def comparisons(methods: Sequence[MethodRuns], pair: tuple[str, str]) -> list[Comparison]:
    """The first method of a pair against the second; of several that the second may be, the one whose accuracy on dev
    is nearest.

    The match is made on dev and never on test, so that it does not favour either.
    """
    first = next((method for method in methods if method.label == pair[0]), None)
    rivals = [method for method in methods if fnmatchcase(method.label, pair[1]) and method.label != pair[0]]
    if first is None or not rivals:
        return []
    aim = dev_accuracy(first)
    second = min(rivals, key=lambda method: (abs(dev_accuracy(method) - aim), method.label))
    found = []
    for metric in ("clean", *map(within, PAIRED_BUDGETS), "certified", *attacks_in([first])):
        seeds = _shared(first, second, metric)
        if seeds:
            ours, theirs = ([_held(method, seed, metric) for seed in seeds] for method in (first, second))
            found.append(Comparison(first, second, metric, compare(ours, theirs)))
    return found


def dev_accuracy(method: MethodRuns) -> float:
    """The mean clean accuracy on dev of the chosen epochs."""
    values = [record.metrics["dev"].get("accuracy") for record in method.records if record.metrics.get("dev")]
    return Mean.of([float(value) for value in values if value is not None]).value


def _shared(first: MethodRuns, second: MethodRuns, metric: str) -> list[int]:
    """Seeds for which both have outcomes of the same texts."""
    sizes = [
        {record.seed: record.outcomes[metric]["texts"] for record in method.records if metric in record.outcomes}
        for method in (first, second)
    ]
    return [seed for seed, texts in sizes[0].items() if sizes[1].get(seed) == texts]


def _held(method: MethodRuns, seed: int, metric: str) -> Held:
    record = next(record for record in method.records if record.seed == seed)
    held = record.held(metric)
    assert held is not None
    return held
