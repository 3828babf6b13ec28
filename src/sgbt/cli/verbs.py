"""The verbs by name. A verb's file is imported when the verb is used, so that `sgbt --help` starts at once."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command


@dataclass(frozen=True, slots=True)
class Verb:
    """Where a verb lives (`home` is module:name, a function or a group of commands), and what the list says of it."""

    home: str
    summary: str

    def load(self, name: str) -> Any:
        """The command itself, with all its options."""
        module, _, attribute = self.home.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            return get_command(found)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        return get_command(alone)


VERBS = {
    "demo": Verb("sgbt.cli.demo:demo", "Train, certify and attack two models on real reviews, in ten minutes."),
    "data": Verb("sgbt.cli.data:app", "Fetch, list, check and describe real data."),
    "train": Verb("sgbt.cli.train:train_", "Train a classifier on a dataset or on a file of yours."),
    "certify": Verb("sgbt.cli.certify:certify_", "Prove for each text that no substitution changes its label."),
    "explain": Verb("sgbt.cli.explain:explain_", "Show what an adversary would replace in one text."),
    "attack": Verb("sgbt.cli.attack:attack_", "Attack a trained model by replacing words."),
    "serve": Verb("sgbt.cli.serve:serve_", "Open a page on which texts are examined, attacked and compared."),
    "bench": Verb("sgbt.cli.bench:bench_", "Run a grid of experiments, resumable, on this machine or a Ray cluster."),
    "report": Verb("sgbt.cli.report:report_", "Make the tables and the page of a benchmark from its rows."),
    "publish": Verb("sgbt.cli.publish:publish_", "Write a model as a folder to share, with a card."),
}
"""In the order in which `sgbt --help` lists them."""
