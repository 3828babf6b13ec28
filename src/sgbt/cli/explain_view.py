"""What a person sees of an explanation: the marked text, the verdict, and the words that cost most."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgbt.certify import Certificate, Explanation, Verdict
from sgbt.core.errors import DataError
from sgbt.models import TextClassifier

SHOWN = 10


def show(told: Explanation, classifier: TextClassifier, console: Console) -> None:
    """All of it."""
    console.print(_marked(told), soft_wrap=True)
    if told.certificate.verdict is Verdict.VACUOUS:
        _vacuous(told, classifier, console)
    else:
        _verdict(told, classifier, console)
        _weakest(told, console)
    _read(told.certificate, console)


def number_of(classifier: TextClassifier, label: str | None) -> int | None:
    """The label that the command line names, as the classifier numbers it."""
    if label is None:
        return None
    if label not in classifier.label_names:
        raise DataError(expected=f"one of {', '.join(classifier.label_names)}", got=repr(label), where="--defend")
    return classifier.label_names.index(label)


def _marked(told: Explanation) -> Text:
    """The text with each word that can cost something followed by what it would become; the weakest in bold red."""
    shown, position, text = Text(), 0, told.tokens.text
    heavy = {word.place for word in told.weakest[:SHOWN]}
    for word in told.words:
        start, end = told.tokens.starts[word.place], told.tokens.ends[word.place]
        shown.append(text[position:start])
        style = "bold red" if word.place in heavy else "yellow" if word.substitute else ""
        shown.append(text[start:end], style=style)
        if word.place in heavy:
            shown.append(f"[{word.substitute} {word.drop:+.3g}]", style="red")
        position = end
    shown.append(text[position:], style="dim" if told.certificate.truncated else "")
    return shown


def _verdict(told: Explanation, classifier: TextClassifier, console: Console) -> None:
    proof, names = told.certificate, classifier.label_names
    label, rival = names[proof.label], names[told.rival]
    words = "any number of words" if proof.max_substitutions is None else f"at most {proof.max_substitutions} words"
    if proof.verdict is Verdict.MISCLASSIFIED:
        console.print(f"misclassified: read as {names[proof.predicted]}, not {label}")
        return
    meaning = f"no replacement of {words} changes it" if proof.certified else f"not proven for {words}"
    console.print(f"{label}: {proof.verdict}; {meaning}")
    console.print(
        f"margin over {rival}: {told.clean:.4g} as it stands, at least {proof.margin:.4g} whatever is replaced"
        f" (tier {proof.tier}, slack {proof.slack:.2g})",
    )
    if proof.radius is not None:
        console.print(
            f"radius: safe with up to {proof.radius} of its {proof.replaceable} replaceable words replaced",
        )


def _vacuous(told: Explanation, classifier: TextClassifier, console: Console) -> None:
    """Nothing was proven: say why, and the margin of the one version that there is."""
    proof, names = told.certificate, classifier.label_names
    why = "no word may be replaced" if proof.replaceable else "none of its words has a substitute"
    console.print(f"{names[proof.label]}: nothing to replace; {why}, so nothing was to be proven")
    console.print(f"margin over {names[told.rival]}: {told.clean:.4g} as it stands")


def _read(proof: Certificate, console: Console) -> None:
    """How much of the text the model knows at all."""
    if proof.truncated:
        console.print(f"only the first {proof.read:,} of {proof.words:,} words are read")
    if not proof.read:
        console.print("the text has no words")
    elif proof.unknown:
        alone = "; the model knows none of them" if proof.unknown == proof.read else ""
        console.print(f"{proof.unknown:,} of {proof.read:,} words unknown{alone}")


def _weakest(told: Explanation, console: Console) -> None:
    if not told.weakest:
        console.print("no replacement lowers the bound")
        return
    table = Table("word", "becomes", "lowers the bound by", "substitutes", box=None, pad_edge=False)
    for word in told.weakest[:SHOWN]:
        table.add_row(word.word, word.substitute, f"{-word.drop:.4g}", str(word.choices))
    console.print(table)
    lost = sum(word.drop for word in told.words)
    console.print(
        f"tier {told.tier}: {told.clean:.4g} as it stands, {told.base - told.clean:+.4g} that no single word causes,"
        f" {lost:+.4g} for all words together = {told.margin:.4g}",
    )
