from __future__ import annotations

import builtins
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sgbt.data.table_files import FileLayout, read_table
from sgbt.data.tables import Table

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
        assert read_table(tmp_path / "a.csv", FileLayout("latin-1")).column("text") == ["café"]

    def test_a_table_without_header(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("1,x\n2,y\n")
        table = read_table(tmp_path / "a.csv", names=("class", "title"))
        assert table.columns == {"class": ["1", "2"], "title": ["x", "y"]}

    def test_the_size_of_a_field_is_not_limited(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text(f"text,label\n{'x' * 200_000},1\n")
        assert len(read_table(tmp_path / "a.csv").column("text")[0]) == 200_000


def test_no_reader_touches_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text(CONTENTS["csv"])
    opened: Callable[..., object] = builtins.open
    modes = []

    def noting(file: object, mode: str = "r", *rest: object, **options: object) -> object:
        modes.append(mode)
        return opened(file, mode, *rest, **options)

    monkeypatch.setattr(builtins, "open", noting)
    read_table(path)
    assert not [mode for mode in modes if set(mode) & set("wax+")]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]
