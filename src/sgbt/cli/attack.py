"""`sgbt attack`: a trained classifier in; how much of its accuracy word substitution leaves, out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console

from sgbt.attacks import METHODS, AttackResult, attack, method_named, write_textattack_csv
from sgbt.attacks.methods import full_name
from sgbt.cli import options as opt
from sgbt.cli.attack_view import AttackView, show_examples, show_summary
from sgbt.cli.reading import Reading
from sgbt.data import Split, TextDataset
from sgbt.errors import AttackError, DataError
from sgbt.lexicon import SubstitutionTable
from sgbt.models import TextClassifier, load_classifier

console = Console(highlight=False)
RUN, PUBLISHED = "run", "published"


def attack_(
    run: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    method: Annotated[
        str, typer.Option(help=f"One or more of {', '.join(METHODS)} (ga is genetic), separated by commas.")
    ] = "pwws,ga,pso",
    data: opt.DataOfRun = "",
    split: Annotated[str, typer.Option(help="train, dev or test; all takes every row of a file.")] = "test",
    text: opt.TextColumn = None,
    label: opt.LabelColumn = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Attack the first texts only.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    substitutions: Annotated[
        str,
        typer.Option(
            help="Who may replace whom: run is the table the model was trained for, published is each attack's own; "
            "or counter_fitted, counter_fit, neighbours, wordnet, sememes or a JSON file."
        ),
    ] = RUN,
    vectors: opt.Vectors = "glove",
    max_changed: Annotated[
        float | None, typer.Option(help="Greatest share of words to change (otherwise as published).")
    ] = None,
    max_queries: Annotated[int | None, typer.Option(min=1, help="Greatest number of queries per text.")] = None,
    out: Annotated[Path | None, typer.Option(help="File of JSON lines for the rows; the same command resumes.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the results with TextAttack's CSV columns.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="How many broken texts to show.")] = 3,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the texts.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Processor threads to use.")] = None,
    drop_empty: opt.DropEmpty = False,
    encoding: opt.Encoding = "utf-8",
    data_home: opt.DataHome = None,
) -> None:
    """Attack a trained model; progress is shown, every text is a row, and an interrupted run goes on where it stood."""
    if threads:
        torch.set_num_threads(threads)
    changes: dict[str, Any] = {} if max_changed is None else {"max_changed": max_changed}
    names = [full_name(name) for name in method.split(",") if name.strip()]
    methods = {name: method_named(name, **changes) for name in names}  # refuses a wrong one before anything is loaded
    if not methods:
        raise AttackError(wanted=f"one or more of {', '.join(METHODS)}", got="none", where="--method")
    if csv and csv.is_dir():
        raise AttackError(wanted="a file to write", got="a folder", where=str(csv), remedy="choose another --csv")
    classifier = load_classifier(run)
    dataset = Reading(data, text, label, drop_empty=drop_empty, encoding=encoding).for_run(run, data_home=data_home)
    texts = _texts(classifier, dataset, split)[:limit]
    console.print(
        f"{run}: {len(texts):,} texts of {dataset.name} ({split}), {', '.join(methods)}, seed {seed}", soft_wrap=True
    )
    results: list[AttackResult] = []
    for name, chosen in methods.items():
        table = _table(classifier, chosen.source if substitutions == PUBLISHED else substitutions, vectors, data_home)
        with AttackView(name, len(texts)) as view:
            results += attack(
                classifier,
                texts,
                table,
                method=name,
                seed=seed,
                max_queries=max_queries,
                out=out,
                listener=view.tell,
                workers=workers,
                **changes,
            )
    show_summary(results, console)
    show_examples(results, examples, classifier, console)
    if csv:
        write_textattack_csv(results, csv)
    for path in filter(None, (out, csv)):
        console.print(f"rows in {path}", soft_wrap=True)


def _texts(classifier: TextClassifier, dataset: TextDataset, split: str) -> Split:
    if dataset.label_names != classifier.label_names:
        raise DataError(
            wanted=f"the labels that the model knows ({', '.join(classifier.label_names[:10])})",
            got=", ".join(dataset.label_names[:10]),
            where=dataset.name,
            remedy="name the label column with --label, or attack a model of that data",
        )
    splits = {part.name: part for part in dataset.splits}
    if split == "all":
        parts = dataset.splits
        whole = [example for part in parts for example in part]
        return Split("all", tuple(example.text for example in whole), torch.tensor([e.label for e in whole]).numpy())
    if split not in splits:
        raise AttackError(wanted="one of train, dev, test, all", got=repr(split), where="--split")
    return splits[split]


def _table(classifier: TextClassifier, name: str, vectors: str, data_home: Path | None) -> SubstitutionTable:
    if name == RUN:
        if classifier.table is None:
            raise AttackError(
                wanted="a model that was trained with a substitution table",
                got="one without",
                where="--substitutions run",
                remedy="choose a table, such as --substitutions counter_fitted",
            )
        return classifier.table
    table = opt.table_of(name, partial(opt.vectors_of, vectors, data_home=data_home), data_home=data_home)
    if table is None:
        raise AttackError(wanted="a substitution table", got=repr(name), where="--substitutions")
    return table
