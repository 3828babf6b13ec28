"""What the demo ends with: a table, three broken reviews, a proven one, and what to try next."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sgbt.attacks.result import FAILED, SUCCESS
from sgbt.certify import Certificate
from sgbt.certify.rows.summary import Summary, by_class
from sgbt.cli.attack_view import show_examples
from sgbt.cli.certify_view import show_warning
from sgbt.cli.demo_stages import Data, Measured
from sgbt.core.shares import Share
from sgbt.report import Report, report_of_records, report_of_run
from sgbt.threats import combinations

SHOWN = 3


def show(results: Sequence[Measured], data: Data, out: Path, page: Path, texts: Path, console: Console) -> None:
    """Everything, in the order in which a newcomer wants it."""
    normal, firm = results[0], results[-1]
    console.print()
    console.print(figures(map(_shares, results)))
    console.print(
        f"Of {len(data.dataset.test)} test reviews that no model saw. Robust: right, and broken by no attack. "
        "Certified: right, and proven that no combination of substitutes changes it. In brackets: 95 % intervals.",
    )
    for each in results:
        if vacuous := Summary.of(each.proofs).vacuous.count:
            console.print(f"{each.name}: {vacuous:,} more are right and have no word to replace.")
        show_warning(by_class(each.proofs, data.dataset.label_names), console, f"{each.name}: ")
    console.print()
    fooled = min(len({result.index for result in normal.attacks if result.status == SUCCESS}), SHOWN)
    console.print(f"[bold]{_reviews(fooled)} on which the normal model was fooled[/bold]", markup=True)
    show_examples(normal.attacks, SHOWN, normal.run.model, console)
    if proof := _chosen(normal, firm):
        _show_proven(proof, data, console)
    console.print()
    console.print(f"[bold]The report[/bold]: {escape(str(page))}", markup=True)
    own = out / firm.name
    rows = f"{own / 'certificates.jsonl'} --model {own} --attacks {own / 'attacks.jsonl'} --texts {texts}"
    console.print(f"[bold]Prove it again[/bold]: {escape(f'{program()} verify {rows}')}", markup=True)
    following = escape(f"{program()} serve {out / normal.name} {out / firm.name}")
    console.print(f"[bold]Next[/bold]: {following}", markup=True)


def report_of(results: Sequence[Measured]) -> Report:
    """Both runs in one report."""
    parts = [report_of_run(each.run, each.proofs, each.attacks) for each in results]
    records = [record for part in parts for record in part.records]
    examples = [example for part in parts for section in part.document.sections for example in section.examples]
    return report_of_records(
        records, title="IMDB: a TextCNN trained in three ways, and the default model", examples=examples
    )


def robust(measured: Measured) -> Share:
    """Reviews that are right and that no attack broke, of all."""
    held: dict[int, bool] = {}
    for result in measured.attacks:
        held[result.index] = held.get(result.index, True) and result.status == FAILED
    return Share(sum(held.values()), len(held))


def program() -> str:
    """How this command line is called again from here: `make demo` runs one that the shell does not find by name."""
    if shutil.which("sgbt"):
        return "sgbt"
    called = Path(sys.argv[0])
    return os.path.relpath(called) if called.name == "sgbt" else f"{sys.executable} -m sgbt"


def figures(results: Iterable[tuple[str, Share, Share, Share]]) -> Table:
    """Name, clean, robust and certified accuracy of every model, as a table."""
    table = Table("training", "clean accuracy", "robust accuracy", "certified accuracy")
    for name, *shares in results:
        table.add_row(name, *map(_shown, shares))
    return table


def _shares(each: Measured) -> tuple[str, Share, Share, Share]:
    right = Share(sum(proof.predicted == proof.label for proof in each.proofs), len(each.proofs))
    proven = Share(sum(proof.certified for proof in each.proofs), len(each.proofs))
    return each.name, right, robust(each), proven


def _shown(share: Share) -> str:
    low, high = share.interval
    return f"{share.value:.1%}\n{share.count:,} of {share.total:,}\n({low:.1%} to {high:.1%})"


def _reviews(count: int) -> str:
    return ("No review", "One review", "Two reviews", "Three reviews")[count]


def _chosen(normal: Measured, firm: Measured) -> Certificate | None:
    """A certified review to show: of those that the normal model was fooled on, if there are any, the shortest."""
    broken = {result.index for result in normal.attacks if result.swaps}
    proven = [proof for proof in firm.proofs if proof.certified and not proof.truncated]
    return min(proven, key=lambda proof: (proof.index not in broken, proof.words), default=None)


def _show_proven(proof: Certificate, data: Data, console: Console) -> None:
    text = data.dataset.test.texts[proof.index]
    versions = combinations(data.table, data.tokenizer.words(text))
    label = data.dataset.label_names[proof.label]
    console.print()
    console.print("[bold]A review that the default model cannot be fooled on[/bold]", markup=True)
    console.print(
        f"text {proof.index}: {label}, proven for all {counted(versions)} versions of it: {proof.replaceable} of its "
        f"{proof.words} words have substitutes (marked), in any combination (bound {proof.tier}, margin at least "
        f"{proof.margin:.3g})",
    )
    console.print(_marked(text, data, ("", "") if console.is_terminal else ("<", ">")))


def counted(number: int) -> str:
    """A whole number in full while it is short, else as a power of ten."""
    if number < 10**9:
        return f"{number:,}"
    exponent = math.floor(math.log10(number))  # of a whole number of any length; a power of ten may round either way
    exponent += (number >= 10 ** (exponent + 1)) - (number < 10**exponent)
    return f"{number // 10 ** (exponent - 1) / 10:.1f} x 10^{exponent}"


def _marked(text: str, data: Data, around: tuple[str, str]) -> Text:
    """The text with its replaceable words in colour and, where there is none, with signs around them."""
    tokens, shown, position = data.tokenizer.tokenize(text), Text(), 0
    for word, start, end in zip(tokens.words, tokens.starts, tokens.ends, strict=True):
        shown.append(text[position:start])
        if data.table.substitutes(word):
            shown.append(text[start:end].join(around), style="bold cyan")
        else:
            shown.append(text[start:end])
        position = end
    shown.append(text[position:])
    return shown
