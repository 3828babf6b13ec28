"""`sgbt certify`: proofs for the texts of a dataset or file, one row each, and a table of what they come to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.parts_view import Ray, asked_of, shown_in_parts
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen
from sgbt.core.registry import TIERS

if TYPE_CHECKING:
    from sgbt.models import TextClassifier
    from sgbt.threats import SubstitutionTable, Threat

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
    ray: Ray = False,
    address: opt.Address = None,
    workers: opt.WorkersOrCores = None,
    threads: opt.Threads = None,
    data_home: opt.DataHome = None,
) -> None:
    """Prove for each text that no substitution changes its label, and say how many proofs there are.

    With --ray, or where --data is a folder, each shard of the file is a part of its own in the folder --out.
    """
    from sgbt.cli.certify_view import against_substitutions, against_threat, tiers_of
    from sgbt.evaluate.shard_work import Asked, Certifying
    from sgbt.models import load_classifier

    opt.use_threads(threads)
    if callable_ is not None:
        from sgbt.cli.certify_callable import certify_callable

        certify_callable(
            callable_, run, encoder, reading, limit=limit, max_substitutions=max_substitutions,
            max_queries=max_queries, fingerprint=fingerprint, out=out, dry_run=dry_run,
        )  # fmt: skip
        return
    classifier = load_classifier(run)
    table, asked, most = _asked(classifier, threat, substitutions, max_substitutions, vectors, data_home)
    if asked_of(ray, reading, split=split, limit=limit):
        work = Certifying(Asked(classifier, table, asked, reading.text, reading.label), tiers_of(tiers), most)
        shown_in_parts(work, reading, out, console, "certifying", ray=ray, address=address, workers=workers)
        return
    chosen = reading.texts(run, classifier, split, limit, data_home=data_home)
    if asked is not None:
        against_threat(classifier, chosen, asked, out, f"{run}: {len(chosen):,} texts of {chosen.source}", console)
    elif table is not None:
        against_substitutions(classifier, chosen, table, tiers, most, oracle, out, str(run), console)
    if out:
        console.print(f"rows in {out}")


def _asked(
    classifier: TextClassifier,
    threat: str | None,
    substitutions: str,
    budget: int | None,
    vectors: str,
    data_home: Path | None,
) -> tuple[SubstitutionTable | None, Threat | None, int | None]:
    """A table with a limit of words, or a threat that is more than that."""
    if threat is None:
        return opt.table_for(classifier, substitutions, vectors=vectors, data_home=data_home), None, budget
    asked = opt.threat_for(classifier, threat, vectors=vectors, data_home=data_home)
    if not asked.only_substitutions:
        return None, asked, None
    table, most = opt.as_table(asked, budget)
    return table, None, most
