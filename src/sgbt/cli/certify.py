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

Run = Annotated[Path, typer.Argument(help="Folder of a trained model; see sgbt train.")]
RunOrFile = Annotated[Path, typer.Argument(help="Folder of a trained model; with --callable, a file of texts.")]
ANY = "Any model (--callable)"
Callable_ = Annotated[
    str | None,
    typer.Option("--callable", rich_help_panel=ANY, help="module:function from encoded texts to rows of scores."),
]
EncoderFile = Annotated[
    Path | None, typer.Option(rich_help_panel=ANY, help="The encoder of its texts; see sgbt encode --encoder.")
]
Fingerprint = Annotated[
    str | None, typer.Option(rich_help_panel=ANY, help="What rows call the function: model and version.")
]
Queries = Annotated[
    int, typer.Option(min=1, max=opt.LARGEST, rich_help_panel=ANY, help="Questions about one text at most.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", rich_help_panel=ANY, help="Only say what it would cost.")]
Tiers = Annotated[
    str,
    typer.Option(help=f"Tiers to try, separated by commas, of {', '.join(TIERS)}; all, or those not too dear."),
]
Budget = Annotated[
    int | None, typer.Option(max=opt.LARGEST, help="At most this many words replaced at once; otherwise any number.")
]
Table_ = Annotated[
    str, typer.Option(help="Who may replace whom: model (what it was trained for), or as in sgbt train.")
]


def certify_(
    run: RunOrFile,
    data: opt.DataOfRun = "",
    text: opt.TextColumn = None,
    label: opt.LabelColumn = None,
    split: Annotated[str, typer.Option(help="Which texts: train, dev or test.")] = "test",
    limit: Annotated[int | None, typer.Option(min=1, max=opt.LARGEST, help="Only the first so many texts.")] = None,
    tiers: Tiers = "default",
    max_substitutions: Budget = None,
    substitutions: Table_ = "model",
    vectors: opt.Vectors = "glove",
    oracle: Annotated[
        int, typer.Option(min=0, max=opt.LARGEST, help="Enumerate texts with at most so many variants; 0 for none.")
    ] = ORACLE_LIMIT,
    out: Annotated[
        Path | None, typer.Option(help="File for the rows; the same command goes on where it stood.")
    ] = None,
    threat: Annotated[
        str | None,
        typer.Option(help='What may be done to a text in place of substitutions: "model + typos:1 + delete:2".'),
    ] = None,
    threads: opt.Threads = None,
    callable_: Callable_ = None,
    encoder: EncoderFile = None,
    max_queries: Queries = 4096,
    fingerprint: Fingerprint = None,
    dry_run: DryRun = False,
    drop_empty: opt.DropEmpty = False,
    encoding: opt.Encoding = "utf-8",
    data_home: opt.DataHome = None,
) -> None:
    """Prove for each text that no substitution changes its label, and say how many proofs there are."""
    if callable_ is not None:
        from sgbt.cli.certify_callable import certify_callable

        certify_callable(
            callable_,
            run,
            encoder=encoder,
            text=text,
            label=label,
            limit=limit,
            max_substitutions=max_substitutions,
            max_queries=max_queries,
            fingerprint=fingerprint,
            out=out,
            dry_run=dry_run,
            encoding=encoding,
        )
        return
    import torch

    from sgbt.certify.oracle import robust_by_oracle
    from sgbt.certify.rows.summary import Summary, by_class
    from sgbt.cli import certify_parts as parts
    from sgbt.cli.class_view import show_classes
    from sgbt.data import Split
    from sgbt.models import load_classifier

    if threads:
        torch.set_num_threads(threads)
    classifier = load_classifier(run)
    asked = parts.threat_for(classifier, threat, vectors=vectors, data_home=data_home) if threat else None
    if asked is not None and asked.only_substitutions:
        table, max_substitutions = parts.as_table(asked, max_substitutions)
        asked = None
    elif asked is None:
        table = parts.table_for(classifier, substitutions, vectors=vectors, data_home=data_home)
    reading = Reading(data, text, label, drop_empty=drop_empty, encoding=encoding)
    dataset = reading.for_run(run, data_home=data_home)
    chosen = parts.split_named(dataset.splits, split)
    chosen = chosen[:limit] if limit else chosen
    labels = parts.numbered_as(classifier, dataset.label_names, chosen)
    if asked is not None:
        proofs = parts.against_threat(classifier, Split(chosen.name, chosen.texts, labels), asked, out)
        parts.show_threat(
            proofs, classifier.label_names, f"{run}: {len(chosen):,} texts of {dataset.name}, {split}", console
        )
        return
    certificates = parts.with_progress(
        classifier, Split(chosen.name, chosen.texts, labels), table, parts.tiers_of(tiers), max_substitutions, out
    )
    console.print(f"{run}: {len(chosen):,} texts of {dataset.name}, {split}; {table!r}", soft_wrap=True)
    if max_substitutions is not None:
        console.print(f"at most {max_substitutions} words replaced at once", soft_wrap=True)
    robust = robust_by_oracle(classifier, chosen.texts, certificates, table, most=oracle) if oracle else None
    parts.show(Summary.of(certificates), robust, oracle, console)
    show_classes(by_class(certificates, classifier.label_names), console)
    if out:
        console.print(f"rows in {out}", soft_wrap=True)
