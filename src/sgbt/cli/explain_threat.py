"""What a person sees of one text under a threat: what is proven, the worst version found, and the words that matter."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgbt.certify import Verdict
from sgbt.certify.edits.explain import ThreatExplanation
from sgbt.models import TextClassifier
from sgbt.threats import Threat

SHOWN = 10
NOTHING, SPACE = "(left out)", "·"
"""What is shown where nothing is written, and for a space within an edit."""


def show(explanation: ThreatExplanation, threat: Threat, classifier: TextClassifier, console: Console) -> None:
    """All of it."""
    proof, names = explanation.certificate, classifier.label_names
    console.print(_marked(explanation), soft_wrap=True)
    label = names[proof.label]
    if proof.verdict is Verdict.MISCLASSIFIED:
        console.print(f"misclassified: read as {names[proof.predicted]}, not {label}", markup=False)
    else:
        meaning = {
            Verdict.CERTIFIED: "nothing that it allows changes the label",
            Verdict.VACUOUS: "it allows nothing to be done to this text",
        }
        said = meaning.get(proof.verdict, "not proven")
        console.print(f"{label}: {proof.verdict} against {threat}; {said}", markup=False, soft_wrap=True)
    console.print(f"what it allows: {explanation.description}", markup=False, soft_wrap=True)
    lowest = "" if proof.verdict is Verdict.MISCLASSIFIED else f", proven {proof.margin:.4g} whatever is done"
    console.print(
        f"margin: {explanation.clean:.4g} as it stands{lowest}, "
        f"{explanation.worst_margin:.4g} in the worst version found (slack {proof.slack:.2g})",
        markup=False,
        soft_wrap=True,
    )
    if explanation.worst_text != explanation.tokens.text:
        read = f"worst version found, read as {names[explanation.worst_label]}: {explanation.worst_text}"
        console.print(read, markup=False, soft_wrap=True)
    _edits(explanation, console)


def _marked(explanation: ThreatExplanation) -> Text:
    """The text, with the stretches that matter most in bold red."""
    shown = Text(explanation.tokens.text)
    for edit in explanation.edits[:SHOWN]:
        if edit.drop < 0:
            shown.stylize("bold red", edit.start, edit.end)
    return shown


def _edits(explanation: ThreatExplanation, console: Console) -> None:
    costly = [edit for edit in explanation.edits if edit.drop < 0]
    if not costly:
        console.print("no single edit lowers the margin")
        return
    table = Table("what stands there", "worst edit", "kind", "lowers the margin by", "tried", box=None, pad_edge=False)
    for edit in costly[:SHOWN]:
        old, new = (each.replace(" ", SPACE) for each in (edit.old, edit.new))
        kind = edit.kind.replace("_", " ")
        table.add_row(Text(old), Text(new or NOTHING), kind, f"{-edit.drop:.4g}", f"{edit.choices:,}")
    console.print(table)
    if explanation.tried < explanation.possible:
        console.print(f"{explanation.tried:,} of {explanation.possible:,} single edits were tried")
