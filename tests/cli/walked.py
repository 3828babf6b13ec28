"""Where a new user walks: files that are right and files that are wrong, a trained run, and what commands say there."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import small

from sgbt.cli.app import main

TRAIN = ["--model", "linear", "--objective", "standard", "--substitutions", "synonyms.json", "--epochs", "1"]


@pytest.fixture(scope="session")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with good files and bad ones, a trained run, and copies of it with one thing wrong in each."""
    folder = tmp_path_factory.mktemp("walk")
    texts = small.dataset(train=60)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SGBT_CACHE", str(folder / ".cache"))
        table = small.vectors()
        lines = [" ".join([word, *(f"{x:.5f}" for x in table.vector(word))]) for word in table.words]
        Path("vectors.txt").write_text("\n".join(lines) + "\n")
        small.TABLE.to_json("synonyms.json")
        rows = [f"{each.text},{('bad', 'good')[each.label]}" for each in texts.train]
        Path("reviews.csv").write_text("\n".join(["text,label", *rows]))
        Path("moved.csv").write_text("\n".join(["text,label", *rows]))
        Path("onelabel.csv").write_text("text,label\na film,good\nno film,good\n")
        Path("other.csv").write_text("text,label\n" + "a film,maybe\nno film,perhaps\n" * 9)
        Path("empty.csv").touch()
        Path("header.csv").write_text("text,label\n")
        Path("noise.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
        Path("reviews.docx").write_bytes(b"PK")
        Path("reviews.xlsx").write_bytes(b"PK")
        Path("folder").mkdir()
        Path("folder-full").mkdir()
        Path("folder-full/holiday.jpg").touch()
        Path("typo.toml").write_text("[training]\nepoch = 3\n")
        Path("broken.json").write_text('{"film": ["movie"')
        Path("line.json").write_text('{"mine": true}')  # a last line without its end, and not a row cut off by a kill
        Path("list.json").write_text('["film"]')
        Path("two.json").write_text('{"film": ["moving picture"]}')
        assert run("train", "reviews.csv", *TRAIN, "--out", "run") == 0
        assert run("train", "moved.csv", *TRAIN, "--out", "run-moved") == 0
        Path("moved.csv").write_text("\n".join(["text,label", *rows[5:]]))
        assert run("certify", "run", "--limit", "2", "--tiers", "ibp", "--out", "rows.jsonl") == 0
        spoil("config", lambda run: (run / "config.json").write_text("{}"))
        spoil("future", lambda run: edit(run / "config.json", format=99))
        spoil("weights", lambda run: (run / "model.safetensors").write_bytes(b"\x08"))
        spoil("words", lambda run: (run / "vocabulary.json").unlink())
        spoil("table", lambda run: (run / "substitutions.json.gz").unlink())
        spoil("swapped", lambda run: edit(run / "config.json", substitutions="0" * 64))
        spoil("note", lambda run: (run / "data.json").write_text("[]"))
        shutil.copytree("run", "half")
        Path("half/config.json").unlink()
    return folder


def spoil(name: str, how: Callable[[Path], object]) -> None:
    how(Path(shutil.copytree("run", f"run-{name}")))


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def run(*arguments: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sgbt", *arguments])
        try:
            main()
        except SystemExit as left:
            return int(left.code or 0)
    return 0


def tree(folder: Path) -> dict[str, bytes]:
    """Every file with its content, but for caches and locks, which belong to nobody."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".cache" not in path.parts and path.name != ".lock"
    }


@pytest.fixture
def world(walked: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder, walked into, with a cache of its own."""
    monkeypatch.chdir(walked)
    monkeypatch.setenv("SGBT_CACHE", str(walked / ".cache"))
    monkeypatch.delenv("SGBT_DATA", raising=False)
    return walked
