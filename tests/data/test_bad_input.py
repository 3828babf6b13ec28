"""Every bad file gets one sentence: what was expected, what came, where, and what to do."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from sgbt.core.errors import DataError
from sgbt.data import load_dataset


def csv(*lines: str) -> bytes:
    return "\n".join(["text,label", *lines, ""]).encode()


ok = ("good,1", "bad,0")
BAD: dict[str, tuple[str, bytes, dict[str, str], str]] = {
    "missing column": (
        "a.csv",
        b"txet,label\na,1\n",
        {},
        "expected a column named 'text', got the columns 'txet', 'label' in {path}; did you mean 'txet'?",
    ),
    "missing column, nothing like it": (
        "a.csv",
        b"review,label\na,1\n",
        {},
        "expected a column named 'text', got the columns 'review', 'label' in {path}; "
        "name the columns, or their positions, with --text and --label; --no-header is for one without names.",
    ),
    "named column missing": (
        "a.csv",
        csv(*ok),
        {"label": "labels"},
        "expected a column named 'labels', got the columns 'text', 'label' in {path}; did you mean 'label'?",
    ),
    "one column twice": (
        "a.csv",
        b"text,label,text\na,1,b\n",
        {},
        "expected a different name for each column, got 'text' twice in line 1 of {path}; "
        "rename one, or pass --no-header if the file has no line of names.",
    ),
    "empty file": ("a.csv", b"", {}, "expected rows of data, got an empty file in {path}."),
    "only a byte order mark": ("a.csv", b"\xef\xbb\xbf\n", {}, "expected rows of data, got an empty file in {path}."),
    "empty jsonl": ("a.jsonl", b"\n\n", {}, "expected rows of data, got an empty file in {path}."),
    "header only": ("a.csv", csv(), {}, "expected rows of data, got a header and nothing below it in {path}."),
    "empty text": (
        "a.csv",
        csv("good,1", " ,0"),
        {},
        "expected a text with at least one word, got an empty one in line 3 of {path}; "
        "fill it in, or have such rows left out with --drop-empty.",
    ),
    "null text": (
        "a.jsonl",
        b'{"text": null, "label": 1}\n',
        {},
        "expected a text with at least one word, got an empty one in line 1 of {path}; "
        "fill it in, or have such rows left out with --drop-empty.",
    ),
    "a text that is a number": (
        "a.jsonl",
        b'{"text": 7, "label": 1}\n',
        {},
        "expected a text, got 7 in line 1 of {path}.",
    ),
    "empty label": (
        "a.csv",
        csv("good,1", "bad,"),
        {},
        "expected a label, got none in line 3 of {path}; fill it in, or have such rows left out with --drop-empty.",
    ),
    "missing label": (
        "a.jsonl",
        b'{"text": "good", "label": 1}\n{"text": "bad"}\n',
        {},
        "expected a label, got none in line 2 of {path}; fill it in, or have such rows left out with --drop-empty.",
    ),
    "a label that is a list": (
        "a.jsonl",
        b'{"text": "good", "label": [1]}\n',
        {},
        "expected a label that is a string or a number, got [1] in line 1 of {path}.",
    ),
    "wrong encoding": (
        "a.csv",
        csv("good,1", "caf\0,0").replace(b"\0", b"\xe9"),
        {"encoding": "utf-8"},
        "expected text in utf-8, got the byte 0xe9 in line 3 of {path}; "
        "convert the file with iconv, or name its encoding with --encoding (latin-1, cp1252, ...).",
    ),
    "wrong encoding after a byte order mark": (
        "a.csv",
        b"\xef\xbb\xbf" + csv("good,1", "\0af,0").replace(b"\0", b"\xe9"),
        {},
        "expected text in utf-8, got the byte 0xe9 in line 3 of {path}; "
        "convert the file with iconv, or name its encoding with --encoding (latin-1, cp1252, ...).",
    ),
    "no such encoding": (
        "a.csv",
        csv(*ok),
        {"encoding": "latin-9000"},
        "expected the name of an encoding, got 'latin-9000'; try --encoding utf-8 or latin-1.",
    ),
    "an endless text": (
        "a.csv",
        csv("good,1", "word " * 100_000 + ",0"),
        {},
        "expected texts of at most 50,000 words, got one of 100,000 in line 3 of {path}; "
        "split it into its parts; a missing quote can join rows as well.",
    ),
    "truncated gzip": (
        "a.csv.gz",
        gzip.compress(csv(*ok) * 100)[:-20],
        {},
        "expected a whole gzip file, got one that is cut short or damaged "
        "(Compressed file ended before the end-of-stream marker was reached) in {path}; fetch it again.",
    ),
    "not a gzip file": (
        "a.csv.gz",
        csv(*ok),
        {},
        "expected a whole gzip file, got one that is cut short or damaged (Not a gzipped file (b'te')) in {path}; "
        "fetch it again.",
    ),
    "unbalanced quote": (
        "a.csv",
        csv("good,1", '"bad,0', "fine,1", "poor,0"),
        {},
        "expected a well-formed table, got unexpected end of data in line 3 of {path}; check the quotes there.",
    ),
    "a quote that closes in a later row": (
        "a.csv",
        csv("good,1", '"bad,0', "fine,1", '"poor",0'),
        {},
        "expected a well-formed table, got ',' expected after '\"' in line 3 of {path}; check the quotes there.",
    ),
    "ragged row": (
        "a.csv",
        csv("good,1", "bad, very bad,0"),
        {},
        "expected 2 fields (text, label), got 3 in line 3 of {path}; "
        "put quotes around a text that contains the separator, or name another with --separator.",
    ),
    "bad JSON": (
        "a.jsonl",
        b'{"text": "good", "label": 1}\n{"text": "bad", \n',
        {},
        "expected one JSON object per line, got text that is not JSON "
        "(expecting property name enclosed in double quotes at column 17) in line 2 of {path}.",
    ),
    "JSON that is a list": (
        "a.jsonl",
        b'["good", 1]\n',
        {},
        "expected one JSON object per line, got a list in line 1 of {path}.",
    ),
    "only one label": (
        "a.csv",
        csv("good,1", "fine,1"),
        {},
        "expected at least two different labels, got only 1 in {path}; check the label column.",
    ),
    "a label column that is none": (
        "a.csv",
        csv(*(f"text {number},{number}" for number in range(20))),
        {},
        "expected a label column with few different values, got 20 in 20 rows in {path}; "
        "name the label column with --label.",
    ),
    "unknown ending": (
        "a.docx",
        b"PK",
        {},
        "expected a file ending in .csv, .tsv, .jsonl, .txt or .parquet (or one of them with .gz), got 'a.docx' in "
        "{folder}; convert it, or give the file its proper ending.",
    ),
    "a spreadsheet": (
        "a.xlsx",
        b"PK",
        {},
        "expected a CSV, TSV, JSONL or Parquet file, got a spreadsheet or an archive in {path}; "
        "open it in a spreadsheet program, save the sheet as CSV (UTF-8), and name that file.",
    ),
    "a spreadsheet by another name": (
        "a.csv",
        b"PK\x03\x04" + bytes(100),
        {},
        "expected a CSV, TSV, JSONL or Parquet file, got a spreadsheet or an archive in {path}; "
        "open it in a spreadsheet program, save the sheet as CSV (UTF-8), and name that file.",
    ),
    "a separator of two letters": (
        "a.csv",
        csv(*ok),
        {"separator": "::"},
        "expected one letter, or one of comma, semicolon, tab, pipe, got '::' in --separator.",
    ),
    "empty parquet": (
        "a.parquet",
        b"",
        {},
        "expected a whole Parquet file, got one that cannot be read (Parquet file size is 0 bytes) in {path}.",
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


STRANGE = [
    *("[" * 100_000, "NaN", "nul", '{"text": "a\\ud800 film", "label": 1}', '{"text": "a", "label": 1e999}'),
    *('{"label": ' + "9" * 5000 + "}", '{"label": ' + "9" * 20 + "}", '{"text": "a", "text": "b", "label": 1}'),
]


@pytest.mark.parametrize("line", STRANGE)
def test_strange_json_is_one_sentence(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=r"^expected one JSON object per line, got .* in line 1 of .*a\.jsonl\.$"):
        load_dataset(tmp_path / "a.jsonl")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_a_gzip_bomb_is_one_sentence_before_it_fills_the_memory(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"a.{ending}.gz").write_bytes(gzip.compress(b" " * (300 << 20)))
    with pytest.raises(DataError, match="unpack it yourself if you trust it"):
        load_dataset(tmp_path / f"a.{ending}.gz")


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("utf-7", b"+2AA-"),
        ("unicode_escape", b"\\ud800"),
        ("idna", b"xn--a\xff"),
        ("punycode", b"a-\xff"),
        ("undefined", b"a"),
        ("utf-16", b"a"),
        ("rot13", b"a"),
        ("", b"a"),
    ],
)
def test_encodings_that_give_no_text_are_one_sentence(tmp_path: Path, encoding: str, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(b"text,label\n" + content + b",1\nbad,0\n")
    with pytest.raises(DataError, match=r"expected (text in|the name of an encoding)"):
        load_dataset(tmp_path / "a.csv", encoding=encoding)


def test_a_parquet_file_of_texts_that_are_no_utf8(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = pyarrow.array([b"a\xff", b"b"]).view("string") if hasattr(pyarrow.Array, "view") else None
    parquet.write_table(pyarrow.table({"text": texts, "label": [1, 0]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="Parquet"):
        load_dataset(tmp_path / "a.parquet")


@pytest.mark.parametrize("cut", [10, 100, -1])
def test_a_damaged_parquet_file_is_one_sentence(tmp_path: Path, cut: int) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["a"], "label": [1]}), tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:cut])
    with pytest.raises(DataError, match=r"^expected a whole Parquet file, got one that cannot be read \(.*\) in .*\.$"):
        load_dataset(tmp_path / "a.parquet")


def test_a_parquet_file_without_rows(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": [], "label": []}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"^expected rows of data, got an empty file in .*a\.parquet\.$"):
        load_dataset(tmp_path / "a.parquet")


def test_without_pyarrow_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError) as caught:
        load_dataset(tmp_path / "a.parquet")
    assert str(caught.value) == (
        f"expected pyarrow, which reads and writes Parquet, got an environment without it in {tmp_path / 'a.parquet'}"
        "; pip install 'sgbt[parquet]'."
    )


class TestPaths:
    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"^expected a data file, got nothing in .*/none\.csv; check the path\.$"):
            load_dataset(tmp_path / "none.csv")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"^expected a data file, got a folder in .*; check the path\.$"):
            load_dataset(tmp_path)

    @pytest.mark.parametrize("source", ["imbd", "Imdb"])
    def test_a_typo_in_a_name(self, source: str) -> None:
        with pytest.raises(DataError, match=rf"got '{source}'; did you mean imdb\?$"):
            load_dataset(source)

    def test_neither_name_nor_path(self) -> None:
        with pytest.raises(
            DataError, match=r"^expected a dataset name \(imdb, yahoo_answers\) or the path of a file, got"
        ):
            load_dataset("qqqqqqq")

    @pytest.mark.parametrize("ending", ["", ".csv"])
    def test_a_text_in_place_of_a_path(self, ending: str) -> None:
        with pytest.raises(DataError, match=r"^expected a data") as caught:
            load_dataset("a very long review " * 50 + ending)
        assert len(str(caught.value)) < 2000

    def test_an_unreadable_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.csv").write_bytes(csv(*ok))

        def denied(path: Path, mode: str) -> bytes:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", denied)  # the system refuses root nothing, hence by hand
        with pytest.raises(DataError, match=r"^expected a readable file, got permission denied in .*a\.csv\.$"):
            load_dataset(tmp_path / "a.csv")
