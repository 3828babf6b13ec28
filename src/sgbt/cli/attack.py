"""`sgbt attack`: a trained classifier in; how much of its accuracy word substitution leaves, out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgbt.cli import options as opt
from sgbt.cli.parts_view import Ray, asked_of, shown_in_parts
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen
from sgbt.core.errors import AttackError
from sgbt.core.registry import ATTACKS

if TYPE_CHECKING:
    from sgbt.attacks import Attack, AttackResult
    from sgbt.models import TextClassifier
    from sgbt.threats import SubstitutionTable, Threat

console = Screen()
WORDS, EDITS = "pwws,ga,pso", "greedy,beam,ga,charmer"
"""The attacks that are made if none is named: within a substitution table, and within a threat."""
PUBLISHED = "published"
"""The table of each attack's own publication, which this verb knows beside those of all verbs."""

Methods = Annotated[
    str | None,
    typer.Option(
        help=f"One or more of {', '.join(ATTACKS)} (ga is genetic), separated by commas; otherwise {WORDS}, and "
        f"with a threat {EDITS}."
    ),
]
MaxChanged = Annotated[float | None, typer.Option(help="Largest share of words to change; by default as published.")]
MaxQueries = Annotated[int | None, typer.Option(min=1, max=opt.LARGEST, help="At most this many queries per text.")]
CsvOut = Annotated[Path | None, typer.Option(help="Also write the results with TextAttack's CSV columns.")]
Examples = Annotated[int, typer.Option(min=0, max=opt.LARGEST, help="How many broken texts to show.")]


@opt.reads("data")
def attack_(
    run: opt.Run,
    reading: Reading,
    method: Methods = None,
    split: opt.SplitName = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    threat: opt.ThreatName = None,
    max_changed: MaxChanged = None,
    max_queries: MaxQueries = None,
    out: opt.RowsOut = None,
    csv: CsvOut = None,
    examples: Examples = 3,
    workers: opt.WorkersOrCores = None,
    ray: Ray = False,
    address: opt.Address = None,
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Attack a trained model; progress is shown, every text is a row, and an interrupted run resumes.

    --substitutions also takes published: the table of each attack's own publication. With --ray, or where --data is a
    folder, each shard of the file is a part of its own in the folder --out.
    """
    from sgbt.attacks import attack, write_textattack_csv
    from sgbt.cli.attack_view import AttackView, show_examples, show_summary
    from sgbt.evaluate.shard_work import Asked, Attacking
    from sgbt.models import load_classifier

    opt.use_threads(threads)
    changes: dict[str, Any] = {} if max_changed is None else {"max_changed": max_changed}
    methods = _methods(method if method is not None else WORDS if threat is None else EDITS, changes, csv)
    classifier = load_classifier(run)
    asked, tables = _within(classifier, threat, methods, substitutions, vectors=vectors, data_home=data_home)
    if asked_of(ray, reading, split=split, limit=limit, csv=csv):
        texts = Asked(classifier, None, asked, reading.text, reading.label)
        work = Attacking(texts, tables, seed, max_queries, changes)
        shown_in_parts(work, reading, out, console, "attacking", ray=ray, address=address, workers=workers)
        return
    chosen = reading.texts(run, classifier, split, limit, data_home=data_home)
    about = f"; threat {asked.name}" if asked else ""
    console.print(f"{run}: {len(chosen):,} texts of {chosen.source}, {', '.join(methods)}, seed {seed}{about}")
    if chosen.labels is None:
        console.print("there are no labels: the model's own answers are attacked, and count as right")
    results: list[AttackResult] = []
    for name, table in tables.items():
        with AttackView(name, len(chosen)) as view:
            results += attack(
                classifier, chosen.texts, table, threat=asked, labels=chosen.labels, method=name, seed=seed,
                max_queries=max_queries, out=out, listener=view.tell, workers=workers or 1, **changes,
            )  # fmt: skip
    show_summary(results, classifier.label_names, console)
    show_examples(results, examples, classifier, console)
    if csv:
        write_textattack_csv(results, csv)
    for path in filter(None, (out, csv)):
        console.print(f"rows in {path}")


def _methods(names: str, changes: Mapping[str, Any], csv: Path | None) -> dict[str, Attack]:
    """The attacks that a list names; one that is not known, none at all, or a folder to write to is refused at once."""
    from sgbt.attacks import method_named
    from sgbt.attacks.search.method import full_name

    found = {full_name(name): method_named(full_name(name), **changes) for name in names.split(",") if name.strip()}
    if not found:
        raise AttackError(expected=f"one or more of {', '.join(ATTACKS)}", got="none", where="--method")
    if csv and csv.is_dir():
        raise AttackError(expected="a file to write", got="a folder", where=str(csv), remedy="choose another --csv")
    return found


def _within(
    classifier: TextClassifier, threat: str | None, methods: Mapping[str, Attack], substitutions: str, **reader: Any
) -> tuple[Threat | None, dict[str, SubstitutionTable | None]]:
    """The threat, or the table that each method attacks within."""
    if threat:
        return opt.threat_for(classifier, threat, **reader), dict.fromkeys(methods)
    sources = {name: kind.source if substitutions == PUBLISHED else substitutions for name, kind in methods.items()}
    return None, {name: opt.table_for(classifier, source, **reader) for name, source in sources.items()}
