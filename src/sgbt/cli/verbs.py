"""The verbs by name. A verb's file is imported when the verb is used, so that `sgbt --help` starts at once."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command


@dataclass(frozen=True, slots=True)
class Verb:
    """Where a verb lives, what the list says of it, and a line to try.

    `home` is module:name; what stands there is a function or a group of commands.
    """

    home: str
    summary: str
    example: str = ""

    def load(self, name: str) -> Any:
        """The command itself, with all its options."""
        module, _, attribute = self.home.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            return get_command(found)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name, epilog=f"For example: {self.example}" if self.example else None)(found)
        return get_command(alone)


VERBS = {
    "demo": Verb("sgbt.cli.demo:demo", "Train, certify and attack four models on real reviews, in minutes."),
    "data": Verb("sgbt.cli.data:app", "Fetch, list, check and describe real data."),
    "train": Verb(
        "sgbt.cli.train:train_",
        "Train a classifier on a dataset or on a file of yours.",
        "sgbt train reviews.csv --text body --label stars --out runs/a",
    ),
    "predict": Verb(
        "sgbt.cli.predict:predict_",
        "Label the texts of a file, with a certificate for each if asked.",
        "sgbt predict runs/a new.csv --certify --out labelled.csv",
    ),
    "certify": Verb(
        "sgbt.cli.certify:certify_",
        "Prove for each text that no substitution changes its label.",
        "sgbt certify runs/a --limit 1000 --out certificates.jsonl",
    ),
    "encode": Verb(
        "sgbt.cli.encode:encode_",
        "Encode texts by synonym clusters, so that any model of them can be certified.",
        "sgbt encode reviews.csv --threat counter_fitted --encoder encoder.json --out encoded.csv",
    ),
    "verify": Verb(
        "sgbt.cli.verify:verify_",
        "Prove certificates again, and find rows that are false.",
        "sgbt verify certificates.jsonl --model runs/a --attacks attacks.jsonl",
    ),
    "explain": Verb(
        "sgbt.cli.explain:explain_",
        "Show what an adversary would replace in one text.",
        "sgbt explain runs/a 'a fine film with a weak ending'",
    ),
    "attack": Verb(
        "sgbt.cli.attack:attack_",
        "Attack a trained model by replacing words.",
        "sgbt attack runs/a --method pwws,ga,pso --limit 1000",
    ),
    "serve": Verb(
        "sgbt.cli.serve:serve_",
        "Open a page on which texts are examined, attacked and compared.",
        "sgbt serve runs/a runs/b",
    ),
    "bench": Verb(
        "sgbt.cli.bench:bench_",
        "Run a grid of experiments, resumable, on this machine or a Ray cluster.",
        "sgbt bench table1 --out results/table1 --dry-run",
    ),
    "report": Verb(
        "sgbt.cli.report:report_",
        "Make the tables and the page of a benchmark, or of one run, from rows.",
        "sgbt report runs/a --certificates certificates.jsonl --out report.html",
    ),
    "publish": Verb(
        "sgbt.cli.publish:publish_",
        "Write a model as a folder to share, with a card.",
        "sgbt publish runs/a --out shared --certificates certificates.jsonl",
    ),
    "docs": Verb("sgbt.cli.docs:docs", "Open the documentation, if its site is built; otherwise say how to build it."),
}
"""In the order in which `sgbt --help` lists them."""
