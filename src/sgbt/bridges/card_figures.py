"""The figures of a model's card: accuracies with their denominators, and what the model does with each class."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sgbt.attacks import AttackResult
from sgbt.attacks.result import by_class as answers_by_class
from sgbt.certify import Certificate
from sgbt.certify.rows.summary import Summary
from sgbt.certify.rows.summary import by_class as proofs_by_class
from sgbt.core.errors import visible
from sgbt.core.shares import ByClass, Share

if TYPE_CHECKING:
    from sgbt.bridges.card_attacks import CardAttack

_MARKS = re.compile(r"[\\`*_{}\[\]#|~$!]")
_BEGINNING = re.compile(r"^(\d+)([.)])|^([-+=])")
_ADDRESSES = {"://": ":&#47;&#47;", "www.": "www&#46;", "@": "&#64;"}
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_HALVES = re.compile("[\ud800-\udfff]")


def as_text(text: object) -> str:
    """One line of Markdown that shows these letters: no cell, tag, link, emphasis or heading begins or ends in it."""
    escaped = _MARKS.sub(r"\\\g<0>", html.escape(_in_one_line(text), quote=False))
    escaped = _BEGINNING.sub(lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", escaped)
    for address, entity in _ADDRESSES.items():
        escaped = escaped.replace(address, entity)
    return escaped


def as_code(text: object) -> str:
    """These letters as code, also in a cell of a table, where a span can hold neither every pipe nor every backtick."""
    line = _in_one_line(text)
    return f"<code>{as_text(line)}</code>" if re.search(r"[`|\\<&]", line) else f"`{line}`"


def as_yaml(value: Any) -> str:
    """A value of JSON on one line of YAML, which every reader of YAML 1.1 and 1.2 reads as that value."""
    if isinstance(value, str):
        whole = _HALVES.sub("\ufffd", value)
        return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(whole, ensure_ascii=False))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_yaml(str(name))}: {as_yaml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(as_yaml, value)) + "]"
    if isinstance(value, float):  # 4e-05 would be a text
        return format(Decimal(repr(value)), "f") if math.isfinite(value) else "null"
    return json.dumps(value)


def _in_one_line(text: object) -> str:
    return visible(" ".join(str(text).split()))


class Labels(StrEnum):
    """What is known of the labels, as a card says it."""

    COMPARED = "Labels are those of the data, compared row by row."
    STATED = "Labels are those of the data as the rows state them; they were not compared with it."
    OWN = (
        "The texts have no labels of their own: the labels are the model's own answers. These figures say which answers"
        " stay; how many are right is not known."
    )
    UNKNOWN = (
        "The rows, of an earlier version, do not say where their labels come from, and no data was given to compare"
        " them with: if they are the model's own answers, every text counts as right."
    )

    @staticmethod
    def of(rows: Sequence[Certificate | AttackResult], *, compared: bool) -> Labels:
        """What rows say of their labels, unless these were compared with the data."""
        said = {row.labelled for row in rows}
        if compared:
            return Labels.COMPARED
        if False in said:
            return Labels.OWN
        return Labels.UNKNOWN if None in said else Labels.STATED


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
