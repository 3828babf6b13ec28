"""load_dataset: one door for named datasets, files, and datasets of the Hugging Face library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sgbt.core.errors import DataError, check_seed, did_you_mean
from sgbt.data.dataset import Split, TextDataset, count_duplicates, cut, mixed
from sgbt.data.file_text import AUTO
from sgbt.data.labelled import (
    LabelledTexts,
    is_hugging_face,
    labelled_texts,
    names_of,
    numbered,
    read_hugging_face,
    refuse_too_many,
)
from sgbt.data.published import YAHOO_LABELS, load_imdb, read_yahoo
from sgbt.data.table_files import FileLayout, read_table
from sgbt.resources import Progress, get

NAMES = ("imdb", "yahoo_answers")
ALIASES = {"yahoo": "yahoo_answers"}


def load_dataset(
    source: str | Path | Any,
    *,
    text: str | None = None,
    label: str | None = None,
    test: str | Path | float = 0.2,
    dev: float = 0.1,
    seed: int = 0,
    drop_shared: bool = False,
    drop_empty: bool = False,
    encoding: str = AUTO,
    separator: str = AUTO,
    header: bool = True,
    data_home: str | Path | None = None,
    progress: Progress | None = None,
) -> TextDataset:
    """Labelled text with distinct train, dev and test splits.

    `source` is a name (`imdb`, `yahoo_answers` or `yahoo`), a CSV, TSV, JSONL or Parquet file (gzipped or not), or a
    `Dataset` or `DatasetDict` of the Hugging Face `datasets` library. `text` and `label` name the columns, or their
    positions (1 is the first). `encoding` and `separator` are guessed from the file, with a note, unless given; without
    a `header`, columns are named 1, 2, ... `drop_empty` leaves out rows without text or label, `drop_shared` those
    texts of train that test has as well.

    `dev` is the share of the training texts that is set apart for choosing; `test`, for a single file, the share for
    the final figures, or a second file. Cuts are stratified and seeded, and copies of one text always stay together;
    what was cut comes in a seeded order in which labels are mixed, so that the first texts are like all. A test set
    that is given keeps its order.
    """
    check_seed(seed, DataError)
    for name, fraction in (("dev", dev), ("test", test)):
        if isinstance(fraction, float | int) and not 0 <= fraction < 1:
            raise DataError(expected=f"a {name} share from 0 to below 1", got=str(fraction))
    if isinstance(source, str):
        source = ALIASES.get(source, source)
    home = Path(data_home).expanduser() if data_home else None
    if is_hugging_face(source):
        share = _share(test, "a Hugging Face dataset")
        train_rows, test_rows, names = read_hugging_face(source, text=text, label=label, drop_empty=drop_empty)
        return _assemble("hugging-face", train_rows, test_rows or share, names, dev, seed, drop_shared)
    if str(source) in NAMES:
        _share(test, str(source))
    if str(source) == "imdb":
        return load_imdb(dev=dev, seed=seed, drop_shared=drop_shared, data_home=home, progress=progress)
    if str(source) == "yahoo_answers":
        train_rows, test_rows = read_yahoo(get("yahoo_answers", data_home=home, progress=progress))
        return _assemble("yahoo_answers", train_rows, test_rows, YAHOO_LABELS, dev, seed, drop_shared)
    path, layout = _existing(source), FileLayout(encoding, separator, header)
    train_rows = labelled_texts(read_table(path, layout), text=text, label=label, drop_empty=drop_empty)
    if isinstance(test, float | int):
        return _assemble(str(path), train_rows, float(test), None, dev, seed, drop_shared)
    test_table = read_table(Path(test).expanduser(), layout)
    test_rows = labelled_texts(test_table, text=text, label=label, drop_empty=drop_empty)
    return _assemble(str(path), train_rows, test_rows, None, dev, seed, drop_shared, test_source=str(test))


def _share(test: str | Path | float, beside: str) -> float:
    if isinstance(test, float | int):
        return float(test)
    raise DataError(
        expected=f"a share for test beside {beside}",
        got=f"the file {test}",
        remedy="a second file goes only with a first one",
    )


def _existing(source: str | Path) -> Path:
    path = Path(source).expanduser()
    if path.suffix or _is_there(path):
        return path
    raise DataError(
        expected=f"a dataset name ({', '.join(NAMES)}) or the path of a file",
        got=repr(str(source)[:100]),
        remedy=did_you_mean(str(source), NAMES) or "check the path",
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have
        return False


def _assemble(
    name: str,
    train_rows: LabelledTexts,
    test: LabelledTexts | float,
    names: tuple[str, ...] | None,
    dev: float,
    seed: int,
    drop_shared: bool,
    *,
    test_source: str = "test",
) -> TextDataset:
    if names is None:
        names = names_of(train_rows.labels)
        refuse_too_many(names, train_rows.labels, name)
    whole = Split("train", train_rows.texts, numbered(train_rows.labels, names, name))
    if isinstance(test, LabelledTexts):
        test_split = Split("test", test.texts, numbered(test.labels, names, test_source))
    else:
        parts = cut(whole.labels, test, seed=seed + 1, groups=whole.texts)
        test_split = _mixed(Split("test", whole.take(parts.taken).texts, whole.labels[parts.taken]), seed)
        whole = whole.take(parts.kept)
    duplicates = count_duplicates(whole.texts, test_split.texts)
    if drop_shared:
        known = set(test_split.texts)
        whole = whole.take([row for row, text in enumerate(whole.texts) if text not in known])
    parts = cut(whole.labels, dev, seed=seed, groups=whole.texts)
    dev_split = Split("dev", whole.take(parts.taken).texts, whole.labels[parts.taken])
    train, dev_split = (_mixed(part, seed) for part in (whole.take(parts.kept), dev_split))
    return TextDataset(name, tuple(names), train, dev_split, test_split, duplicates)


def _mixed(split: Split, seed: int) -> Split:
    return split.take(mixed(split.labels, seed=seed))
