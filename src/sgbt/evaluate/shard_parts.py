"""Work on a file shard by shard into a folder: on this machine or a Ray cluster, resumable, the same rows either way.

Part i of the folder has the rows of shard i: its rows with labels, its certificates or its attacks
(`sgbt.evaluate.shard_work`). Beside a part that is whole stands what was counted in it, and both are kept when the same
command goes on. `plan.json` says what the parts are of: the model, the table, the options and the shards. A worker of
the cluster that dies loses no more than the part it was at, and of certificates and attacks no row that it wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sgbt.core.documents import read_json_object
from sgbt.core.errors import DataError, EvaluationError, SgbtError
from sgbt.core.files import atomic_write, make_folder, stamp_of
from sgbt.data.shards import Shard
from sgbt.data.table_files import FileLayout
from sgbt.evaluate.ray_cluster import connected
from sgbt.evaluate.shard_work import ShardWork

PLAN = "plan.json"
COUNTS = ".counts"
Told = Callable[[Counter[str]], None]

_WORK: dict[str, ShardWork] = {}
"""What a worker of the cluster has prepared; Ray gives a process many shards."""


@dataclass(frozen=True)
class Parts:
    """The folder that the parts stand in, and what they are made of."""

    folder: Path
    shards: list[Shard]
    layout: FileLayout
    work: ShardWork

    def begin(self) -> list[int]:
        """Write the plan, or check that it is the one that was begun; the numbers of the parts that are still to do."""
        make_folder(self.folder)
        plan = {"question": self._question, "shards": [asdict(shard) for shard in self.shards]}
        path, again = self.folder / PLAN, "choose another --out, or empty this folder"
        if path.is_file():
            known = read_json_object(path, kind=DataError, expected="a plan of parts", remedy=again, pairs=False)
            if known != plan:
                got = "parts of another model, file or option"
                raise DataError(expected="parts of this model and file", got=got, where=str(self.folder), remedy=again)
        elif any(self.folder.iterdir()):
            raise DataError(
                expected="an empty folder", got="one with other files", where=str(self.folder), remedy=again
            )
        with atomic_write(path) as stream:
            stream.write(json.dumps(plan, indent=1).encode())
        return [place for place in range(len(self.shards)) if self.counted(place) is None]

    @property
    def _question(self) -> str:
        """A hash over everything that decides what the rows are."""
        about: list[Any] = [*self.work.about]
        about += [asdict(self.layout), [stamp_of(Path(path)) for path in sorted({each.path for each in self.shards})]]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()

    def part(self, place: int) -> Path:
        """The file of a part."""
        return self.folder / f"part-{place:05d}.{self.work.ending(self.shards[place].form)}"

    def counted(self, place: int) -> Counter[str] | None:
        """What is counted in a part that is whole."""
        path = self.folder / f"{self.part(place).name}{COUNTS}"
        if not path.is_file() or not self.part(place).is_file():
            return None
        return Counter(read_json_object(path, kind=DataError, expected="counts", remedy="delete it", pairs=False))

    def make(self, place: int) -> Counter[str]:
        """Write a part, and what is counted in it behind it."""
        found = self.work.write(self.shards[place], self.layout, self.part(place))
        with atomic_write(self.folder / f"{self.part(place).name}{COUNTS}") as stream:
            stream.write(json.dumps(found).encode())
        return found


def make_here(parts: Parts, tell: Told) -> None:
    """Work on the shards that are still to do, one after the other."""
    for place in parts.begin():
        tell(parts.make(place))


def make_on_ray(parts: Parts, tell: Told, *, address: str | None = None, workers: int | None = None) -> None:
    """Work on the shards that are still to do on a Ray cluster; `address` as `ray.init` takes it, None for one here."""
    with connected(address) as ray:
        left = parts.begin()
        plan = hashlib.sha256((parts.folder / PLAN).read_bytes()).hexdigest()
        task = ray.remote(num_cpus=1, max_retries=3)(_make_part)
        shared = ray.put(Parts(parts.folder.resolve(), parts.shards, parts.layout, parts.work))
        most = workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        for place, answer in _answers(ray, lambda place: task.remote(shared, place, plan), left, most):
            if isinstance(answer, str):
                raise EvaluationError(
                    expected=f"part {place} to be written", got=answer, remedy="the same command goes on from here"
                )
            tell(answer)


def _answers(ray: Any, begin: Callable[[int], Any], left: list[int], most: int) -> Iterator[tuple[int, Any]]:
    """What the tasks return as they end, `most` at once; what still runs when one has failed is cancelled."""
    running: dict[Any, int] = {}
    try:
        while left or running:
            while left and len(running) < most:
                place, left = left[0], left[1:]
                running[begin(place)] = place
            (done,), _ = ray.wait([*running], num_returns=1)
            place = running.pop(done)
            try:
                answer = ray.get(done)
            except ray.exceptions.RayError as problem:
                answer = f"its worker on the cluster died again and again: {str(problem).splitlines()[0]}"
            yield place, answer
    finally:
        for task in running:
            ray.cancel(task, force=True)


def _make_part(parts: Parts, place: int, plan: str) -> Counter[str] | str:
    """What a worker does: a part, or a sentence that says why not."""
    path = parts.folder / PLAN
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != plan:
        return (
            f"a machine that does not see the folder {parts.folder}; put --out where all machines of the cluster see it"
        )
    kept = _WORK.setdefault(plan, parts.work)
    try:
        return Parts(parts.folder, parts.shards, parts.layout, kept).make(place)
    except (SgbtError, OSError) as problem:
        return str(problem).rstrip(".")
