"""Runs that differ in the seed alone, their figures with interval or spread, and pairs of methods on the same texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sgbt.core.shares import Share
from sgbt.evaluate import Mean, Paired, RunRecord, compare
from sgbt.evaluate.metrics import PAIRED_BUDGETS
from sgbt.evaluate.significance import Outcomes, within
from sgbt.report.document import Figure
from sgbt.report.published import ATTACKS

NONE = Figure("-")


@dataclass(frozen=True)
class MethodRuns:
    """One method on one dataset with one kind of model, against one table, over its seeds."""

    records: tuple[RunRecord, ...]

    @property
    def first(self) -> RunRecord:
        """The run that states what all of them have in common."""
        return self.records[0]

    @property
    def label(self) -> str:
        """What tables call the method."""
        return self.first.label

    @property
    def command(self) -> str:
        """What makes these figures: for several seeds, the command without the seed."""
        command, name = self.first.command, self.first.name
        return command if len(self.records) == 1 else command.replace(name, name.rpartition("/")[0])

    def shares(self, name: str, attack: str | None = None) -> list[Share]:
        """A metric of every seed that has it."""
        found = (record.share(name, attack) for record in self.records)
        return [share for share in found if share is not None and share.total]

    def value(self, name: str, attack: str | None = None) -> float | None:
        """A metric as one number from 0 to 1: the mean over seeds."""
        shares = self.shares(name, attack)
        return Mean.of([share.value for share in shares]).value if shares else None

    def figure(self, name: str, attack: str | None = None) -> Figure:
        """A metric in percent: of one seed with its 95 % interval, of several with their standard deviation."""
        found = share_figure(self.shares(name, attack))
        vacuous = [share.count for share in self.shares("vacuous")] if name == "certified" else []
        if not any(vacuous):
            return found
        return Figure(found.text, f"{found.note}; {' + '.join(map(str, vacuous))} more have nothing to replace")

    @property
    def warnings(self) -> list[str]:
        """What is to be said of runs that have one answer for everything."""
        found = ((record, record.by_class) for record in self.records)
        return [f"{record.name}: {each.warning}" for record, each in found if each and each.warning]

    def mean(self, pick: Callable[[RunRecord], Any], form: str = "{:,.4g}") -> Figure:
        """Some other number of every seed, and its mean."""
        values = [float(value) for record in self.records if (value := pick(record)) is not None]
        if not values:
            return NONE
        found = Mean.of(values)
        spread = (
            f"standard deviation {form.format(found.deviation)} over {found.count} seeds" if found.count > 1 else ""
        )
        return Figure(form.format(found.value), spread)


def share_figure(shares: Sequence[Share]) -> Figure:
    """Shares of several seeds as one figure in percent, with the counts of every seed."""
    if not shares:
        return NONE
    if len(shares) == 1:
        low, high = shares[0].interval
        return Figure(
            f"{100 * shares[0].value:.1f}",
            f"{100 * low:.1f} to {100 * high:.1f}, {shares[0].count:,} of {shares[0].total:,}",
        )
    mean = Mean.of([100 * share.value for share in shares])
    totals = dict.fromkeys(share.total for share in shares)
    counts = " + ".join(f"{share.count:,}" for share in shares)
    of = " + ".join(f"{share.total:,}" for share in shares) if len(totals) > 1 else f"{shares[0].total:,} each"
    return Figure(f"{mean.value:.1f} ± {mean.deviation:.1f}", f"{counts}, of {of}")


def methods_of(records: Iterable[RunRecord]) -> list[MethodRuns]:
    """Records grouped by everything but the seed, in the order in which methods first occur."""
    groups: dict[tuple[str, ...], list[RunRecord]] = {}
    for record in records:
        groups.setdefault((record.grid, *record.method), []).append(record)
    return [MethodRuns(tuple(sorted(group, key=lambda record: record.seed))) for group in groups.values()]


def by_model(methods: Iterable[MethodRuns]) -> dict[tuple[str, str, str], list[MethodRuns]]:
    """Methods that stand in one table: on the same texts, of one kind of model and one substitution table."""
    groups: dict[tuple[str, str, str], list[MethodRuns]] = {}
    for method in methods:
        record = method.first
        groups.setdefault((record.texts, record.model, str(record.substitutions["name"])), []).append(method)
    return groups


def titled(methods: Iterable[MethodRuns]) -> list[tuple[str, list[MethodRuns]]]:
    """The same, under the titles of their tables."""
    found = by_model(methods).items()
    return [(f"{texts}, {model}, substitutions {table}", group) for (texts, model, table), group in found]


def attacks_in(methods: Iterable[MethodRuns]) -> list[str]:
    """Every attack of some methods: those of the paper in its order, then the others by name."""
    found = {attack for method in methods for record in method.records for attack in record.attacks}
    return [attack for attack in ATTACKS if attack in found] + sorted(found - set(ATTACKS))


def presets_in(methods: Iterable[MethodRuns]) -> list[str]:
    """The paper's attacks in its order, each as it was run: as published or, where that was not, in another preset."""
    found = attacks_in(methods)
    return [next((name for name in found if name.partition(":")[0] == attack), attack) for attack in ATTACKS]


@dataclass(frozen=True)
class PairedComparison:
    """One metric of two methods over the seeds that both have."""

    first: MethodRuns
    second: MethodRuns
    metric: str
    result: Paired


def comparisons(methods: Sequence[MethodRuns], pair: tuple[str, str]) -> list[PairedComparison]:
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
            ours, theirs = ([_outcome(method, seed, metric) for seed in seeds] for method in (first, second))
            found.append(PairedComparison(first, second, metric, compare(ours, theirs)))
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


def _outcome(method: MethodRuns, seed: int, metric: str) -> Outcomes:
    record = next(record for record in method.records if record.seed == seed)
    outcome = record.outcome(metric)
    assert outcome is not None
    return outcome
