"""Small grids for tests, and what a finished store looks like."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from sgbt.evaluate.grid import Grid
from sgbt.evaluate.grid_file import parse_grid

TINY = """
title = "tiny"
seeds = [0]
vectors = "toy"
substitutions = "toy"
attacks = ["pwws", "greedy"]
sample = 10
[[datasets]]
source = "toy"
test = 30
[models.cnn]
filters = 4
kernel_sizes = [1, 2]
[[methods]]
objective = "standard"
[[methods]]
objective = "sgbt"
[training]
epochs = 2
batch_size = 16
learning_rate = 0.02
max_length = 32
minimum_count = 1
[[pairs]]
method = "sgbt"
against = "standard"
"""


def tiny(text: str = TINY, name: str = "tiny") -> Grid:
    return parse_grid(text, name=name, where="tiny.toml")


def rows_of(folder: Path) -> dict[str, str]:
    """Every file of results but those that tell times, by a hash of what must be the same in every run."""
    found = {}
    for path in sorted(folder.glob("units/*/*")):
        if not (path.parent / "result.json").exists():
            continue
        if path.name == "rows.jsonl":
            found[f"{path.parent.name} rows"] = _digest(
                sorted(_timeless(line) for line in path.read_text().splitlines())
            )
        elif path.name == "model":
            found[f"{path.parent.name} model"] = hashlib.sha256((path / "model.safetensors").read_bytes()).hexdigest()
    return found


def _timeless(line: str) -> str:
    row = json.loads(line)
    for name in ("seconds", "milliseconds"):
        row.pop(name, None)
    return json.dumps(row, sort_keys=True)


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
