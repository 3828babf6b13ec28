"""Real files of every kind, changed at random: what reads them says one sentence, or reads them; it never stumbles."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import small
from tests.cli.walked import run, walked, world
from tests.conftest import ROOT

from sgbt.attacks import read_rows as read_attacks
from sgbt.certify import read_rows as read_certificates
from sgbt.cli.reading import Reading
from sgbt.core.errors import SgbtError
from sgbt.data import load_dataset
from sgbt.embeddings import load_embeddings
from sgbt.evaluate import load_grid, read_records
from sgbt.evaluate.grid_file import GRIDS
from sgbt.evaluate.plan import Plan
from sgbt.models import load_classifier
from sgbt.models.folder import training_note
from sgbt.report import report_of_folder
from sgbt.threats import SubstitutionTable, Vocabulary
from sgbt.training.config import read_toml, with_options
from sgbt.training.loop.log import read_log

__all__ = ["walked", "world"]

VALUES: list[Any] = [
    *(None, True, -1, 0, 2**62, 1.5, -0.0, "", "a", "\x1b[31m", "../../etc", [], {}, [[]], {"a": 1}, [1, "a", None]),
    *("a" * 3000, [None] * 300, "\u202e", "9" * 50, {"": ""}),
]
TEXTS = [
    *("1e999", "NaN", "-Infinity", "9" * 6000, '"\\ud800"', "[" * 3000, '{"a":1,"a":2}', "\x00", "\ufeff", "]", "}"),
    *(",", '"', "inf", "1979-05-27", "'''", "=", "[[", "\r", "\t", "\\u0000", "-5", "5"),
]


def changed_bytes(content: bytes, chance: random.Random) -> bytes:
    """Some bytes flipped, cut, doubled or put in."""
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(content) + 1)
        match chance.randrange(5):
            case 0:
                content = content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]
            case 1:
                content = content[:place]
            case 2:
                content = content[:place] + content[chance.randrange(len(content) + 1) :]
            case 3:
                content = content[:place] + chance.choice(TEXTS).encode() + content[place:]
            case _:
                content = content[:place] + content[place + chance.randint(1, 9) :]
    return content


def changed_value(value: Any, chance: random.Random) -> Any:
    """The same document with one value, or one key, in it replaced."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        rest = {name: each for name, each in value.items() if name != key}
        match chance.randrange(8):
            case 0:
                return rest
            case 1:
                return rest | {chance.choice(["", "odd", "\x1b", key.upper()]): value[key]}
            case _:
                return {name: changed_value(each, chance) if name == key else each for name, each in value.items()}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], changed_value(value[place], chance), *value[place + 1 :]]
    return chance.choice(VALUES)


def changed(content: bytes, kind: str, chance: random.Random) -> bytes:
    if kind == "gz":
        if chance.random() < 0.3:
            return changed_bytes(content, chance)
        return gzip.compress(changed(gzip.decompress(content), "json", chance))
    if kind == "json" and chance.random() < 0.7:
        return json.dumps(changed_value(json.loads(content), chance)).encode()
    if kind == "rows" and chance.random() < 0.7:
        lines = content.splitlines(keepends=True)
        place = chance.randrange(len(lines))
        lines[place] = json.dumps(changed_value(json.loads(lines[place]), chance)).encode() + b"\n"
        return b"".join(lines)
    return changed_bytes(content, chance)


def read_config(path: Path) -> None:
    for table in read_toml(path).values():
        with_options(small.QUICK, table, "the table training")


Read = Callable[[Path], object]
KINDS: dict[str, tuple[str, str, Read]] = {
    "config.json": ("run/config.json", "json", lambda path: (load_classifier(path.parent), training_note(path.parent))),
    "vocabulary.json": ("run/vocabulary.json", "json", Vocabulary.load),
    "vocabulary of a model": ("run/vocabulary.json", "json", lambda path: load_classifier(path.parent)),
    "table of a model": ("run/substitutions.json.gz", "gz", lambda path: load_classifier(path.parent)),
    "weights": ("run/model.safetensors", "bytes", lambda path: load_classifier(path.parent)),
    "data.json": ("run/data.json", "json", lambda path: Reading().for_run(path.parent, data_home=None)),
    "log": ("run/log.jsonl", "rows", lambda path: read_log(path.parent)),
    "table": ("synonyms.json", "json", SubstitutionTable.from_json),
    "packed table": ("run/substitutions.json.gz", "gz", SubstitutionTable.from_json),
    "CSV": ("reviews.csv", "bytes", load_dataset),
    "JSON lines": ("reviews.jsonl", "rows", load_dataset),
    "packed JSON lines": ("reviews.jsonl.gz", "bytes", load_dataset),
    "vectors": ("vectors.txt", "bytes", load_embeddings),
    "certificates": ("rows.jsonl", "rows", read_certificates),
    "attacks": ("attacks.jsonl", "rows", read_attacks),
    "records": ("bench/records.jsonl", "rows", read_records),
    "records of a report": ("bench/records.jsonl", "rows", lambda path: report_of_folder(path.parent)),
    "plan": ("bench/plan.json", "json", lambda path: Plan.load(path.parent)),
    "grid": ("grid.toml", "bytes", load_grid),
    "settings": ("settings.toml", "bytes", read_config),
}


@pytest.fixture
def files(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one real file of every kind."""
    folder = Path(shutil.copytree(world, tmp_path / "files"))
    monkeypatch.chdir(folder)
    rows = [{"text": each.text, "label": ("bad", "good")[each.label]} for each in small.dataset(train=20).train]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    Path("reviews.jsonl").write_bytes(lines)
    Path("reviews.jsonl.gz").write_bytes(gzip.compress(lines))
    assert run("attack", "run", "--method", "greedy", "--limit", "6", "--out", "attacks.jsonl") == 0
    shutil.copytree(ROOT / "results" / "imdb-linear", "bench", ignore=shutil.ignore_patterns("units"))
    Path("grid.toml").write_text((GRIDS / "smoke.toml").read_text())
    Path("settings.toml").write_text("[training]\nepochs = 3\nlearning_rate = 0.1\n[model]\n")
    return folder


def check(kind: str, files: Path, seeds: range) -> int:
    """Change the file so many times; how often it was refused."""
    name, shape, read = KINDS[kind]
    path, refused = files / name, 0
    original = path.read_bytes()
    read(path)  # as it is it can be read
    for seed in seeds:
        path.write_bytes(changed(original, shape, random.Random(seed)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(path)
        except SgbtError:
            refused += 1
        except Exception as problem:
            raise AssertionError(f"{kind}, seed {seed}: {problem!r}") from problem
    path.write_bytes(original)
    return refused


@pytest.mark.parametrize("kind", KINDS)
def test_one_sentence_or_a_value(files: Path, kind: str) -> None:
    assert check(kind, files, range(40)) > 0


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_one_sentence_or_a_value_thousands_of_times(files: Path, kind: str) -> None:
    assert check(kind, files, range(40, 3000)) > 0
