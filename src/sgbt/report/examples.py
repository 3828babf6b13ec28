"""Texts that attacks broke, with the changed words marked."""

from __future__ import annotations

from collections.abc import Sequence

from sgbt.attacks import AttackResult
from sgbt.attacks.result import SUCCESS
from sgbt.data import Tokenizer
from sgbt.report.document import Example, Piece

AROUND = 25
"""Words that are shown on either side of the changes."""


def examples_of(results: Sequence[AttackResult], name: str, labels: Sequence[str], most: int = 2) -> list[Example]:
    """The broken texts with the fewest changes, each text once."""
    broken = sorted(
        (result for result in results if result.status == SUCCESS), key=lambda each: (len(each.swaps), each.index)
    )
    chosen: dict[int, AttackResult] = {}
    for result in broken:
        if len(chosen) < most:
            chosen.setdefault(result.index, result)
    return [example_of(result, name, labels) for result in chosen.values()]


def example_of(result: AttackResult, name: str, labels: Sequence[str]) -> Example:
    """One broken text, from some words before its first change to some after its last."""
    tokens = Tokenizer().tokenize(result.original)
    new = {swap.position: swap.new for swap in result.swaps}
    first, last = max(min(new) - AROUND, 0), min(max(new) + AROUND, len(tokens) - 1)
    pieces = [Piece("… ")] if first else []
    position = tokens.starts[first]
    for place in sorted(new):
        pieces.append(Piece(result.original[position : tokens.starts[place]]))
        pieces.append(Piece(result.original[tokens.starts[place] : tokens.ends[place]], new[place]))
        position = tokens.ends[place]
    pieces.append(Piece(result.original[position : tokens.ends[last]]))
    pieces += [Piece(" …")] if last < len(tokens) - 1 else []
    title = f"{name}, {result.method}, text {result.index}: {len(result.swaps)} of {result.words} words"
    return Example(
        title, _label(labels, result.label), _label(labels, result.after), tuple(p for p in pieces if p.text)
    )


def _label(labels: Sequence[str], number: int) -> str:
    return labels[number] if number < len(labels) else str(number)
