"""`sgbt demo`: the main job on real data, with nothing to prepare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.screen import ProgressBars, Screen
from sgbt.resources import get

console = Screen()
MOST = 25_000
"""Reviews of either set."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder for everything that is made; the same command resumes.")] = (
        Path("runs/demo")
    ),
    reviews: Annotated[int, typer.Option(help="Reviews of the training set to train on.", min=100, max=MOST)] = 10_000,
    limit: Annotated[int, typer.Option(help="Reviews of the test set to certify and attack.", min=10, max=MOST)] = 200,
    substitutions: opt.Substitutions = "auto",
    data_home: opt.DataHome = None,
) -> None:
    """Train a TextCNN in three ways and the default model, then certify and attack all on the same real reviews.

    Every stage is kept in the output folder: interrupt it at any time, and the same command goes on from there.
    """
    from sgbt.cli.demo_stages import (
        CERTIFIED,
        DEFAULT,
        NETWORKS,
        NORMAL,
        SMOOTH,
        DemoSettings,
        Measured,
        attacked,
        certified,
        chosen,
        data_of,
        kept_texts,
        trained,
    )
    from sgbt.cli.demo_view import report_of, show

    for number, name in enumerate(("imdb", "glove"), start=1):
        with ProgressBars() as bars:
            located = get(name, data_home=data_home, progress=bars)
        _say(f"{number}. {name}: from {located.provider}")
    settings = DemoSettings(reviews=reviews, limit=limit)
    _say("3. Reading reviews, vectors and substitutes")
    with Screen(stderr=True).status("") as status:
        data = data_of(settings, out, substitutions=substitutions, data_home=data_home, say=status.update)
    console.print(
        f"{len(data.dataset.train):,} of {data.of_train:,} training reviews, {len(data.dataset.dev):,} to choose by, "
        f"{len(data.dataset.test):,} of {data.of_test:,} test reviews; {data.table.describe()}",
    )
    found = {}
    how = {NORMAL: "normally", CERTIFIED: "on the worst case of every review", SMOOTH: "with the penalty S-GBT"}
    for number, name in enumerate(NETWORKS, start=4):
        _say(f"{number}. Training a TextCNN {how[name]}")
        found[name] = trained(name, data, out / name, console)
    _say("7. Training the model that sgbt train chooses by default")
    found[DEFAULT] = chosen(data, out / DEFAULT, console)
    _say("8. Proving, review by review, that no substitution changes the label")
    proofs = {name: certified(run, data, out / name) for name, run in found.items()}
    _say("9. Attacking the same reviews, with greedy search and PWWS")
    results = [
        Measured(name, run, proofs[name], attacked(run, proofs[name], data, out / name)) for name, run in found.items()
    ]
    page = report_of(results).save(out / "report.html")
    show(results, data, out, page, kept_texts(data, out), console)


def _say(title: str) -> None:
    console.print(f"[bold]{title}[/bold]", markup=True)
