"""The figures of a model's card: accuracies with their denominators, and what the model does with each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sgbt.attacks import AttackResult
from sgbt.attacks.result import by_class as answers_by_class
from sgbt.bridges.card_attacks import CardAttack
from sgbt.bridges.card_labels import Labels
from sgbt.bridges.escaping import as_text
from sgbt.certify import Certificate
from sgbt.certify.rows.summary import Summary
from sgbt.certify.rows.summary import by_class as proofs_by_class
from sgbt.core.by_class import ByClass
from sgbt.core.shares import Share

Figures = list[tuple[str, Share]]
NOTHING = "nothing to replace"
"""The figure of texts that are right and have nothing to replace; no accuracy, so not among the header's metrics."""


def figures_of(
    proofs: Sequence[Certificate], attacks: Sequence[CardAttack], labels: Labels, budget: int | None
) -> Iterator[tuple[str, Share]]:
    """Every share that the rows give, each of all texts; without labels none is an accuracy."""
    own = labels is Labels.OWN
    if proofs:
        summary = Summary.of(proofs)
        words = "" if budget is None else f", at most {budget} {'word' if budget == 1 else 'words'} replaced"
        if not own:
            yield "clean accuracy", summary.clean
        yield f"{'certified answers' if own else 'certified accuracy'}{words}", summary.certified
        if summary.vacuous.count:
            yield NOTHING, summary.vacuous
    for each in attacks:
        if not proofs and not own:
            yield f"clean accuracy ({each.title})", each.clean
        yield f"{'answers unbroken by' if own else 'robust accuracy against'} {each.name}", each.robust


def figure_lines(figures: Figures, labels: Labels) -> Iterator[str]:
    """The figures as a table."""
    yield "| figure | share | 95 % interval | texts |\n|---|---|---|---|"
    for name, share in figures:
        low, high = share.interval
        yield f"| {as_text(name)} | {share.value:.2%} | {low:.2%} to {high:.2%} | {share.count:,} of {share.total:,} |"
    yield "\nShares are of all texts, the misclassified included. Intervals are Wilson's."
    yield labels.value
    if any(name == NOTHING for name, _ in figures):
        yield (
            "Texts with nothing to replace are right and none of their words has a substitute: they are not counted as"
            " certified here, though certified accuracy in the literature counts them."
        )


def meaning(proofs: Sequence[Certificate], budget: int | None) -> str:
    """What a certificate says of its text."""
    tables = ", ".join(sorted({f"`{proof.table_hash[:12]}`" for proof in proofs}))
    if budget is None:
        when = f"under every combination of substitutes of the table with hash {tables}"
    else:
        some = f"at most {budget} of its words {'is' if budget == 1 else 'are'} replaced"
        when = f"when {some} by substitutes of the table with hash {tables}"
    slack = max(proof.slack for proof in proofs)
    return f"A certified text keeps its label {when}; margins count above a rounding slack of {slack:.2g}."


def class_lines(
    proofs: Sequence[Certificate], attacks: Sequence[AttackResult], names: Sequence[str], labels: Labels
) -> Iterator[str]:
    """What the rows say of each class as a table, and a warning if there is one answer for everything."""
    labelled = labels is not Labels.OWN
    found: ByClass = (
        proofs_by_class(proofs, names, labelled=labelled)
        if proofs
        else answers_by_class(attacks, names, labelled=labelled)
    )
    if found.warning:
        yield f"\n**Warning: {as_text(found.warning)}.**"
    yield "\n| class | texts | right | answers | right among them | certified |\n|---|---|---|---|---|---|"
    for each in found.classes:
        proven = "-" if each.certified is None else f"{each.certified.count:,} of {each.certified.total:,}"
        right, among = (f"{share.count:,}" if labelled else "-" for share in (each.recall, each.precision))
        texts = f"{each.recall.total:,}" if labelled else "-"
        yield f"| {as_text(each.name)} | {texts} | {right} | {each.precision.total:,} | {among} | {proven} |"
