"""`sgbt demo`: the main job on real data, with nothing to prepare."""

from __future__ import annotations

from rich.console import Console

from sgbt.cli import options as opt
from sgbt.cli.describing import describe_dataset, describe_substitutions, describe_vectors
from sgbt.cli.progress import ProgressBars
from sgbt.resources import get

console = Console(highlight=False)


def demo(
    vectors: opt.Vectors = "glove", substitutions: opt.Substitutions = "auto", data_home: opt.DataHome = None
) -> None:
    """Fetch real reviews and word vectors, and show what there is to defend against."""
    for step, name in enumerate(("imdb", "glove"), start=1):
        with ProgressBars() as bars:
            located = get(name, data_home=data_home, progress=bars)
        console.print(f"[bold]{step}. {name}[/bold]: from {located.provider}", soft_wrap=True)
    dataset = opt.dataset_of("imdb", text=None, label=None, data_home=data_home)
    console.print(
        "[bold]3. Tokenising 50,000 reviews[/bold] (a few seconds; the next time they are read from the cache)"
    )
    describe_dataset(dataset, console)
    chosen = opt.vectors_of(vectors, data_home=data_home)
    describe_vectors(dataset, chosen, console)
    console.print("[bold]4. What an adversary may replace[/bold]")
    table = opt.table_of(substitutions, chosen, data_home=data_home)
    if table is not None:
        describe_substitutions(dataset, table, console)
    console.print("[bold]Next[/bold]: sgbt train imdb --model cnn --objective sgbt --out runs/first", soft_wrap=True)
