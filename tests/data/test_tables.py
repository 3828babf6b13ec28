from __future__ import annotations

import builtins
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sgbt.data import load_dataset
from sgbt.data.tables import Table, read_table
from sgbt.errors import DataError

ROWS = [("A fine film, really", "pos"), ('He said "no"', "neg"), ("two\nlines", "pos"), ("naïve café 🙂", "neg")]


def csv_of(rows: list[tuple[str, str]], separator: str = ",") -> str:
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in row] for row in rows]
    return "".join(separator.join(row) + "\n" for row in [["text", "label"], *quoted])


def jsonl_of(rows: list[tuple[str, str]]) -> str:
    return "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)


CONTENTS = {"csv": csv_of(ROWS), "tsv": csv_of(ROWS, "\t"), "jsonl": jsonl_of(ROWS), "ndjson": jsonl_of(ROWS)}


def columns_of(table: Table) -> list[tuple[str, str]]:
    return list(zip(table.column("text"), table.column("label"), strict=True))


class TestFormats:
    @pytest.mark.parametrize("kind", sorted(CONTENTS))
    @pytest.mark.parametrize("bom", ["", "\ufeff"])
    @pytest.mark.parametrize("packed", ["", ".gz"])
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_text_files(self, tmp_path: Path, kind: str, bom: str, packed: str, end: str) -> None:
        if end == "\r\n" and kind in ("csv", "tsv"):
            rows = [row for row in ROWS if "\n" not in row[0]]
            content = csv_of(rows, "," if kind == "csv" else "\t").replace("\n", end)
        else:
            rows, content = ROWS, CONTENTS[kind].replace("\n", end)
        path = tmp_path / f"a.{kind}{packed}"
        written = (bom + content).encode()
        path.write_bytes(gzip.compress(written) if packed else written)
        assert columns_of(read_table(path)) == rows

    @pytest.mark.parametrize("packed", ["", ".gz"])
    def test_parquet(self, tmp_path: Path, packed: str) -> None:
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        texts, labels = zip(*ROWS, strict=True)
        parquet.write_table(
            pyarrow.table({"text": texts, "label": pyarrow.array(labels).dictionary_encode()}), tmp_path / "a.parquet"
        )
        path = tmp_path / f"a.parquet{packed}"
        if packed:
            path.write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
        assert columns_of(read_table(path)) == ROWS

    def test_upper_case_endings(self, tmp_path: Path) -> None:
        (tmp_path / "A.CSV").write_text(CONTENTS["csv"])
        assert len(read_table(tmp_path / "A.CSV")) == 4

    def test_lines_are_those_of_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text('text,label\n"two\nlines",x\n\nlast,y\n')
        table = read_table(tmp_path / "a.csv")
        assert list(table.lines) == [2, 5]
        (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"b": 2}\n')
        table = read_table(tmp_path / "a.jsonl")
        assert list(table.lines) == [1, 3]
        assert table.columns == {"a": [1, None], "b": [None, 2]}

    def test_another_encoding(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_bytes("text,label\ncafé,1\n".encode("latin-1"))
        assert read_table(tmp_path / "a.csv", encoding="latin-1").column("text") == ["café"]

    def test_a_table_without_header(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("1,x\n2,y\n")
        table = read_table(tmp_path / "a.csv", names=("class", "title"))
        assert table.columns == {"class": ["1", "2"], "title": ["x", "y"]}

    def test_the_size_of_a_field_is_not_limited(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text(f"text,label\n{'x' * 200_000},1\n")
        assert len(read_table(tmp_path / "a.csv").column("text")[0]) == 200_000


def csv(*lines: str) -> bytes:
    return "\n".join(["text,label", *lines, ""]).encode()


ok = ("good,1", "bad,0")
BAD: dict[str, tuple[str, bytes, dict[str, str], str]] = {
    "missing column": (
        "a.csv",
        b"txet,label\na,1\n",
        {},
        "wanted a column named 'text', got the columns 'txet', 'label' in {path}; did you mean 'txet'?",
    ),
    "missing column, nothing like it": (
        "a.csv",
        b"review,label\na,1\n",
        {},
        "wanted a column named 'text', got the columns 'review', 'label' in {path}; "
        "name the columns with --text and --label.",
    ),
    "named column missing": (
        "a.csv",
        csv(*ok),
        {"label": "labels"},
        "wanted a column named 'labels', got the columns 'text', 'label' in {path}; did you mean 'label'?",
    ),
    "one column twice": (
        "a.csv",
        b"text,label,text\na,1,b\n",
        {},
        "wanted a different name for each column, got 'text' twice in line 1 of {path}; rename one.",
    ),
    "empty file": ("a.csv", b"", {}, "wanted rows of data, got an empty file in {path}."),
    "only a byte order mark": ("a.csv", b"\xef\xbb\xbf\n", {}, "wanted rows of data, got an empty file in {path}."),
    "empty jsonl": ("a.jsonl", b"\n\n", {}, "wanted rows of data, got an empty file in {path}."),
    "header only": ("a.csv", csv(), {}, "wanted rows of data, got a header and nothing below it in {path}."),
    "empty text": (
        "a.csv",
        csv("good,1", " ,0"),
        {},
        "wanted a text with at least one word, got an empty one in line 3 of {path}; "
        "remove such rows, or have them left out with --drop-empty.",
    ),
    "null text": (
        "a.jsonl",
        b'{"text": null, "label": 1}\n',
        {},
        "wanted a text with at least one word, got an empty one in line 1 of {path}; "
        "remove such rows, or have them left out with --drop-empty.",
    ),
    "a text that is a number": (
        "a.jsonl",
        b'{"text": 7, "label": 1}\n',
        {},
        "wanted a text, got 7 in line 1 of {path}.",
    ),
    "empty label": (
        "a.csv",
        csv("good,1", "bad,"),
        {},
        "wanted a label, got none in line 3 of {path}; fill it in or remove the row.",
    ),
    "missing label": (
        "a.jsonl",
        b'{"text": "good", "label": 1}\n{"text": "bad"}\n',
        {},
        "wanted a label, got none in line 2 of {path}; fill it in or remove the row.",
    ),
    "a label that is a fraction": (
        "a.jsonl",
        b'{"text": "good", "label": 0.5}\n',
        {},
        "wanted a label that is a string or an integer, got 0.5 in line 1 of {path}.",
    ),
    "wrong encoding": (
        "a.csv",
        csv("good,1", "caf\0,0").replace(b"\0", b"\xe9"),
        {},
        "wanted text in utf-8, got the byte 0xe9 in line 3 of {path}; "
        "convert the file with iconv, or name its encoding (latin-1, cp1252, ...).",
    ),
    "wrong encoding after a byte order mark": (
        "a.csv",
        b"\xef\xbb\xbf" + csv("good,1", "\0af,0").replace(b"\0", b"\xe9"),
        {},
        "wanted text in utf-8, got the byte 0xe9 in line 3 of {path}; "
        "convert the file with iconv, or name its encoding (latin-1, cp1252, ...).",
    ),
    "no such encoding": (
        "a.csv",
        csv(*ok),
        {"encoding": "latin-9000"},
        "wanted the name of an encoding, got 'latin-9000'; try utf-8 or latin-1.",
    ),
    "an endless text": (
        "a.csv",
        csv("good,1", "word " * 100_000 + ",0"),
        {},
        "wanted texts of at most 50,000 words, got one of 100,000 in line 3 of {path}; "
        "split it into its parts; a missing quote can join rows as well.",
    ),
    "truncated gzip": (
        "a.csv.gz",
        gzip.compress(csv(*ok) * 100)[:-20],
        {},
        "wanted a whole gzip file, got one that is cut short or damaged "
        "(Compressed file ended before the end-of-stream marker was reached) in {path}; fetch it again.",
    ),
    "not a gzip file": (
        "a.csv.gz",
        csv(*ok),
        {},
        "wanted a whole gzip file, got one that is cut short or damaged (Not a gzipped file (b'te')) in {path}; "
        "fetch it again.",
    ),
    "unbalanced quote": (
        "a.csv",
        csv("good,1", '"bad,0', "fine,1", "poor,0"),
        {},
        "wanted a well-formed table, got unexpected end of data in line 3 of {path}; check the quotes there.",
    ),
    "a quote that closes in a later row": (
        "a.csv",
        csv("good,1", '"bad,0', "fine,1", '"poor",0'),
        {},
        "wanted a well-formed table, got ',' expected after '\"' in line 3 of {path}; check the quotes there.",
    ),
    "ragged row": (
        "a.csv",
        csv("good,1", "bad, very bad,0"),
        {},
        "wanted 2 fields (text, label), got 3 in line 3 of {path}; "
        "put quotes around a text that contains the separator.",
    ),
    "bad JSON": (
        "a.jsonl",
        b'{"text": "good", "label": 1}\n{"text": "bad", \n',
        {},
        'wanted one JSON object per line, got \'{{"text": "bad", \' '
        "(Expecting property name enclosed in double quotes) in line 2 of {path}.",
    ),
    "JSON that is a list": (
        "a.jsonl",
        b'["good", 1]\n',
        {},
        "wanted one JSON object per line, got a list in line 1 of {path}.",
    ),
    "only one label": (
        "a.csv",
        csv("good,1", "fine,1"),
        {},
        "wanted at least two different labels, got only 1 in {path}; check the label column.",
    ),
    "a label column that is none": (
        "a.csv",
        csv(*(f"text {number},{number}" for number in range(20))),
        {},
        "wanted a label column with few different values, got 20 in 20 rows in {path}; "
        "name the label column with --label.",
    ),
    "unknown ending": (
        "a.xlsx",
        b"PK",
        {},
        "wanted a file ending in .csv, .tsv, .jsonl or .parquet (or one of them with .gz), got 'a.xlsx' in {folder}; "
        "convert it, or give the file its proper ending.",
    ),
    "empty parquet": (
        "a.parquet",
        b"",
        {},
        "wanted a whole Parquet file, got one that cannot be read (Parquet file size is 0 bytes) in {path}.",
    ),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_input_is_one_sentence_that_names_the_place(tmp_path: Path, name: str) -> None:
    file, content, options, sentence = BAD[name]
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_dataset(path, **options)
    assert str(caught.value) == sentence.format(path=path, folder=tmp_path)


@pytest.mark.parametrize("line", ["[" * 100_000, '{"label": ' + "9" * 5000 + "}", "NaN", "nul"])
def test_strange_json_is_one_sentence(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=r"^wanted one JSON object per line, got .* in line 1 of .*a\.jsonl\.$"):
        load_dataset(tmp_path / "a.jsonl")


@pytest.mark.parametrize("cut", [10, 100, -1])
def test_a_damaged_parquet_file_is_one_sentence(tmp_path: Path, cut: int) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["a"], "label": [1]}), tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:cut])
    with pytest.raises(DataError, match=r"^wanted a whole Parquet file, got one that cannot be read \(.*\) in .*\.$"):
        load_dataset(tmp_path / "a.parquet")


def test_a_parquet_file_without_rows(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": [], "label": []}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"^wanted rows of data, got an empty file in .*a\.parquet\.$"):
        load_dataset(tmp_path / "a.parquet")


def test_without_pyarrow_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError) as caught:
        load_dataset(tmp_path / "a.parquet")
    assert str(caught.value) == (
        f"wanted pyarrow, which reads Parquet, got an environment without it in {tmp_path / 'a.parquet'}; "
        "pip install 'sgbt[parquet]'."
    )


class TestPaths:
    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"^wanted a data file, got nothing in .*/none\.csv; check the path\.$"):
            load_dataset(tmp_path / "none.csv")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"^wanted a data file, got a folder in .*; check the path\.$"):
            load_dataset(tmp_path)

    @pytest.mark.parametrize("source", ["imbd", "Imdb"])
    def test_a_typo_in_a_name(self, source: str) -> None:
        with pytest.raises(DataError, match=rf"got '{source}'; did you mean imdb\?$"):
            load_dataset(source)

    def test_neither_name_nor_path(self) -> None:
        with pytest.raises(
            DataError, match=r"^wanted a dataset name \(imdb, yahoo_answers\) or the path of a file, got"
        ):
            load_dataset("qqqqqqq")

    @pytest.mark.parametrize("ending", ["", ".csv"])
    def test_a_text_in_place_of_a_path(self, ending: str) -> None:
        with pytest.raises(DataError, match=r"^wanted a data") as caught:
            load_dataset("a very long review " * 50 + ending)
        assert len(str(caught.value)) < 2000

    def test_an_unreadable_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.csv").write_bytes(csv(*ok))

        def denied(path: Path) -> bytes:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_bytes", denied)  # the system refuses root nothing, hence by hand
        with pytest.raises(DataError, match=r"^wanted a readable file, got permission denied in .*a\.csv\.$"):
            load_dataset(tmp_path / "a.csv")


def test_no_reader_touches_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(csv(*ok))
    opened: Callable[..., object] = builtins.open
    modes = []

    def noting(file: object, mode: str = "r", *rest: object, **options: object) -> object:
        modes.append(mode)
        return opened(file, mode, *rest, **options)

    monkeypatch.setattr(builtins, "open", noting)
    read_table(path)
    assert not [mode for mode in modes if set(mode) & set("wax+")]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]
