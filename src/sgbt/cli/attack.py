"""`sgbt attack`: a trained classifier in; how much of its accuracy word substitution leaves, out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen
from sgbt.core.errors import AttackError
from sgbt.core.registry import ATTACKS

if TYPE_CHECKING:
    from sgbt.attacks import AttackResult

console = Screen()
PUBLISHED = "published"


def attack_(
    run: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    method: Annotated[
        str, typer.Option(help=f"One or more of {', '.join(ATTACKS)} (ga is genetic), separated by commas.")
    ] = "pwws,ga,pso",
    data: opt.DataOfRun = "",
    split: Annotated[str, typer.Option(help="train, dev or test; all takes every row of a file.")] = "test",
    text: opt.TextColumn = None,
    label: opt.LabelColumn = None,
    limit: Annotated[int | None, typer.Option(min=1, max=opt.LARGEST, help="Attack the first texts only.")] = 1000,
    seed: opt.Seed = 0,
    substitutions: Annotated[
        str,
        typer.Option(
            help="Who may replace whom: run is the table the model was trained for, published is each attack's own; "
            "or counter_fitted, counter_fit, neighbours, wordnet, wordnet_hypernyms, sememes or a JSON file."
        ),
    ] = "run",
    vectors: opt.Vectors = "glove",
    max_changed: Annotated[
        float | None, typer.Option(help="Greatest share of words to change (otherwise as published).")
    ] = None,
    max_queries: Annotated[
        int | None, typer.Option(min=1, max=opt.LARGEST, help="Greatest number of queries per text.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File of JSON lines for the rows; the same command resumes.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the results with TextAttack's CSV columns.")] = None,
    examples: Annotated[int, typer.Option(min=0, max=opt.LARGEST, help="How many broken texts to show.")] = 3,
    workers: Annotated[int, typer.Option(min=1, max=opt.MOST_AT_ONCE, help="Processes that share the texts.")] = 1,
    threads: opt.Threads = None,
    drop_empty: opt.DropEmpty = False,
    encoding: opt.Encoding = "utf-8",
    data_home: opt.DataHome = None,
) -> None:
    """Attack a trained model; progress is shown, every text is a row, and an interrupted run goes on where it stood."""
    import torch

    from sgbt.attacks import attack, method_named, write_textattack_csv
    from sgbt.attacks.search.method import full_name
    from sgbt.cli.attack_parts import table_for, texts_of
    from sgbt.cli.attack_view import AttackView, show_examples, show_summary
    from sgbt.models import load_classifier

    if threads:
        torch.set_num_threads(threads)
    changes: dict[str, Any] = {} if max_changed is None else {"max_changed": max_changed}
    chosen_names = [full_name(name) for name in method.split(",") if name.strip()]
    methods = {
        name: method_named(name, **changes) for name in chosen_names
    }  # refuses a wrong one before anything is loaded
    if not methods:
        raise AttackError(expected=f"one or more of {', '.join(ATTACKS)}", got="none", where="--method")
    if csv and csv.is_dir():
        raise AttackError(expected="a file to write", got="a folder", where=str(csv), remedy="choose another --csv")
    classifier = load_classifier(run)
    dataset = Reading(data, text, label, drop_empty=drop_empty, encoding=encoding).for_run(run, data_home=data_home)
    texts = texts_of(classifier, dataset, split)[:limit]
    console.print(
        f"{run}: {len(texts):,} texts of {dataset.name} ({split}), {', '.join(methods)}, seed {seed}", soft_wrap=True
    )
    results: list[AttackResult] = []
    for name, chosen in methods.items():
        table = table_for(
            classifier, chosen.source if substitutions == PUBLISHED else substitutions, vectors, data_home
        )
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
    show_summary(results, classifier.label_names, console)
    show_examples(results, examples, classifier, console)
    if csv:
        write_textattack_csv(results, csv)
    for path in filter(None, (out, csv)):
        console.print(f"rows in {path}", soft_wrap=True)
