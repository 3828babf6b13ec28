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
WORDS, EDITS = "pwws,ga,pso", "greedy,beam,ga,charmer"
"""The attacks that are made if none is named: within a substitution table, and within a threat."""
PUBLISHED = "published"
"""The table of each attack's own publication, which this verb knows beside those of all verbs."""


@opt.reads("data")
def attack_(
    run: opt.Run,
    reading: Reading,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One or more of {', '.join(ATTACKS)} (ga is genetic), separated by commas; otherwise {WORDS}, and "
            f"with a threat {EDITS}."
        ),
    ] = None,
    split: opt.SplitName = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    threat: opt.ThreatName = None,
    max_changed: Annotated[
        float | None, typer.Option(help="Greatest share of words to change (otherwise as published).")
    ] = None,
    max_queries: Annotated[
        int | None, typer.Option(min=1, max=opt.LARGEST, help="Greatest number of queries per text.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the rows; the same command goes on where it stood.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the results with TextAttack's CSV columns.")] = None,
    examples: Annotated[int, typer.Option(min=0, max=opt.LARGEST, help="How many broken texts to show.")] = 3,
    workers: opt.Workers = 1,
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Attack a trained model; progress is shown, every text is a row, and an interrupted run goes on where it stood.

    --substitutions also takes published: the table of each attack's own publication.
    """
    import torch

    from sgbt.attacks import attack, method_named, write_textattack_csv
    from sgbt.attacks.search.method import full_name
    from sgbt.cli.attack_view import AttackView, show_examples, show_summary
    from sgbt.models import load_classifier

    if threads:
        torch.set_num_threads(threads)
    changes: dict[str, Any] = {} if max_changed is None else {"max_changed": max_changed}
    named = method if method is not None else WORDS if threat is None else EDITS
    chosen_names = [full_name(name) for name in named.split(",") if name.strip()]
    methods = {name: method_named(name, **changes) for name in chosen_names}  # a wrong one is refused at once
    if not methods:
        raise AttackError(expected=f"one or more of {', '.join(ATTACKS)}", got="none", where="--method")
    if csv and csv.is_dir():
        raise AttackError(expected="a file to write", got="a folder", where=str(csv), remedy="choose another --csv")
    classifier = load_classifier(run)
    chosen = reading.texts(run, classifier, split, limit, data_home=data_home)
    asked = threat and opt.threat_for(classifier, threat, vectors=vectors, data_home=data_home)
    about = f"; threat {asked.name}" if asked else ""
    console.print(f"{run}: {len(chosen):,} texts of {chosen.source}, {', '.join(methods)}, seed {seed}{about}")
    if chosen.labels is None:
        console.print("there are no labels: the model's own answers are attacked, and count as right")
    results: list[AttackResult] = []
    for name, kind in methods.items():
        source = kind.source if substitutions == PUBLISHED else substitutions
        table = None if asked else opt.table_for(classifier, source, vectors=vectors, data_home=data_home)
        with AttackView(name, len(chosen)) as view:
            results += attack(
                classifier,
                chosen.texts,
                table,
                threat=asked or None,
                labels=chosen.labels,
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
        console.print(f"rows in {path}")
