"""`sgbt data describe`: what a person learns of a file, and one sentence for every kind of bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.conftest import Command

ROWS = "text,label\n" + "".join(f"a good film number {n},{'neg' if n % 2 else 'pos'}\n" for n in range(40))
FILES = {
    "good.csv": ROWS.encode(),
    "empty.csv": b"",
    "latin.csv": ROWS.encode() + b"caf\xe9,pos\n",
    "blank.csv": ROWS.encode() + b'" ",pos\n',
    "endless.csv": ROWS.encode() + b"w " * 100_000 + b",pos\n",
    "cut.csv.gz": gzip.compress(ROWS.encode())[:60],
    "vectors.txt": b"good 1 0 0\nnice 0.9 0.1 0\nfilm 0 1 0\n",
    "ragged.txt": b"good 1 0 0\nnice 0.9 0.1\n",
    "table.json": json.dumps({"good": ["nice"]}).encode(),
    "phrases.json": json.dumps({"good": ["very nice"]}).encode(),
}
PLAIN = ["--vectors", "vectors.txt", "--substitutions", "table.json"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_is_described_with_its_vectors_and_substitutions(folder: Path, sgbt_command: Command) -> None:
    told = sgbt_command("data", "describe", "good.csv", *PLAIN)
    assert told.returncode == 0, told.stderr
    assert "vectors.txt: 3 words of width 3" in told.stdout
    assert "1 words have substitutes" in told.stdout
    assert "good(nice)" in told.stdout
    assert "has 2 variants" in told.stdout


def test_the_reach_of_each_table_is_a_row(folder: Path, sgbt_command: Command) -> None:
    (folder / "rare.json").write_text(json.dumps({"7": ["8"]}))
    tables = ["--substitutions", "table.json", "--substitutions", "rare.json"]
    told = sgbt_command("data", "reach", "good.csv", "--vectors", "vectors.txt", *tables, "--out", "reach.jsonl")
    assert told.returncode == 0, told.stderr
    first, second = (json.loads(line) for line in (folder / "reach.jsonl").read_text().splitlines())
    texts = first["test_texts"]
    assert texts > 0
    assert first["running_words"] == second["running_words"] == 5 * texts
    assert first["test_texts_reached"] == first["running_words_reached"] == texts
    assert second["test_texts_reached"] == second["running_words_reached"] <= 1
    assert first["substitutions"]["name"] == "table.json"
    assert f"{texts:,} of {5 * texts:,} running words (20.0%)" in told.stdout
    refused = sgbt_command("data", "reach", "good.csv", "--vectors", "vectors.txt", "--substitutions", "synonyms")
    assert refused.returncode == 2
    assert "got 'synonyms' in --substitutions" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["empty.csv", *PLAIN], "expected rows of data, got an empty file in empty.csv."),
        (["latin.csv", *PLAIN, "--encoding", "utf-8"], "got the byte 0xe9 in line 42 of latin.csv"),
        (["blank.csv", *PLAIN], "got an empty one in line 42 of blank.csv"),
        (
            ["endless.csv", *PLAIN],
            "expected texts of at most 50,000 words, got one of 100,000 in line 42 of endless.csv",
        ),
        (["cut.csv.gz", *PLAIN], "expected a whole gzip file, got one that is cut short or damaged"),
        (["good.csv", "--label", "lable", *PLAIN], "expected a column named 'lable', got the columns 'text', 'label'"),
        (["good.csv", "--vectors", "ragged.txt"], "expected 3 numbers after the word, got 2 in ragged.txt, line 2"),
        (["good.csv", "--vectors", "vectors.txt", "--substitutions", "phrases.json"], "very nice"),
        (["good.csv", "--vectors", "vectors.txt", "--substitutions", "synonyms"], "got 'synonyms' in --substitutions"),
        (["nowhere.csv", *PLAIN], "expected a data file, got nothing in nowhere.csv"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    folder: Path, sgbt_command: Command, arguments: list[str], sentence: str
) -> None:
    told = sgbt_command("data", "describe", *arguments)
    assert told.returncode == 2
    assert sentence in told.stderr
    assert told.stderr.count("\n") == 1
    assert "Traceback" not in told.stderr
    assert {path.name for path in folder.iterdir() if path.is_file()} == set(FILES)
