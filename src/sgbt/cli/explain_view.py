"""What a person sees of an explanation: the marked text, the verdict, and the words or edits that cost most."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgbt.certify import Certificate, Explanation, Verdict
from sgbt.certify.edits.explain import ThreatExplanation
from sgbt.core.errors import DataError
from sgbt.models import TextClassifier
from sgbt.threats import Threat

SHOWN = 10


def show(explanation: Explanation, classifier: TextClassifier, console: Console) -> None:
    """All of it."""
    console.print(_marked(explanation), soft_wrap=True)
    if explanation.certificate.verdict is Verdict.VACUOUS:
        _vacuous(explanation, classifier, console)
    else:
        _verdict(explanation, classifier, console)
        _weakest(explanation, console)
    _read(explanation.certificate, console)


def number_of(classifier: TextClassifier, label: str | None) -> int | None:
    """The label that the command line names, as the classifier numbers it."""
    if label is None:
        return None
    if label not in classifier.label_names:
        raise DataError(expected=f"one of {', '.join(classifier.label_names)}", got=repr(label), where="--defend")
    return classifier.label_names.index(label)


def _marked(explanation: Explanation) -> Text:
    """The text with each word that can cost something followed by what it would become; the weakest in bold red."""
    shown, position, text = Text(), 0, explanation.tokens.text
    heavy = {word.place for word in explanation.weakest[:SHOWN]}
    for word in explanation.words:
        start, end = explanation.tokens.starts[word.place], explanation.tokens.ends[word.place]
        shown.append(text[position:start])
        style = "bold red" if word.place in heavy else "yellow" if word.substitute else ""
        shown.append(text[start:end], style=style)
        if word.place in heavy:
            shown.append(f"[{word.substitute} {word.drop:+.3g}]", style="red")
        position = end
    shown.append(text[position:], style="dim" if explanation.certificate.truncated else "")
    return shown


def _verdict(explanation: Explanation, classifier: TextClassifier, console: Console) -> None:
    proof, names = explanation.certificate, classifier.label_names
    label, rival = names[proof.label], names[explanation.rival]
    words = "any number of words" if proof.max_substitutions is None else f"at most {proof.max_substitutions} words"
    if proof.verdict is Verdict.MISCLASSIFIED:
        console.print(f"misclassified: read as {names[proof.predicted]}, not {label}")
        return
    meaning = f"no replacement of {words} changes it" if proof.certified else f"not proven for {words}"
    console.print(f"{label}: {proof.verdict}; {meaning}")
    console.print(
        f"margin over {rival}: {explanation.clean:.4g} as it stands, at least {proof.margin:.4g} whatever is replaced"
        f" (tier {proof.tier}, slack {proof.slack:.2g})",
    )
    if proof.radius is not None:
        console.print(
            f"radius: safe with up to {proof.radius} of its {proof.replaceable} replaceable words replaced",
        )


def _vacuous(explanation: Explanation, classifier: TextClassifier, console: Console) -> None:
    """Nothing was proven: say why, and the margin of the one version that there is."""
    proof, names = explanation.certificate, classifier.label_names
    why = "no word may be replaced" if proof.replaceable else "none of its words has a substitute"
    console.print(f"{names[proof.label]}: nothing to replace; {why}, so nothing was to be proven")
    console.print(f"margin over {names[explanation.rival]}: {explanation.clean:.4g} as it stands")


def _read(proof: Certificate, console: Console) -> None:
    """How much of the text the model knows at all."""
    if proof.truncated:
        console.print(f"only the first {proof.read:,} of {proof.words:,} words are read")
    if not proof.read:
        console.print("the text has no words")
    elif proof.unknown:
        alone = "; the model knows none of them" if proof.unknown == proof.read else ""
        console.print(f"{proof.unknown:,} of {proof.read:,} words unknown{alone}")


def _weakest(explanation: Explanation, console: Console) -> None:
    if not explanation.weakest:
        console.print("no replacement lowers the bound")
        return
    table = Table("word", "becomes", "lowers the bound by", "substitutes", box=None, pad_edge=False)
    for word in explanation.weakest[:SHOWN]:
        table.add_row(word.word, word.substitute, f"{-word.drop:.4g}", str(word.choices))
    console.print(table)
    lost = sum(word.drop for word in explanation.words)
    console.print(
        f"tier {explanation.tier}: {explanation.clean:.4g} as it stands, "
        f"{explanation.base - explanation.clean:+.4g} that no single word causes,"
        f" {lost:+.4g} for all words together = {explanation.margin:.4g}",
    )


NOTHING, SPACE = "(left out)", "·"
"""What is shown where nothing is written, and for a space within an edit."""


def show_threat(explanation: ThreatExplanation, threat: Threat, classifier: TextClassifier, console: Console) -> None:
    """All of it."""
    proof, names = explanation.certificate, classifier.label_names
    console.print(_marked_edits(explanation), soft_wrap=True)
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


def _marked_edits(explanation: ThreatExplanation) -> Text:
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
