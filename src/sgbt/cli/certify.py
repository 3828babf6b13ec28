"""`sgbt certify`: proofs for the texts of a dataset or file, one row each, and a table of what they come to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen
from sgbt.core.registry import TIERS

console = Screen()
ORACLE_LIMIT = 20_000


@opt.reads("data")
def certify_(
    run: opt.Run,
    reading: Reading,
    split: opt.SplitName = None,
    limit: opt.Limit = None,
    tiers: Annotated[
        str,
        typer.Option(
            help=f"Tiers to try, separated by commas, of {', '.join(TIERS)}; all for every one, default for those that "
            "take little time."
        ),
    ] = "default",
    max_substitutions: opt.Budget = None,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    oracle: Annotated[
        int, typer.Option(min=0, max=opt.LARGEST, help="Enumerate texts with at most so many variants; 0 for none.")
    ] = ORACLE_LIMIT,
    out: Annotated[
        Path | None, typer.Option(help="File for the rows; the same command goes on where it stood.")
    ] = None,
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Prove for each text that no substitution changes its label, and say how many proofs there are."""
    import torch

    from sgbt.certify import DEFAULT_TIERS, certify
    from sgbt.certify.oracle import robust_by_oracle
    from sgbt.certify.rows.summary import Summary, by_class
    from sgbt.cli.certify_view import show, show_classes
    from sgbt.cli.screen import counting
    from sgbt.models import load_classifier

    if threads:
        torch.set_num_threads(threads)
    classifier = load_classifier(run)
    table = opt.table_for(classifier, substitutions, vectors=vectors, data_home=data_home)
    chosen = reading.texts(run, classifier, split, limit, data_home=data_home)
    named = {"default": DEFAULT_TIERS, "all": tuple(TIERS)}
    with counting() as bars:
        task = bars.add_task("certifying", total=len(chosen))
        certificates = certify(
            classifier,
            chosen.texts,
            table,
            labels=chosen.labels,
            tiers=named.get(tiers) or tuple(name.strip() for name in tiers.split(",")),
            max_substitutions=max_substitutions,
            out=out,
            listener=lambda done, of: bars.update(task, completed=done, total=of),
        )
    console.print(f"{run}: {len(chosen):,} texts of {chosen.source}; {table!r}")
    if max_substitutions is not None:
        console.print(f"at most {max_substitutions} words replaced at once")
    robust = robust_by_oracle(classifier, chosen.texts, certificates, table, most=oracle) if oracle else None
    labelled = chosen.labels is not None
    show(Summary.of(certificates), robust, oracle, console, labelled=labelled)
    show_classes(by_class(certificates, classifier.label_names, labelled=labelled), console)
    if out:
        console.print(f"rows in {out}")
