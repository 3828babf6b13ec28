"""How much faster two workers are than one: the same units of work in one and two local processes, and on a Ray
cluster.

Run: python benchmarks/scaling.py [--texts 40]. Everything is measured in this one run, on made-up texts, the ways
taking turns; models are trained beforehand, so what is timed are attacks: independent units of like size. Efficiency
is (time of one) / (workers x time): 1 is perfect. The time to start workers is part of it. Results are checked to be
the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sgbt.evaluate import Store, bench
from sgbt.evaluate.grid import Grid
from sgbt.evaluate.grid_file import parse_grid
from sgbt.evaluate.local import LocalExecutor, cores
from sgbt.evaluate.schedule import Executor

GRID = """
vectors = "toy"
substitutions = "toy"
certify = 0
attacks = ["genetic"]
sample = {texts}
seeds = [0, 1, 2, 3]
[[datasets]]
source = "toy"
[models.cnn]
[[methods]]
objective = "ibp"
options = {{ ramp_epochs = 1.0 }}
[training]
epochs = 3
batch_size = 16
learning_rate = 0.01
minimum_count = 1
[[rules]]
cells = "*/*/*/*"
attacks = [{attacks}]
"""


def grid(texts: int, *, attacks: bool) -> Grid:
    text = GRID.format(texts=texts, attacks='"genetic"' if attacks else "")
    return parse_grid(text, name="scaling", where="scaling.py")


def rows_of(folder: Path) -> str:
    """A hash of all rows without their times."""
    lines = []
    for path in sorted(folder.glob("units/*/rows.jsonl")):
        for line in path.read_text().splitlines():
            row = {name: value for name, value in json.loads(line).items() if "seconds" not in name}
            lines.append(f"{path.parent.name} {json.dumps(row, sort_keys=True)}")
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def timed(trained: Path, texts: int, executor: Callable[[Store], Executor]) -> tuple[float, str]:
    """Seconds for all attacks on models that are trained, and what came of them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(trained, folder, dirs_exist_ok=True)
        began = time.perf_counter()
        outcome = bench(grid(texts, attacks=True), folder, executor=executor)
        assert not outcome.failed, outcome.failed
        return time.perf_counter() - began, rows_of(Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=40, help="texts that each unit attacks")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    ways: dict[str, tuple[int, Callable[[Store], Executor]]] = {
        "one local process": (1, lambda store: LocalExecutor(store, workers=1)),
        "two local processes": (2, lambda store: LocalExecutor(store, workers=2)),
    }
    try:
        import ray

        from sgbt.evaluate.ray_cluster import RayExecutor
    except ModuleNotFoundError:
        print("ray is not installed: only local processes are measured")
    else:
        # nodes import sgbt from where this process does
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        ray.init(num_cpus=2, log_to_driver=False, logging_level="error", include_dashboard=False)
        ways["two workers on Ray"] = (2, lambda store: RayExecutor(store))
    with tempfile.TemporaryDirectory() as folder:
        trained = Path(folder)
        bench(grid(options.texts, attacks=False), trained, workers=2)
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        found = set()
        for _ in range(options.rounds):
            for name, (_, executor) in ways.items():
                took, rows = timed(trained, options.texts, executor)
                seconds[name].append(took)
                found.add(rows)
    assert len(found) == 1, "the ways differ in their results"
    base = min(seconds["one local process"])
    load = os.getloadavg()[0]
    print(f"{cores()} cores, load {load:.1f}; 4 units of {options.texts} texts; the best of {options.rounds} rounds")
    for name, (workers, _) in ways.items():
        best = min(seconds[name])
        print(f"  {name:<22}{best:8.1f} s   speed-up {base / best:5.2f}   efficiency {base / best / workers:5.2f}")
    print("  all gave the same rows")


if __name__ == "__main__":
    main()
