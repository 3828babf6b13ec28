"""Attack rows replayed: what each says of its text, its swaps and the model's answers is looked at again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sgbt.attacks.result import AttackResult
from sgbt.core.errors import ForgedRowError
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable


def check_true(
    classifier: TextClassifier,
    attacks: Sequence[AttackResult],
    table: SubstitutionTable | None = None,
    *,
    texts: Mapping[int, str] | None = None,
    labels: Mapping[int, int] | None = None,
    where: str,
) -> None:
    """That every attack row names this model, or none, and says what is so.

    The swaps, written as attacks write them, make the perturbed text of the original; where the row names `table`, it
    has them all; the model gives both texts the labels that the row says. Where `texts` and `labels` are known, the
    row's are the same. What a row says of its status follows from its labels (`AttackResult`). That an attack found
    nothing is not shown by this: `sgbt.attacks.replay` makes attacks again.
    """
    own = classifier.identity
    for row in attacks:
        if row.model_hash not in ("", own):  # rows of earlier versions do not say
            raise ForgedRowError(
                expected=f"attacks on the model with identity {own[:12]}",
                got=f"one on {row.model_hash[:12]}",
                where=where,
                remedy="attack this model",
            )
        if texts is not None and texts.get(row.index, row.original) != row.original:
            raise contradicted(row, "another text than that of the data", where)
        if labels is not None and labels.get(row.index, row.label) != row.label:
            raise contradicted(row, f"label {row.label}, where it is {labels[row.index]}", where)
        if fault := _fault(classifier, row, table):
            raise contradicted(row, fault, where)
    if not attacks:
        return
    before = classifier.predict([row.original for row in attacks]).probabilities.argmax(axis=1)
    after = classifier.predict([row.perturbed for row in attacks]).probabilities.argmax(axis=1)
    for row, first, last in zip(attacks, before.tolist(), after.tolist(), strict=True):
        if (first, last) != (row.predicted, row.after):
            said = f"labels {row.predicted} -> {row.after}, which this model contradicts: {first} -> {last}"
            raise contradicted(row, said, where)


def _fault(classifier: TextClassifier, row: AttackResult, table: SubstitutionTable | None) -> str:
    """What the row says of its words that is not so, if anything."""
    tokens = classifier.tokenizer.tokenize(row.original)
    if row.words != len(tokens):
        return f"{row.words} words, where it has {len(tokens)}"
    changes = {swap.position: swap.new for swap in row.swaps}
    if len(changes) < len(row.swaps):
        return "a word that is replaced twice"
    for swap in row.swaps:
        if not 0 <= swap.position < min(len(tokens), classifier.max_length):
            return f"a swap at word {swap.position}, which the model does not read"
        if tokens.words[swap.position] != swap.old:
            return f"{swap.old!r} at word {swap.position}, where it is {tokens.words[swap.position]!r}"
        if table is not None and row.table_hash == table.hash and swap.new not in table.substitutes(swap.old):
            return f"{swap.old!r} -> {swap.new!r}, which is not in the table that it names"
    if (tokens.written(changes) if changes else row.original) != row.perturbed:
        return "another text than its swaps make"
    return ""


def contradicted(row: AttackResult, fault: str, where: str) -> ForgedRowError:
    """The error that names an attack row and what it says wrongly."""
    return ForgedRowError(
        expected=f"a row of {row.method} for text {row.index} that says what is so",
        got=fault,
        where=where,
        remedy="attack this model again",
    )
