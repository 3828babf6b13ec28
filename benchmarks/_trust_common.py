"""What the reproductions of benchmarks/trust_before_after.py share: a registry, the command, small models."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Seen = tuple[bool, str]
"""Whether the fault is there, and what was seen."""
ITEMS: dict[str, tuple[str, str, Callable[[], Seen]]] = {}
"""By name: the item of the review, what is tried, and the reproduction."""


def item(number: str, tried: str) -> Callable[[Callable[[], Seen]], Callable[[], Seen]]:
    """Register a reproduction by its name."""

    def known(function: Callable[[], Seen]) -> Callable[[], Seen]:
        ITEMS[function.__name__] = number, tried, function
        return function

    return known


def gone(error: Exception) -> Seen:
    """Refused with a sentence of sgbt is right; anything else that is raised is a fault."""
    own = any(each.__name__ == "SgbtError" for each in type(error).__mro__)
    return not own, f"{type(error).__name__}: {plain(str(error))}"


def plain(text: str) -> str:
    """One line without paths, control characters and what a terminal draws."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    text = re.sub(r"(/[\w.+-]+)+/", "", text)
    return " ".join(text.split()).replace("|", "/")[:150]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    output: str
    seconds: float
    killed: bool = False

    @property
    def traceback(self) -> bool:
        """Whether Python's own account of an error was printed."""
        return "Traceback (most recent" in self.output or "╭───────────────────── Traceback" in self.output

    @property
    def sentence(self) -> str:
        """What was said last."""
        if self.killed:
            return f"did not end within {self.seconds:.0f} s"
        lines = [line for line in self.output.splitlines() if line.strip(" │╭╮╰╯─")]
        said = "traceback, " if self.traceback else ""
        wrong = [line for line in lines if re.search("sgbt:|Error|not true|No such command", line)]
        return plain(f"{said}exit {self.code}: {(wrong or lines or [''])[-1 if self.traceback else 0]}")


def sgbt(*arguments: object, seconds: float = 120, **environment: str) -> Done:
    """The command of the version that is imported."""
    began = time.monotonic()
    command = [sys.executable, "-m", "sgbt", *map(str, arguments)]
    wide = os.environ | {"COLUMNS": "400", "NO_COLOR": "1"} | environment
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=wide, start_new_session=True
    )
    try:
        output, _ = child.communicate(timeout=seconds)
        killed = False
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        killed = True
    return Done(child.returncode, output.decode(errors="replace"), time.monotonic() - began, killed)


def write_reviews() -> None:
    """Three hundred made-up reviews, and who may replace whom."""
    drawn, kinds = random.Random(0), {"good": ["great", "lovely"], "bad": ["awful", "dull"]}
    with Path("reviews.csv").open("w") as stream:
        stream.write("text,label\n")
        for number in range(300):
            label = drawn.choice(["good", "bad"])
            stream.write(f"a {drawn.choice(kinds[label])} film of {1900 + number % 100},{label}\n")
    Path("synonyms.json").write_text('{"great": ["awful"], "dull": ["lovely"], "film": ["movie"]}')


def run_of_reviews() -> Path:
    """A bag of words trained on them."""
    write_reviews()
    options = ["--model", "linear", "--objective", "certified", "--substitutions", "synonyms.json", "--epochs", "3"]
    done = sgbt("train", "reviews.csv", *options, "--out", "run")
    if done.code:
        raise RuntimeError(done.output)
    return Path("run")


def model_of_words(weights: dict[str, float], table: Any) -> Any:
    """A bag of words with these weights for the label yes."""
    import torch

    from sgbt.models import TextClassifier

    try:
        from sgbt.models import BagOfWords as Bag
        from sgbt.threats import Vocabulary
    except ImportError:
        from sgbt.lexicon import Vocabulary

        from sgbt.models import LinearBag as Bag
    model = Bag(features=())
    model.adopt(codes=torch.arange(len(weights) + 2), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        model.weight[2:, 1] = torch.tensor([*weights.values()])
    return TextClassifier(model.eval(), Vocabulary(tuple(weights)), ("no", "yes"), table)
