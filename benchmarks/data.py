"""What reading text costs: tokenising IMDB's training reviews against other tokenizers, and loading IMDB twice.

Run: python benchmarks/data.py [--limit N]. Every measurement runs in a process of its own: seconds are of the work
alone, and memory is the peak of that process above what it held when the work began. Ratios are of processor time to
that of the plain regular expression in the same run.

NLTK's `word_tokenize` first cuts a text into sentences with a model that has to be downloaded; it is called with
`preserve_line=True`, which leaves that step out and so makes it faster than its default.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sgbt.data import Tokenizer, load_dataset, tokenise
from sgbt.resources import get

PLAIN = re.compile(r"\w+|[^\w\s]")
Texts = Sequence[str]


def with_sgbt(texts: Texts) -> int:
    words = list(map(Tokenizer().words, texts))
    return sum(map(len, words))


def with_sgbt_and_positions(texts: Texts) -> int:
    tokens = list(map(Tokenizer().tokenize, texts))
    return sum(map(len, tokens))


def with_sgbt_as_ids(texts: Texts) -> int:
    return len(tokenise(texts, cache=False).ids.flat)


def with_plain_expression(texts: Texts) -> int:
    words = [PLAIN.findall(text.lower()) for text in texts]
    return sum(map(len, words))


def with_nltk(texts: Texts) -> int:
    from nltk.tokenize import word_tokenize

    words = [word_tokenize(text.lower(), preserve_line=True) for text in texts]
    return sum(map(len, words))


TOKENIZERS: dict[str, tuple[str, Callable[[Texts], int]]] = {
    "plain": (r"regular expression \w+|[^\w\s], lower case", with_plain_expression),
    "words": ("sgbt Tokenizer.words", with_sgbt),
    "positions": ("sgbt Tokenizer.tokenize, with positions", with_sgbt_and_positions),
    "ids": ("sgbt tokenise, as ids of distinct words", with_sgbt_as_ids),
    "nltk": ("NLTK word_tokenize(preserve_line=True)", with_nltk),
}


def load(home: str) -> int:
    """Everything that stands between nothing and a batch: read, check, split, tokenise."""
    reviews = load_dataset("imdb", data_home=home)
    return sum(len(split.tokenised().ids.flat) for split in reviews.splits)


def measure(task: str, source: str) -> None:
    """Do one task in this process and print its figures as JSON."""
    texts = [] if task == "load" else json.loads(Path(source).read_text(encoding="utf-8"))
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of starting up
    before = peak_kilobytes()
    start, worked = time.perf_counter(), time.process_time()
    words = load(source) if task == "load" else TOKENIZERS[task][1](texts)
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    megabytes = (peak_kilobytes() - before) / 1e3
    print(json.dumps({"seconds": seconds, "processor": worked, "megabytes": megabytes, "words": words}))


def peak_kilobytes() -> int:
    """The most memory this process held since the mark was last reset; what it inherited at its start is not in it."""
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0])


def measured(task: str, source: str, cache: str) -> dict[str, float]:
    """The figures of one task in a process of its own, with `cache` as its user cache."""
    command = [sys.executable, __file__, "--measure", task, source]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=os.environ | {"SGBT_CACHE": cache})
    return json.loads(done.stdout)


def add(table: Table, title: str, row: dict[str, float], ratio: str) -> None:
    figures = (
        f"{row['seconds']:.2f}",
        f"{row['processor']:.2f}",
        ratio,
        f"{row['megabytes']:.0f}",
        f"{row['words']:,.0f}",
    )
    table.add_row(escape(title), *figures)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--limit", type=int, default=25_000, help="how many training reviews are tokenised")
    options.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.measure:
        measure(*chosen.measure)
        return
    home = str(get("imdb").paths[0].parent.parent)
    texts = load_dataset("imdb", dev=0.0).train.texts[: chosen.limit]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "texts.json"
        source.write_text(json.dumps(texts), encoding="utf-8")
        rows = {name: measured(name, str(source), folder) for name in TOKENIZERS}
        loads = [measured("load", home, f"{folder}/cache") for _ in range(2)]
    table = Table(title=f"{len(texts):,} training reviews of IMDB; both splits for loading")
    for column in ("what", "seconds", "of processor", "ratio", "peak MB", "words"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, row in rows.items():
        add(table, TOKENIZERS[name][0], row, f"{row['processor'] / rows['plain']['processor']:.2f}")
    table.add_section()
    for title, row in zip(("first load of IMDB", "second load of IMDB"), loads, strict=True):
        add(table, title, row, "")
    Console(width=None if sys.stdout.isatty() else 110).print(table)


if __name__ == "__main__":
    main()
