"""`sgbt train`: a dataset or a file in, a folder with a trained classifier out."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen
from sgbt.core.errors import TrainingError
from sgbt.core.registry import DEVICES, MODELS, OBJECTIVES

ModelName = Annotated[
    str | None,
    typer.Option(
        help=f"auto, which chooses a linear model and its settings for the data, or {', '.join(MODELS)}; by default "
        "auto, or cnn with options that only networks have."
    ),
]
ObjectiveName = Annotated[
    str | None,
    typer.Option(help=f"One of {', '.join(OBJECTIVES)}; by default sgbt for networks and certified for linear models."),
]
Epochs = Annotated[int | None, typer.Option(min=1, max=opt.MOST_EPOCHS, help="At most this many epochs.")]
Preset = Annotated[
    str | None, typer.Option(help="Named settings, such as paper-cnn-imdb, or a published model, grid:cell.")
]
Config = Annotated[Path | None, typer.Option(help="TOML file with tables training, model, objective, start.")]
Test = Annotated[bool, typer.Option("--test", help="At the end, measure accuracy on the test split, once.")]
Device = Annotated[str, typer.Option(help=f"One of {', '.join(DEVICES)}; auto is a GPU where there is one.")]
TensorBoard = Annotated[
    bool, typer.Option("--tensorboard", help="Write scalars for TensorBoard into the run's folder as well.")
]


@opt.reads("test_file", "drop_shared")
def train_(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for the run; the same command resumes it.")],
    reading: Reading,
    data: opt.Data = "",
    model: ModelName = None,
    objective: ObjectiveName = None,
    epochs: Epochs = None,
    seed: opt.Seed = 0,
    beta: Annotated[float | None, typer.Option(help="Weight of the growth penalty L_GBM.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Weight of the curvature penalty L_SGBT.")] = None,
    preset: Preset = None,
    config: Config = None,
    substitutions: opt.Substitutions = "auto",
    vectors: opt.Vectors = "glove",
    threat: opt.ThreatName = None,
    limit: opt.Limit = None,
    test: Test = False,
    threads: opt.Threads = None,
    device: Device = "auto",
    tensorboard: TensorBoard = False,
    data_home: opt.DataHome = None,
) -> None:
    """Train a classifier; progress is shown, every step is logged, and an interrupted run resumes."""
    from sgbt.cli import train_view as parts
    from sgbt.cli.threat_fit import ThreatOptions, fit_to_threat
    from sgbt.cli.train_auto import AUTO, model_named, train_chosen
    from sgbt.cli.train_named import NamedOptions, train_named
    from sgbt.training.config import read_toml
    from sgbt.training.loop.listeners import TensorBoardListener
    from sgbt.training.loop.parallel import device_named, is_first

    console = Screen(quiet=not is_first())
    opt.use_threads(threads)
    if preset and ":" in preset:
        parts.refuse_beside_published(context)
        parts.rebuilt(preset, out, console, data_home=data_home)
        return
    if not data:
        raise TrainingError(expected="a dataset or a file", got="none", where="sgbt train", remedy="sgbt train imdb")
    model = model_named(context, model)
    tables = read_toml(config) if config else {}
    aim = parts.method_from(objective, model, tables.get("objective", {}), beta=beta, gamma=gamma)
    device_named(device)  # a missing device is refused before anything is read
    reading = replace(reading, data=data)
    whole = reading.load(data_home=data_home)
    dataset = parts.limited(whole, limit)
    read_vectors = cache(partial(opt.vectors_of, vectors, data_home=data_home))
    read_table = partial(opt.table_of, substitutions, read_vectors, data_home=data_home)
    boards = [TensorBoardListener(out)] if tensorboard else []
    asked = NamedOptions(data, model, aim, tables, preset, epochs, seed, device, test, boards)
    if threat:
        fit_to_threat(threat, dataset, out, console, ThreatOptions(context, vectors, asked))
    elif model == AUTO:
        train_chosen(asked, dataset, read_table(), read_vectors if substitutions == "auto" else None, out, console)
    else:
        train_named(dataset, read_table, read_vectors, out, console, asked)
    if is_first():
        reading.keep(out, whole)
    console.print(f"saved in {out}")
