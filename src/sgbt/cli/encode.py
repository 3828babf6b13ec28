"""`sgbt encode`: the texts of a file with every word written as its synonym cluster's most frequent one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen

if TYPE_CHECKING:
    from sgbt.certify.black_box import AnyEncoder

Threat = Annotated[
    str, typer.Option(help="Threat to encode for: counter_fitted, a JSON file, typos:1, ...; + joins them.")
]
EncoderFile = Annotated[
    Path | None, typer.Option(help="File of the encoder: loaded if it exists, else fitted to FILE and saved there.")
]


@opt.reads(without=("drop_empty",))
def encode_(
    file: Annotated[Path, typer.Argument(help="A CSV, TSV, JSONL, text or Parquet file.")],
    reading: Reading,
    threat: Threat = "counter_fitted",
    encoder: EncoderFile = None,
    out: Annotated[
        Path | None, typer.Option(help="A .csv, .tsv or .jsonl file for the rows; otherwise standard output.")
    ] = None,
    distinction: Annotated[
        float | None,
        typer.Option(min=0, help="Higher: finer clusters, more accuracy, fewer certificates."),
    ] = None,
    trade: Annotated[
        float | None,
        typer.Option(help="Choose --distinction by the accuracy that may be lost, such as 0.01; needs --label."),
    ] = None,
    data_home: opt.DataHome = None,
) -> None:
    """Encode the texts of a file, for training or for a model that reads encoded text. Every column is kept.

    With --label, words that distinguish labels stay in clusters of their own.
    """
    from sgbt.data.row_writers import writing
    from sgbt.data.table_files import chunks, format_of

    form = format_of(file)
    if encoder is not None and encoder.is_file():
        from sgbt.certify.black_box import read_encoder

        made = read_encoder(encoder)
    else:
        made = _fitted(file, threat, distinction, trade, reading, data_home)
        if encoder is not None:
            made.to_json(encoder)
    total = 0
    with writing(out, otherwise=form) as write:
        for rows in chunks(file, form, reading.layout):
            texts = rows.texts(reading.text)
            column = next(name for name, cells in rows.columns.items() if cells is texts)
            write({**rows.columns, column: [made.encode(each) for each in texts]})
            total += len(texts)
    screen = Screen(stderr=True)
    screen.print(f"{total:,} texts; {made.summary}", markup=False)


def _fitted(
    file: Path,
    threat: str,
    distinction: float | None,
    trade: float | None,
    reading: Reading,
    data_home: Path | None,
) -> AnyEncoder:
    from sgbt.certify.black_box.encoder import DISTINCTION
    from sgbt.certify.black_box.fitting import fit_encoder, fit_traded, threat_of
    from sgbt.core.errors import LexiconError
    from sgbt.data.table_files import chunks, format_of

    asked = threat_of(threat, data_home=data_home)
    texts: list[str] = []
    labels: list[str] = []
    for rows in chunks(file, format_of(file), reading.layout):
        texts += rows.texts(reading.text)
        labels += [str(each) for each in rows.column(reading.label)] if reading.label else []

    def fit(chosen: float) -> AnyEncoder:
        return fit_encoder(texts, asked, labels if reading.label else None, distinction=chosen)

    if trade is None:
        return fit(DISTINCTION if distinction is None else distinction)
    if distinction is not None or not reading.label:
        raise LexiconError(
            expected="--trade with --label and without --distinction",
            got="both" if distinction is not None else "no --label",
            where="--trade",
        )
    found, report = fit_traded(fit, texts, labels, trade)
    Screen(stderr=True).print(
        f"distinction {report.distinction:g}: a proxy has {report.before:.1%} on the texts and {report.after:.1%} on "
        "encoded ones",
        markup=False,
    )
    return found
