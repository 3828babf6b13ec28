"""`sgbt encode`: the texts of a file with every word written as its synonym cluster's most frequent one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.reading import Reading
from sgbt.cli.screen import Screen

if TYPE_CHECKING:
    from sgbt.certify.black_box import Encoder

Threat = Annotated[
    str, typer.Option(help="Who may replace whom: counter_fitted, wordnet, a JSON file, ...; + joins names to a union.")
]
EncoderFile = Annotated[
    Path | None, typer.Option(help="The encoder: read if the file is there, else made from FILE and written to it.")
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
        float | None, typer.Option(min=0, help="More keeps more words apart: more accuracy, fewer proofs.")
    ] = None,
    data_home: opt.DataHome = None,
) -> None:
    """Encode the texts of a file, for training or for a model that reads encoded text. Every column is kept.

    With --label, what tells labels apart is kept apart.
    """
    from sgbt.cli.predict import texts_of
    from sgbt.data.row_writers import writing
    from sgbt.data.table_files import chunks, format_of

    form = format_of(file)
    if encoder is not None and encoder.is_file():
        from sgbt.certify.black_box import Encoder

        made = Encoder.from_json(encoder)
    else:
        made = _fitted(file, threat, distinction, reading, data_home)
        if encoder is not None:
            made.to_json(encoder)
    total = ambiguous = 0
    with writing(out, otherwise=form) as write:
        for rows in chunks(file, form, reading.layout):
            texts = texts_of(rows, reading.text)
            column = next(name for name, cells in rows.columns.items() if cells is texts)
            encoded = [made.read(each) for each in texts]
            write({**rows.columns, column: [each.written() for each in encoded]})
            total += len(texts)
            ambiguous += sum(len(each.others) for each in encoded)
    screen = Screen(stderr=True)
    words, clusters = len(made.codes), len(set(made.codes.values()))
    screen.print(f"{made.table!r}: {words:,} words in {clusters:,} clusters", markup=False)
    screen.print(f"{total:,} texts, {ambiguous / total:.1f} ambiguous words in each", markup=False)


def _fitted(
    file: Path,
    threat: str,
    distinction: float | None,
    reading: Reading,
    data_home: Path | None,
) -> Encoder:
    from sgbt.certify.black_box import Encoder
    from sgbt.certify.black_box.encoder import DISTINCTION, table_of
    from sgbt.cli.predict import texts_of
    from sgbt.data.table_files import chunks, format_of

    table = table_of(threat, data_home=data_home)
    texts: list[str] = []
    labels: list[str] = []
    for rows in chunks(file, format_of(file), reading.layout):
        texts += texts_of(rows, reading.text)
        labels += [str(each) for each in rows.column(reading.label)] if reading.label else []
    asked = DISTINCTION if distinction is None else distinction
    return Encoder.fit(texts, table, labels if reading.label else None, distinction=asked)
