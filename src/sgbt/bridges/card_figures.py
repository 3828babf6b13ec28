"""The figures of a model's card: accuracies with their denominators, and what the model does with each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sgbt.attacks import AttackResult, summarise
from sgbt.attacks.summary import by_class as answers_by_class
from sgbt.by_class import ByClass
from sgbt.certify import Certificate
from sgbt.certify.summary import Summary
from sgbt.certify.summary import by_class as proofs_by_class
from sgbt.shares import Share

Figures = list[tuple[str, Share]]
NOTHING = "nothing to replace"
"""The figure of texts that are right and have nothing to replace; no accuracy, so not among the header's metrics."""


def figures_of(proofs: Sequence[Certificate], attacks: Sequence[AttackResult]) -> Iterator[tuple[str, Share]]:
    """Every accuracy that the rows give, each of all texts."""
    if proofs:
        summary = Summary.of(proofs)
        budget = {proof.max_substitutions for proof in proofs} - {None}
        words = f", at most {budget.pop()} words replaced" if budget else ""
        yield "clean accuracy", summary.clean
        yield f"certified accuracy{words}", summary.certified
        if summary.vacuous.count:
            yield NOTHING, summary.vacuous
    for row in summarise(attacks):
        if not proofs:
            yield f"clean accuracy ({row.method})", row.clean
        yield f"robust accuracy against {row.method}", row.robust


def figure_lines(figures: Figures) -> Iterator[str]:
    """The figures as a table."""
    yield "| figure | share | 95 % interval | texts |\n|---|---|---|---|"
    for name, share in figures:
        low, high = share.interval
        yield f"| {name} | {share.value:.2%} | {low:.2%} to {high:.2%} | {share.count:,} of {share.total:,} |"
    yield "\nShares are of all texts, the misclassified included. Intervals are Wilson's."
    if any(name == NOTHING for name, _ in figures):
        yield (
            "Texts with nothing to replace are right and none of their words has a substitute: they are not counted as"
            " certified here, though certified accuracy in the literature counts them."
        )


def class_lines(proofs: Sequence[Certificate], attacks: Sequence[AttackResult], names: Sequence[str]) -> Iterator[str]:
    """What the rows say of each class as a table, and a warning if there is one answer for everything."""
    found: ByClass = proofs_by_class(proofs, names) if proofs else answers_by_class(attacks, names)
    if found.warning:
        yield f"\n**Warning: {found.warning}.**"
    yield "\n| class | texts | right | answers | right among them | certified |\n|---|---|---|---|---|---|"
    for each in found.classes:
        name = " ".join(each.name.split()).replace("|", "\\|")
        proven = "-" if each.certified is None else f"{each.certified.count:,} of {each.certified.total:,}"
        yield (
            f"| {name} | {each.recall.total:,} | {each.recall.count:,} | {each.precision.total:,} |"
            f" {each.precision.count:,} | {proven} |"
        )
