"""Units on a Ray cluster (the extra `ray`): the same work, store and results as in local processes.

All machines must see the folder of the store under one path, have the same version of sgbt, and find the data; each is
checked before a unit is begun. A worker or machine that dies loses nothing: its unit is given to another, which goes
on from the rows in the store.
"""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sgbt.core.errors import EvaluationError
from sgbt.core.files import atomic_write
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.schedule import Event
from sgbt.evaluate.store import Store
from sgbt.evaluate.unit import Unit

MARK = "cluster.id"
"""A file in the store's folder by which a machine knows that it sees the same folder."""

KNOCK_SECONDS = 5.0

_MATERIALS: dict[str | None, Materials] = {}
"""What a worker process has read; Ray gives a process many units."""


class RayExecutor:
    """A Ray cluster; `address` as `ray.init` takes it, None for one that is started on this machine."""

    def __init__(
        self, store: Store, *, address: str | None = None, workers: int | None = None, data_home: Path | None = None
    ) -> None:
        if workers is not None and workers < 1:
            raise EvaluationError(expected="one worker or more", got=str(workers), where="--workers")
        self._held = ExitStack()
        self._ray = self._held.enter_context(connected(address))
        self._home = str(data_home.expanduser().resolve()) if data_home else None
        self._folder = str(store.folder.resolve())
        self._mark = uuid.uuid4().hex
        with atomic_write(store.folder / MARK) as stream:
            stream.write(self._mark.encode())
        self._workers = workers
        self._running: dict[Any, str] = {}
        board = self._ray.remote(num_cpus=0)(_Board)
        self._board = board.remote()
        # one core each; Ray starts a unit again when its worker or its machine dies
        self._task = self._ray.remote(num_cpus=1, max_retries=3)(_perform)

    @property
    def room(self) -> int:
        """One unit for each core of the cluster, machines that join later included."""
        most = self._workers or int(self._ray.cluster_resources().get("CPU", 1))
        return max(most - len(self._running), 0)

    def submit(self, unit: Unit) -> None:
        """Begin a unit somewhere."""
        asked = self._task.remote(unit.to_json(), self._folder, self._mark, self._home, self._board)
        self._running[asked] = unit.key

    def wait(self, seconds: float) -> list[Event]:
        """News from the cluster."""
        done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        events = [self._ended(task) for task in done]
        return events or [
            Event(key, "running", fraction)
            for key, fraction in self._fractions().items()
            if key in self._running.values()
        ]

    def close(self) -> None:
        """Cancel what runs, and leave the cluster."""
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._ray.kill(self._board)
        self._held.close()

    def _ended(self, task: Any) -> Event:
        key = self._running.pop(task)
        try:
            error = str(self._ray.get(task))
        except self._ray.exceptions.RayError as problem:  # its worker died, more often than it was started again
            return Event(key, "lost", error=f"its worker on the cluster died: {str(problem).splitlines()[0]}")
        return Event(key, "failed" if error else "finished", error=error)

    def _fractions(self) -> dict[str, float]:
        try:
            found: dict[str, float] = self._ray.get(self._board.read.remote(), timeout=5)
        except self._ray.exceptions.RayError:  # the board went down with its machine: nothing but the view needs it
            return {}
        return found


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """The package ray, connected to a cluster; one that is not connected yet is left in the end."""
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="error", include_dashboard=None)
    except (OSError, ValueError, RuntimeError) as problem:
        raise EvaluationError(
            expected="a Ray cluster",
            got=str(problem).splitlines()[0],
            where=f"--address {address}",
            remedy="start one with `ray start --head`, or leave --address out",
        ) from problem
    try:
        yield ray
    finally:
        ray.shutdown()


class _Board:
    """Where workers write how far they are; an actor of the cluster."""

    def __init__(self) -> None:
        self._fractions: dict[str, float] = {}

    def write(self, key: str, fraction: float) -> None:
        self._fractions[key] = fraction

    def read(self) -> dict[str, float]:
        return self._fractions


def _perform(unit_json: str, folder: str, mark: str, home: str | None, board: Any) -> str:
    """What a worker does: the unit, and its error if it fails."""
    from sgbt.evaluate.worker import attempt, now_and_then

    unit, store = Unit.from_json(unit_json), Store(folder)
    seen = Path(folder) / MARK
    if not seen.is_file() or seen.read_text() != mark:
        return (
            f"expected the folder {folder} on every machine of the cluster, got another or none on this one; "
            "put --out on a file system that all of them share."
        )
    materials = _MATERIALS.setdefault(home, Materials(Path(home) if home else None))
    return attempt(unit, store, materials, now_and_then(lambda fraction: board.write.remote(unit.key, fraction)))


def _knock(address: str | None) -> None:
    """Fail at once where nobody listens; Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").partition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()


def _ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError as problem:
        raise EvaluationError(expected="the package ray", got="none", remedy="pip install 'sgbt[ray]'") from problem
    return ray
