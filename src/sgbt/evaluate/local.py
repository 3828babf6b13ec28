"""Units in processes of this machine, as many as it has cores and memory for."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sgbt.core.errors import EvaluationError
from sgbt.core.machine import available_memory, cores
from sgbt.evaluate.schedule import Event
from sgbt.evaluate.store import Store
from sgbt.evaluate.unit import Unit
from sgbt.version import PACKAGE

MEMORY_PER_WORKER = 2 << 30
"""What a worker is taken to need before any has shown what it needs."""


class LocalExecutor:
    """Worker processes that stay between units, so that data is read once by each; one dies, another is started."""

    def __init__(self, store: Store, *, workers: int | None = None, data_home: Path | None = None) -> None:
        if workers is not None and workers < 1:
            raise EvaluationError(expected="one worker or more", got=str(workers), where="--workers")
        self._store, self._home = store, data_home
        self._most = workers or cores()
        self._chosen = workers is not None
        self._idle: list[_Worker] = []
        self._busy: dict[str, _Worker] = {}
        self._outputs: queue.Queue[tuple[_Worker, bytes]] = queue.Queue()
        self._need = MEMORY_PER_WORKER

    @property
    def room(self) -> int:
        """Free workers; a number that nobody chose is also limited by memory, though one unit always finds room."""
        free = self._most - len(self._busy)
        if self._chosen or free <= 0:
            return max(free, 0)
        fitting = int(available_memory() // self._need) + len(self._idle)
        return max(min(free, fitting), 0 if self._busy else 1)

    def submit(self, unit: Unit) -> None:
        """Give a unit to an idle worker, or to a new one."""
        worker = self._idle.pop() if self._idle else self._start()
        worker.key = unit.key
        self._busy[unit.key] = worker
        with contextlib.suppress(OSError):  # it died while idle: `wait` will see that its output ended
            worker.input.write(unit.to_json().encode() + b"\n")

    def wait(self, seconds: float) -> list[Event]:
        """News from the workers."""
        events: list[Event] = []
        deadline = time.monotonic() + seconds
        while not events and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                events += self._heard(*self._outputs.get(timeout=left))
        return events

    def close(self) -> None:
        """End all workers at once."""
        for worker in (*self._idle, *self._busy.values()):
            worker.process.kill()
            self._forget(worker)
        self._idle, self._busy = [], {}

    @property
    def processes(self) -> list[int]:
        """The process numbers of the workers that are doing something."""
        return [worker.process.pid for worker in self._busy.values()]

    def _start(self) -> _Worker:
        command = [sys.executable, "-m", "sgbt.evaluate.worker", str(self._store.folder)]
        command += [str(self._home)] if self._home else []
        own = {
            "SGBT_BENCH_PARENT": str(os.getpid()),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(_importable()),
        }
        notes = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the worker
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=notes, env=os.environ | own, bufsize=0
        )
        assert process.stdin is not None
        assert process.stdout is not None
        worker = _Worker(process, process.stdin, process.stdout, notes)
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        return worker

    def _listen(self, worker: _Worker) -> None:
        """Pass on what a worker writes, and its end as nothing: a thread for each, since Windows polls no pipes."""
        with worker.output:
            while content := os.read(worker.output.fileno(), 1 << 16):
                self._outputs.put((worker, content))
        self._outputs.put((worker, b""))

    def _heard(self, worker: _Worker, content: bytes) -> list[Event]:
        if worker not in self._idle and worker not in self._busy.values():
            return []  # it was ended by `close`
        if not content:
            return self._lost(worker)
        *lines, worker.rest = (worker.rest + content).split(b"\n")
        events = [Event(**json.loads(line)) for line in lines]
        for event in events:
            if event.state != "running":
                self._idle.append(self._busy.pop(event.key))
                self._need = max(self._need, self._peak(event.key))
        return events

    def _peak(self, key: str) -> int:
        result = self._store.result(key)
        return int(result["peak_bytes"]) if result else 0

    def _lost(self, worker: _Worker) -> list[Event]:
        code = worker.process.wait()
        worker.notes.seek(0, os.SEEK_END)
        worker.notes.seek(max(worker.notes.tell() - 2000, 0))
        notes = worker.notes.read().decode("utf-8", "replace").strip().splitlines()
        self._forget(worker)
        if worker in self._idle:
            self._idle.remove(worker)
            return []
        del self._busy[worker.key]
        beside = f": {notes[-1]}" if notes else ""
        return [Event(worker.key, "lost", error=f"its worker ended with code {code}{beside}")]

    def _forget(self, worker: _Worker) -> None:
        worker.process.wait()
        for stream in (worker.input, worker.notes):
            stream.close()


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    input: IO[bytes]
    output: IO[bytes]
    notes: IO[bytes]
    key: str = ""
    rest: bytes = b""


def _importable() -> list[str]:
    """Where this process finds modules, for its workers: absolute, since they may be asked from another folder."""
    home = str(PACKAGE.parent)
    given = [str(Path(each).resolve()) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    return list(dict.fromkeys([*given, home]))
