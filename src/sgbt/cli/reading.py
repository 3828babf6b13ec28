"""How a dataset was read: kept beside the model, so that later commands speak of the same texts and the same split."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sgbt.cli.progress import ProgressBars
from sgbt.core.documents import read_json_object
from sgbt.core.errors import DataError
from sgbt.core.fields import refuse_odd_fields
from sgbt.core.files import atomic_write

if TYPE_CHECKING:
    from sgbt.data import TextDataset

FILE = "data.json"


@dataclass(frozen=True, slots=True)
class Reading:
    """A dataset as the command line names it. Empty fields are what `load_dataset` takes by itself."""

    data: str = ""
    text: str | None = None
    label: str | None = None
    test_file: str | None = None
    drop_shared: bool = False
    drop_empty: bool = False
    encoding: str = "utf-8"
    dev: float = 0.1

    def load(self, *, data_home: Path | None) -> TextDataset:
        """The dataset, cut as it always is: the seed of the split is fixed.

        A test file may be sorted by label, and a command with `--limit` takes the first texts: they come mixed.
        """
        from sgbt.data import load_dataset
        from sgbt.data.splitting import mixed

        with ProgressBars() as bars:
            dataset = load_dataset(
                self.data,
                text=self.text,
                label=self.label,
                test=self.test_file or 0.2,
                dev=self.dev,
                drop_shared=self.drop_shared,
                drop_empty=self.drop_empty,
                encoding="utf-8-sig" if self.encoding == "utf-8" else self.encoding,
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

    def for_run(self, run: Path, *, data_home: Path | None) -> TextDataset:
        """The dataset that the command line names for a trained model; without a name, the one it was trained on.

        A file that has changed since is refused: its new split would put texts to the test that were trained on.
        """
        if self.data:
            return self.load(data_home=data_home)
        kept, known = _kept(run)
        given = {name: value for name, value in asdict(self).items() if value != getattr(Reading(), name)}
        dataset = replace(kept, **given).load(data_home=data_home)
        if known and not given and dataset.hash != known:
            raise DataError(
                expected=f"the data that {run} was trained on (hash {known[:12]})",
                got=f"hash {dataset.hash[:12]}",
                where=kept.data,
                remedy="it has changed since; name the data with --data, and mind that train texts may be among it",
            )
        return dataset


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
