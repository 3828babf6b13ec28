"""The wheel with nothing beside it but what the package requires: train, predict, certify and attack work there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

builders = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed: pip install hatchling")
ROOT = Path(__file__).parents[1]
SYNONYMS = {"great": ["fine"], "fine": ["great"], "bad": ["poor"], "poor": ["bad"]}
VERBS = """
import sys
from sgbt.cli.app import main

for words in (
    "train reviews.csv --substitutions synonyms.json --out run",
    "predict run reviews.csv --certify --out labelled.csv",
    "certify run --out certificates.jsonl",
    "attack run --method greedy --limit 4 --substitutions synonyms.json",
):
    sys.argv = ["sgbt", *words.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, words
"""


def required(name: str, found: set[str] | None = None) -> set[str]:
    """A distribution and all that it requires without an extra, as far as this machine has it."""
    found = set() if found is None else found
    try:
        wanted = distribution(name).requires or ()
    except PackageNotFoundError:  # what other machines need
        return found
    if name.lower() in found:
        return found
    found.add(name.lower())
    for line in wanted:
        if "extra ==" not in line:
            required(re.split(r"[^\w.-]", line, maxsplit=1)[0], found)
    return found


def test_the_wheel_needs_only_what_it_requires(tmp_path: Path) -> None:
    (wheel,) = builders.WheelBuilder(str(ROOT)).build(versions=["standard"], directory=str(tmp_path / "wheel"))
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
        assert any(name.endswith("share/man/man1/sgbt.1") for name in packed.namelist())
        metadata = next(name for name in packed.namelist() if name.endswith("METADATA"))
        core = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", packed.read(metadata).decode(), re.MULTILINE)
    assert {"torch", "numpy", "rich", "safetensors", "typer"} == set(core)
    alone = tmp_path / "alone"
    alone.mkdir()
    for name in set().union(*(required(each) for each in core)):
        files = distribution(name).files or ()
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            (alone / top).symlink_to(distribution(name).locate_file(top))
    assert not (alone / "sklearn").exists()
    rows = [
        f"film {n} was {word},{word in 'great fine'}" for n in range(30) for word in ("great", "fine", "bad", "poor")
    ]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]))
    (tmp_path / "synonyms.json").write_text(json.dumps(SYNONYMS))
    path = os.pathsep.join(map(str, (tmp_path / "installed", alone)))
    own = os.environ | {"PYTHONPATH": path, "SGBT_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-S", "-c", VERBS]
    ended = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "certified" in (tmp_path / "labelled.csv").read_text()
    assert len((tmp_path / "certificates.jsonl").read_text().splitlines()) > 20
