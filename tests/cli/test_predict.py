"""`sgbt predict`: every row of every format with its label, in chunks, whole or not at all."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from tests.cli.walked import run

from sgbt.certify import certify
from sgbt.data import table_files
from sgbt.models import load_classifier

TEXTS = ["a good film", "bad plot, bad film", "the film", "zzz qqq", 'a "good" one\nof two lines', "", "great film"]
NUMBERS = [str(number) for number in range(len(TEXTS))]


@pytest.fixture(autouse=True)
def _here(world: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder of one's own with the run, the same texts in every format, and chunks of three rows."""
    monkeypatch.chdir(tmp_path)
    Path("run").symlink_to(world / "run")
    monkeypatch.setattr(table_files.chunks, "__kwdefaults__", {"rows": 3, "names": None, "groups": None})
    for name, mark in (("new.csv", ","), ("new.tsv", "\t")):
        with Path(name).open("w", newline="") as stream:
            csv.writer(stream, delimiter=mark).writerows([("id", "text"), *zip(NUMBERS, TEXTS, strict=True)])
    rows = [json.dumps({"id": n, "text": t}) + "\n" for n, t in zip(NUMBERS, TEXTS, strict=True)]
    Path("new.jsonl").write_text("".join(rows))
    Path("new.csv.gz").write_bytes(gzip.compress(Path("new.csv").read_bytes()))


def written(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("name", ["new.csv", "new.tsv", "new.jsonl", "new.csv.gz", "new.parquet"])
def test_every_format_gives_the_same_rows(name: str) -> None:
    if name.endswith(".parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"id": NUMBERS, "text": TEXTS}), name)
    assert run("predict", "run", name, "--out", "out.csv") == 0
    rows = written("out.csv")
    assert [row["id"] for row in rows] == NUMBERS
    assert [row["text"] for row in rows] == TEXTS
    answers = load_classifier("run").predict(TEXTS)
    assert [row["predicted"] for row in rows] == list(answers.labels)
    assert [float(row["probability"]) for row in rows] == pytest.approx(answers.probabilities.max(axis=1), abs=1e-6)


def test_certificates_are_those_of_certify() -> None:
    assert run("predict", "run", "new.csv", "--certify", "--max-substitutions", "1", "--out", "out.jsonl") == 0
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    proofs = certify(load_classifier("run"), TEXTS, max_substitutions=1)
    assert [row["verdict"] for row in rows] == [str(proof.verdict) for proof in proofs]
    assert [float(row["margin"]) for row in rows] == pytest.approx([proof.margin for proof in proofs], rel=1e-5)


def test_standard_input_and_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a good film\n\nbad film\n"))
    assert run("predict", "run", "-", "--format", "text") == 0
    shown = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert [row["text"] for row in rows] == ["a good film", "bad film"]
    assert "2 texts" in shown.err


def test_a_file_with_one_column_needs_no_name() -> None:
    Path("one.csv").write_text("review\na good film\n")
    assert run("predict", "run", "one.csv", "--out", "out.csv") == 0
    assert list(written("out.csv")[0]) == ["review", "predicted", "probability"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("text,predicted\na,b\n", "a file without the columns that are added"),
        ("text,id\na,1\nb,2\nc,3\nd\n", "line 5 of bad.csv"),
        ('text,id\na,1\nb,2\nc,3\n"d,1\n', "line 5 of bad.csv"),
        ("body,id\na,1\n", "a column named 'text'"),
        ("text,id\n", "rows of data"),
        ("", "rows of data"),
        ("text,text\na,b\n", "twice"),
    ],
)
def test_bad_files_are_one_sentence_and_leave_nothing(
    content: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.csv").write_text(content)
    before = set(Path().iterdir())
    assert run("predict", "run", "bad.csv", "--out", "out.csv") == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert "Traceback" not in shown
    assert set(Path().iterdir()) == before


@pytest.mark.filterwarnings("always::sgbt.core.errors.SgbtWarning")
def test_bytes_of_another_encoding_and_broken_gzip(capsys: pytest.CaptureFixture[str]) -> None:
    Path("latin.csv").write_bytes("text\ncafé\n".encode("latin-1"))
    assert run("predict", "run", "latin.csv", "--encoding", "utf-8", "--out", "out.csv") == 2
    assert "0xe9" in capsys.readouterr().err
    assert run("predict", "run", "latin.csv", "--out", "out.csv") == 0
    assert "sgbt: note: latin.csv is not in UTF-8 (the byte 0xe9); it is read as cp1252" in capsys.readouterr().err
    assert Path("out.csv").read_text(encoding="utf-8").splitlines()[1].startswith("café,")
    assert run("predict", "run", "latin.csv", "--encoding", "latin-1", "--out", "out.csv") == 0
    Path("cut.csv.gz").write_bytes(Path("new.csv.gz").read_bytes()[:-9])
    assert run("predict", "run", "cut.csv.gz", "--out", "cut.csv") == 2
    assert not Path("cut.csv").exists()


def test_rows_of_json_that_are_not_texts(capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.jsonl").write_text('{"text": "a"}\n{"text": null}\n')
    assert run("predict", "run", "odd.jsonl", "--out", "out.csv") == 2
    assert "line 2 of odd.jsonl" in capsys.readouterr().err


def test_parquet_is_written_with_numbers() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("predict", "run", "new.csv", "--certify", "--out", "out.parquet") == 0
    assert run("predict", "run", "new.csv", "--certify", "--out", "out.jsonl") == 0
    rows = parquet.read_table("out.parquet").to_pylist()
    assert rows == [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert {type(row["probability"]) for row in rows} == {float}
    assert [row["text"] for row in rows] == TEXTS


def test_columns_that_change_their_kind_are_no_parquet(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    Path("odd.jsonl").write_text('{"text": "a", "n": 1}\n' * 3 + '{"text": "b", "n": "one"}\n')
    assert run("predict", "run", "odd.jsonl", "--out", "out.parquet") == 2
    assert "write a .jsonl file" in capsys.readouterr().err
    assert not Path("out.parquet").exists()


def test_a_folder_is_labelled_part_by_part_and_goes_on_where_it_stood(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("new.jsonl").read_text().splitlines(keepends=True)
    Path("many").mkdir()
    for place, cut in enumerate((lines[:3], lines[3:])):
        Path(f"many/{place}.jsonl").write_text("".join(cut))
    assert run("predict", "run", "new.jsonl", "--out", "one.jsonl") == 0
    assert run("predict", "run", "many", "--out", "parts") == 0
    parts = sorted(Path("parts").glob("part-*.jsonl"))
    assert "".join(part.read_text() for part in parts) == Path("one.jsonl").read_text()
    kept, other = (part.stat() for part in parts)
    parts[1].unlink()
    assert run("predict", "run", "many", "--out", "parts") == 0
    assert "7 texts" in capsys.readouterr().err.splitlines()[-2]
    assert parts[0].stat().st_mtime_ns == kept.st_mtime_ns
    assert parts[1].stat().st_mtime_ns > other.st_mtime_ns
    assert run("predict", "run", "many", "--certify", "--out", "parts") == 2
    assert "parts of this model and file" in capsys.readouterr().err
    assert run("predict", "run", "many") == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["certify", "attack"])
def test_rows_of_a_folder_are_kept_part_by_part(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("many").mkdir()
    for name in "ab":
        content = "".join(json.dumps({"text": f"{name} {text}"}) + "\n" for text in TEXTS[:4])
        Path(f"many/{name}.jsonl").write_text(content)
    asked = [verb, "run", "--data", "many", *(["--method", "pwws"] if verb == "attack" else [])]
    assert run(*asked, "--out", "parts") == 0
    assert "8 rows: " in capsys.readouterr().out
    parts = sorted(Path("parts").glob("part-*.jsonl"))
    assert [len(part.read_text().splitlines()) for part in parts] == [4, 4]
    before = [part.read_bytes() for part in parts]
    assert run(*asked, "--out", "parts") == 0
    assert [part.read_bytes() for part in parts] == before
    assert "8 rows: " in capsys.readouterr().out
    assert run(*asked, "--limit", "3", "--out", "parts") == 2
    assert "--limit" in capsys.readouterr().err
    assert run(*asked) == 2
    assert "--out" in capsys.readouterr().err
    assert run(verb, "run", "--data", "imdb", "--ray", "--out", "other") == 2
    assert "--ray" in capsys.readouterr().err
