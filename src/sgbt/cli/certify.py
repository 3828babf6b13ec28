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


Queries = Annotated[
    int, typer.Option(min=1, max=opt.LARGEST, rich_help_panel=opt.ANY, help="At most this many queries per text.")
]
TierNames = Annotated[
    str,
    typer.Option(
        help=f"Tiers to try, separated by commas, of {', '.join(TIERS)}; all for every one, default for those that "
        "take little time."
    ),
]
OracleLimit = Annotated[
    int,
    typer.Option(min=0, max=opt.LARGEST, help="Enumerate texts with at most this many variants; 0: none."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", rich_help_panel=opt.ANY, help="Only say what it would cost.")]


@opt.reads("data")
def certify_(
    run: Annotated[Path, typer.Argument(help="Folder of a trained model; with --callable, a file of texts.")],
    reading: Reading,
    split: opt.SplitName = None,
    limit: opt.Limit = None,
    tiers: TierNames = "default",
    max_substitutions: opt.Budget = None,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    threat: opt.ThreatName = None,
    oracle: OracleLimit = ORACLE_LIMIT,
    out: opt.RowsOut = None,
    callable_: opt.Callable_ = None,
    encoder: opt.EncoderFile = None,
    max_queries: Queries = 4096,
    fingerprint: opt.Fingerprint = None,
    dry_run: DryRun = False,
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Prove for each text that no substitution changes its label, and say how many proofs there are."""
    from sgbt.cli.certify_view import against_substitutions, against_threat
    from sgbt.models import load_classifier

    opt.use_threads(threads)
    if callable_ is not None:
        from sgbt.cli.certify_callable import certify_callable

        certify_callable(
            callable_,
            run,
            encoder,
            reading,
            limit=limit,
            max_substitutions=max_substitutions,
            max_queries=max_queries,
            fingerprint=fingerprint,
            out=out,
            dry_run=dry_run,
        )
        return
    classifier = load_classifier(run)
    if threat is None:
        table = opt.table_for(classifier, substitutions, vectors=vectors, data_home=data_home)
    else:
        asked = opt.threat_for(classifier, threat, vectors=vectors, data_home=data_home)
        if not asked.only_substitutions:
            chosen = reading.texts(run, classifier, split, limit, data_home=data_home)
            against_threat(classifier, chosen, asked, out, f"{run}: {len(chosen):,} texts of {chosen.source}", console)
            return
        table, max_substitutions = opt.as_table(asked, max_substitutions)
    chosen = reading.texts(run, classifier, split, limit, data_home=data_home)
    against_substitutions(classifier, chosen, table, tiers, max_substitutions, oracle, out, str(run), console)
    if out:
        console.print(f"rows in {out}")
