"""Files as people have them: whatever separator and encoding, labels of any kind, columns by position."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbt.core.errors import DataError, SgbtWarning
from sgbt.data import load_dataset
from sgbt.data.file_text import encoding_of
from sgbt.data.labelled import labelled_texts
from sgbt.data.table_files import LOOKED_AT, FileLayout, chunks, read_table, separator_of

ROWS = [("text", "label"), ("Ein schönes Bild, wirklich", "gut"), ("schlecht; leider", "übel"), ("a|b", "gut")]


def written(path: Path, separator: str = ",", encoding: str = "utf-8", rows: list[tuple[str, str]] = ROWS) -> Path:
    quoted = [[f'"{cell}"' if any(mark in cell for mark in ",;|\t") else cell for cell in row] for row in rows]
    path.write_bytes("".join(separator.join(row) + "\n" for row in quoted).encode(encoding))
    return path


def columns(path: Path, layout: FileLayout | None = None) -> list[tuple[str, ...]]:
    table = read_table(path, layout)
    return [tuple(table.columns), *zip(*table.columns.values(), strict=True)]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_seen_from_the_file_and_said(tmp_path: Path, separator: str, name: str) -> None:
    path = written(tmp_path / name, separator)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    usual = separator == ("\t" if name == "a.tsv" else ",")
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        assert columns(path) == ROWS
    assert [note.category for note in notes] == ([] if usual else [SgbtWarning])
    assert all("--separator" in str(note.message) for note in notes)


@pytest.mark.parametrize("given_as", [";", "semicolon"])
def test_a_separator_that_is_named_is_not_guessed(tmp_path: Path, given_as: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,more;label\nno, no;1\n")
    assert columns(path, FileLayout(separator=given_as)) == [("text,more", "label"), ("no, no", "1")]


def test_a_file_of_one_column_keeps_what_stands_in_its_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text\nfine; very fine\nbad|worse\n")
    assert read_table(path).columns == {"text": ["fine; very fine", "bad|worse"]}


def test_a_comma_in_a_text_without_quotes_is_still_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\ngood,1\nbad, very bad,0\n")
    with pytest.raises(DataError, match=r"got 3 in line 3 .*--separator"):
        read_table(path)


@given(
    st.lists(st.lists(st.text(st.characters(codec="utf-8", exclude_characters='"\r\n\0')), min_size=2, max_size=2)),
    st.sampled_from(",;\t|"),
)
def test_the_guess_divides_quoted_rows_as_they_were_joined(rows: list[list[str]], letter: str) -> None:
    lines = [letter.join(f'"{cell}"' for cell in row) + "\n" for row in [["text", "label"], *rows]]
    assert separator_of(lines[: LOOKED_AT - 1], ",") == letter


ENCODED = {
    "utf-8": (b"", "utf-8"),
    "utf-8-sig": (b"", "utf-8-sig"),
    "utf-16": (b"", "utf-16"),
    "utf-16-le": (b"", "utf-16-le"),
    "utf-16-be": (codecs.BOM_UTF16_BE, "utf-16"),
    "utf-32": (b"", "utf-32"),
    "cp1252": (b"", "cp1252"),
    "latin-1": (b"", "cp1252"),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_the_encoding_is_seen_from_the_file(tmp_path: Path, encoding: str) -> None:
    mark, found = ENCODED[encoding]
    path = written(tmp_path / "a.csv", encoding=encoding)
    path.write_bytes(mark + path.read_bytes())
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        assert columns(path) == ROWS
        assert encoding_of(path) == found
    said = [str(note.message) for note in notes]
    assert bool(said) == (found == "cp1252")
    assert all("is not in UTF-8 (the byte 0xf6)" in each and "--encoding" in each for each in said)


def test_a_letter_that_windows_does_not_have_is_latin_1(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"text,label\ncaf\xe9 \x81,1\n")
    with pytest.warns(SgbtWarning, match="latin-1"):
        assert read_table(tmp_path / "a.csv").column("text") == ["café \x81"]


def test_a_byte_far_into_the_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,label\n" + b"fine,1\n" * 400_000 + b"caf\xe9,0\n")
    with pytest.warns(SgbtWarning, match="cp1252"):
        assert read_table(path).column("text")[-1] == "café"
    with pytest.raises(DataError, match="in line 400002 of"):
        read_table(path, FileLayout("utf-8"))


class Piped(io.TextIOWrapper):
    """Standard input as a pipe gives it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BufferedReader(io.BytesIO(content)), encoding="ascii")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_standard_input_is_read_alike(encoding: str) -> None:
    content = "text;label\ncafé;1\n".encode(encoding)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (table,) = chunks(Piped(content), "csv")
    assert table.columns == {"text": ["café"], "label": ["1"]}
    assert sys.stdin is not None


def test_columns_may_be_given_by_position(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("stars,body\n1,bad film\n5,good film\n1,poor\n5,fine\n")
    by_name = load_dataset(path, text="body", label="stars")
    assert load_dataset(path, text="2", label="1").hash == by_name.hash
    assert by_name.label_names == ("1", "5")
    with pytest.raises(DataError, match="a column named '3'"):
        load_dataset(path, text="3", label="1")


def test_a_column_with_a_number_for_a_name_comes_before_a_position(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("2,1\na,b\n")
    assert read_table(tmp_path / "a.csv").column("1") == ["b"]


def test_without_a_header_columns_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,bad film\n2,good film\n1,poor\n2,fine\n")
    dataset = load_dataset(path, text="2", label="1", header=False)
    assert sum(map(len, dataset.splits)) == 4
    assert dataset.label_names == ("1", "2")


def test_rows_without_label_are_left_out_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "a", "label": 1}\n{"text": "b"}\n{"text": "c", "label": 2.5}\n{"text": " ", "label": 1}\n'
    )
    found = labelled_texts(read_table(path), text=None, label=None, drop_empty=True)
    assert (found.texts, found.labels) == (("a", "c"), ("1", "2.5"))
    with pytest.raises(DataError, match="--drop-empty"):
        labelled_texts(read_table(path), text=None, label=None)


def test_labels_that_are_numbers_keep_their_names_and_come_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "film {n}", "label": {n}}}\n' for n in (10, -1, 2, 0.5, 10, -1, 2, 0.5)))
    assert load_dataset(path).label_names == ("-1", "0.5", "2", "10")


def test_a_table_without_labels_gives_its_texts_where_that_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text\n1,good\n2,bad\n")
    assert labelled_texts(read_table(path), text=None, label=None, unlabelled=True).labels == ()
    with pytest.raises(DataError, match="--label"):
        labelled_texts(read_table(path), text=None, label=None)
    with pytest.raises(DataError, match="'stars'"):
        labelled_texts(read_table(path), text=None, label="stars", unlabelled=True)


def test_a_file_of_texts_alone_says_what_its_ending_means(tmp_path: Path) -> None:
    (tmp_path / "pipe.txt").write_text("text|label\ngood film|up\nbad film|down\n")
    with pytest.raises(DataError, match=r"ending in \.txt is one text a line; give one that has columns the ending"):
        load_dataset(tmp_path / "pipe.txt")
