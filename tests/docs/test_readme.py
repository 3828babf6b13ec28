"""README.md: short, in the order that a newcomer wants, and its five commands run one after the other."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.docs.pages import pieces
from typer.testing import CliRunner

from sgbt.cli.app import app

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.sub(r"<!-- .*? -->", "", PAGE)


def test_it_is_short_and_its_table_is_narrow() -> None:
    assert len(PAGE.splitlines()) <= 120
    (table,) = [block for block in SHOWN.split("\n\n") if "| clean | certified |" in block]
    assert len(table.strip().splitlines()) == 2 + 5
    assert max(map(len, table.splitlines())) <= 100


def test_it_comes_in_the_order_that_a_newcomer_wants() -> None:
    assert len(re.findall(r"\.(?:\s|$)", PAGE.split("\n\n")[1])) == 3  # what it is, in three sentences
    parts = ("![One review", "## Install", "## Five commands", "```python", "| clean |", "## Which part do I need?")
    found = [PAGE.index(part) for part in parts]
    assert found == sorted(found)
    (example,) = [piece for piece in pieces("README.md") if piece.language == "python"]
    assert len([line for line in example.source.splitlines() if line]) <= 10
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)", PAGE):
        assert (ROOT / picture).is_file()


def test_the_five_commands_run(private_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a file of reviews and a small counter-fitted list in the data home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SGBT_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "lexicon").mkdir(parents=True)
    synonyms = {"great": ["fine"], "fine": ["great"], "awful": ["poor"], "poor": ["awful"]}
    with gzip.open(tmp_path / "data" / "lexicon" / "counterfitted_neighbors.json.gz", "wt") as stream:
        json.dump(synonyms, stream)
    rows = [f"a {word} film of {year},{word in ('great', 'fine')}" for word in synonyms for year in range(1950, 2020)]
    Path("reviews.csv").write_text("\n".join(["text,label", *rows]))
    Path("new.csv").write_text("id,text\n1,a great story\n2,a poor story\n")
    (block,) = [piece for piece in pieces("README.md") if piece.source.startswith("sgbt ")]
    commands = list(block.commands)
    assert len(commands) == 5
    for words in commands:
        done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
        assert done.exit_code == 0, (words, done.output)
    labelled = Path("labelled.csv").read_text().splitlines()
    assert len(labelled) == 3
    assert "certified" in labelled[1]
    assert "certified" in Path("certificates.jsonl").read_text()
