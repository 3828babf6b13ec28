"""What a person sees of an explanation: the marked text, the verdict, and the words that cost most."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgbt.certify import Certificate, Explanation, Verdict
from sgbt.core.errors import DataError
from sgbt.models import TextClassifier

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
