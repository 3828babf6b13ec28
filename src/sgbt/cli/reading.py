"""How data is read: one value for all verbs, kept beside the model, so that later ones are about the same texts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sgbt.cli.screen import ProgressBars
from sgbt.core.documents import read_json_object
from sgbt.core.errors import DataError
from sgbt.core.fields import refuse_odd_fields
from sgbt.core.files import atomic_write

if TYPE_CHECKING:  # imported where they are used: `sgbt --help` needs no numpy
    from sgbt.data import Split, TextDataset
    from sgbt.data.table_files import FileLayout
    from sgbt.models import TextClassifier

FILE = "data.json"
ALL = "all"


@dataclass(frozen=True, slots=True)
class Reading:
    """A dataset as the command line names it. Empty fields are what `load_dataset` takes by itself."""

    data: str = ""
    text: str | None = None
    label: str | None = None
    test_file: str | None = None
    drop_shared: bool = False
    drop_empty: bool = False
    encoding: str = "auto"
    separator: str = "auto"
    header: bool = True
    dev: float = 0.1

    @property
    def layout(self) -> FileLayout:
        """How the file is written."""
        from sgbt.data.table_files import FileLayout

        return FileLayout(self.encoding, self.separator, self.header)

    def load(self, *, data_home: Path | None) -> TextDataset:
        """The dataset, cut as it always is: the seed of the split is fixed.

        A test file may be sorted by label, and a command with `--limit` takes the first texts: they come mixed.
        """
        from sgbt.data import load_dataset
        from sgbt.data.dataset import mixed

        with ProgressBars() as bars:
            dataset = load_dataset(
                self.data,
                text=self.text,
                label=self.label,
                test=self.test_file or 0.2,
                dev=self.dev,
                drop_shared=self.drop_shared,
                drop_empty=self.drop_empty,
                encoding=self.encoding,
                separator=self.separator,
                header=self.header,
                data_home=data_home,
                progress=bars,
            )
        if not self.test_file:
            return dataset
        return replace(dataset, test=dataset.test.take(mixed(dataset.test.labels, seed=0)))

    def keep(self, run: Path, dataset: TextDataset) -> None:
        """Write it into the folder of a run, with the hash of what was read. Paths are kept in full."""
        files = {"data": _in_full(self.data), "test_file": _in_full(self.test_file)}
        with atomic_write(run / FILE) as stream:
            stream.write(json.dumps(asdict(self) | files | {"hash": dataset.hash}, indent=1).encode())

    def of_run(self, run: Path) -> tuple[Reading, str]:
        """What to read for a trained model: the data named or, where none is, what it was trained on, with its hash."""
        if self.data:
            return self, ""
        kept, known = _kept(run)
        given = {name: value for name, value in asdict(self).items() if value != getattr(Reading(), name)}
        return replace(kept, **given), "" if given else known

    def for_run(self, run: Path, *, data_home: Path | None) -> TextDataset:
        """The dataset that the command line names for a trained model; without a name, the one it was trained on.

        A file that has changed since is refused: its new split would put texts to the test that were trained on.
        """
        reading, known = self.of_run(run)
        dataset = reading.load(data_home=data_home)
        if known and dataset.hash != known:
            raise DataError(
                expected=f"the data that {run} was trained on (hash {known[:12]})",
                got=f"hash {dataset.hash[:12]}",
                where=reading.data,
                remedy="it has changed since; name the data with --data, and mind that train texts may be among it",
            )
        return dataset

    def texts(
        self, run: Path, model: TextClassifier, split: str | None, limit: int | None = None, *, data_home: Path | None
    ) -> Texts:
        """The texts that a verb works on: a split, or every row of the data in its order, which may have no labels."""
        reading, _ = self.of_run(run)
        if split not in (None, "train", "dev", "test", ALL):
            raise DataError(expected="one of train, dev, test, all", got=repr(split), where="--split")
        if reading.is_file and (split == ALL or (split is None and not reading.has_labels)):
            return reading._whole_file(model).first(limit)
        dataset = self.for_run(run, data_home=data_home)
        numbers = model.numbers_of(dataset.label_names)
        chosen = _chosen(dataset, split or "test")
        labels = [numbers[label] for label in chosen.labels.tolist()]
        return Texts(f"{dataset.name} ({chosen.name})", chosen.texts, labels).first(limit)

    @property
    def is_file(self) -> bool:
        """Whether the data is a file, not the name of a dataset."""
        from sgbt.data.load import ALIASES, NAMES

        return self.data not in (*NAMES, *ALIASES)

    @property
    def has_labels(self) -> bool:
        """Whether a file has the labels that are looked for."""
        from sgbt.data.table_files import chunks, format_of

        path = Path(self.data).expanduser()
        return self.label is not None or "label" in next(chunks(path, format_of(path), self.layout, rows=1)).columns

    def _whole_file(self, model: TextClassifier) -> Texts:
        from sgbt.data.labelled import labelled_texts
        from sgbt.data.table_files import read_table

        texts: list[str] = []
        labels: list[str] = []
        for path in filter(None, (self.data, self.test_file)):
            table = read_table(Path(path).expanduser(), self.layout)
            found = labelled_texts(table, text=self.text, label=self.label, drop_empty=self.drop_empty, unlabelled=True)
            texts += found.texts
            labels += found.labels
        known = model.numbers_of(labels) if len(labels) == len(texts) else None
        return Texts(f"{self.data} (all rows{'' if known else ', without labels'})", tuple(texts), known)


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts with their labels, numbered by the model's names; without labels, the model's own answers are defended."""

    source: str
    texts: tuple[str, ...]
    labels: list[int] | None

    def __len__(self) -> int:
        return len(self.texts)

    def first(self, limit: int | None) -> Texts:
        """The first so many."""
        return replace(self, texts=self.texts[:limit], labels=None if self.labels is None else self.labels[:limit])


def _chosen(dataset: TextDataset, name: str) -> Split:
    from sgbt.data import Split

    splits = {split.name: split for split in dataset.splits}
    if name == ALL:
        import numpy as np

        texts = [text for split in dataset.splits for text in split.texts]
        return Split(ALL, tuple(texts), np.concatenate([split.labels for split in dataset.splits]))
    if not len(splits[name]):
        raise DataError(expected="texts to work on", got=f"an empty {name} split", where="--split")
    return splits[name]


def _kept(run: Path) -> tuple[Reading, str]:
    """What the run's folder says of its data, and the hash of that."""
    from sgbt.models.folder import training_note

    expected, remedy = f"a {FILE} that sgbt train wrote", "pass --data"
    if (run / FILE).is_file():
        stored = read_json_object(run / FILE, kind=DataError, expected=expected, remedy=remedy, pairs=False)
        refuse_odd_fields(Reading, stored, kind=DataError, where=str(run / FILE))
        try:
            known = str(stored.pop("hash"))
            return Reading(**stored), known
        except (TypeError, KeyError) as problem:
            raise DataError(expected=expected, got="something else", where=str(run), remedy=remedy) from problem
    name = training_note(run).get("dataset")
    if not name:
        raise DataError(expected="a dataset", got="none, and the run does not name one", remedy="pass --data")
    return Reading(str(name)), ""


def _in_full(source: str | None) -> str | None:
    return str(Path(source).expanduser().resolve()) if source and Path(source).expanduser().is_file() else source
