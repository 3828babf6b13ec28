"""What a person sees of an attack: how far it is, what is left of the accuracy, and what it did to some texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import TextColumn
from rich.table import Table
from rich.text import Text

from sgbt.attacks import AttackResult, Share, summarise
from sgbt.attacks.result import FAILED, SUCCESS, by_class
from sgbt.cli.certify_view import show_classes
from sgbt.cli.screen import Drawn, counting
from sgbt.models import TextClassifier

SHOWN_WORDS = 60
"""Words of an example that are shown on either side of its changes."""


class AttackView(Drawn):
    """A bar with the running robust accuracy; use it as a context manager and `tell` it every result."""

    def __init__(self, method: str, total: int) -> None:
        self._bars = counting(TextColumn("robust {task.fields[robust]}"))
        self._task = self._bars.add_task(method, total=total, robust="-")
        self._robust = self._texts = 0
        self._seen = True

    def tell(self, result: AttackResult) -> None:
        """Count one more text."""
        self._texts += 1
        self._robust += result.status == FAILED
        self._bars.update(self._task, advance=1, robust=f"{self._robust / self._texts:.1%}")


def show_summary(results: Sequence[AttackResult], names: Sequence[str], console: Console) -> None:
    """Every method's figures, with both denominators and 95 % intervals, and what the model does with each class."""
    if not results:
        console.print("no texts to attack")
        return
    table = Table(
        "attack", "clean accuracy", "robust, of all texts", "robust, of correct texts (AUA)", "queries",
        "words changed", "seconds per text",
    )  # fmt: skip
    for row in summarise(results):
        table.add_row(
            row.method,
            _shown(row.clean),
            _shown(row.robust),
            _shown(row.unbroken),
            f"{row.queries:,.0f}",
            "-" if math.isnan(row.share_changed) else f"{row.share_changed:.1%}",
            f"{row.seconds:.3f}",
        )
    console.print(table)
    methods = {result.method for result in results}
    if len(methods) > 1:
        broken = {result.index for result in results if result.status == SUCCESS}
        texts = {result.index for result in results}
        robust = {result.index for result in results if result.status == FAILED} - broken
        console.print(f"robust against all {len(methods)}, of all texts: {Share(len(robust), len(texts))}")
    show_classes(by_class(results, names), console)


def _shown(share: Share) -> str:
    if not share.total:
        return "none"
    low, high = share.interval
    return f"{share.value:.1%}\n{share.count:,} of {share.total:,}\n{low:.1%} to {high:.1%}"


def show_examples(results: Sequence[AttackResult], count: int, classifier: TextClassifier, console: Console) -> None:
    """The broken texts with the fewest changes, old words struck out and new ones beside them."""
    broken = sorted((result for result in results if result.status == SUCCESS), key=lambda result: len(result.swaps))
    names = classifier.label_names
    for result in list({result.index: result for result in reversed(broken)}.values())[::-1][:count]:
        console.print(
            f"[bold]text {result.index}[/bold], {escape(result.method)}: {escape(names[result.label])} -> "
            f"{escape(names[result.after])}, {len(result.swaps)} of {result.words} words, {result.queries:,} queries",
            markup=True,
        )
        console.print(marked_text(result, classifier))


def marked_text(result: AttackResult, classifier: TextClassifier) -> Text:
    """The text from some words before its first change to some after its last; within a threat, what was edited."""
    if result.threat_hash:
        return _edited_text(result)
    tokens = classifier.tokenizer.tokenize(result.original)
    new = {swap.position: swap.new for swap in result.swaps}
    first, last = max(min(new) - SHOWN_WORDS, 0), min(max(new) + SHOWN_WORDS, len(tokens) - 1)
    shown = Text("... " if first else "")
    position = tokens.starts[first]
    for place in sorted(new):
        shown.append(result.original[position : tokens.starts[place]])
        shown.append(result.original[tokens.starts[place] : tokens.ends[place]], style="red strike")
        shown.append(f"[{new[place]}]", style="bold green")
        position = tokens.ends[place]
    shown.append(result.original[position : tokens.ends[last]])
    shown.append(" ..." if last < len(tokens) - 1 else "")
    return shown


def _edited_text(result: AttackResult) -> Text:
    """The text that was found, and before it each edit: what stood there, struck out, and what is written."""
    shown = Text()
    for swap in result.swaps:
        shown.append(swap.old or "nothing", style="red strike")
        shown.append(f"[{swap.new}] ", style="bold green")
    words = result.perturbed.split()
    first = max(min(swap.position for swap in result.swaps) - SHOWN_WORDS, 0)
    last = max(swap.position for swap in result.swaps) + SHOWN_WORDS
    beginning, end = "... " if first else "", " ..." if last < len(words) else ""
    return shown.append(f"{beginning}{' '.join(words[first:last])}{end}")
