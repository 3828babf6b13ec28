"""Shards: whatever their size, their rows are those of the file, once each and in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbt.core.errors import DataError
from sgbt.data.shards import Shard, shards_of
from sgbt.data.table_files import FileLayout, chunks, format_of

LAYOUT = FileLayout()
TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=20), min_size=1, max_size=30)


def rows_of(shards: list[Shard]) -> list[object]:
    return [text for shard in shards for table in shard.tables(LAYOUT) for text in table.columns["text"]]


def whole(path: Path) -> list[object]:
    return [text for table in chunks(path, format_of(path)) for text in table.columns["text"]]


@given(texts=TEXTS, size=st.integers(1, 400), ending=st.sampled_from(["\n", "\r\n", "\n\n"]), last=st.booleans())
def test_json_lines_are_cut_anywhere(
    texts: list[str], size: int, ending: str, last: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("shards") / "rows.jsonl"
    content = ending.join(json.dumps({"text": text}, ensure_ascii=False) for text in texts) + ending * last
    path.write_bytes(content.encode())
    shards = shards_of(path, LAYOUT, size=size)
    assert rows_of(shards) == whole(path) == texts
    assert len(shards) == -(-len(content.encode()) // size)


@pytest.mark.parametrize("size", [1, 7, 10**6])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_texts_of_other_encodings(size: int, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("café\nà la carte\n\nlast", encoding=encoding)
    layout = FileLayout("auto" if encoding != "cp1252" else encoding)
    shards = shards_of(path, layout, size=size)
    found = [text for shard in shards for table in shard.tables(layout) for text in table.columns["text"]]
    assert found == ["café", "à la carte", "last"]
    assert encoding != "utf-16" or len(shards) == 1


@pytest.mark.parametrize("size", [1, 300, 10**9])
def test_parquet_is_cut_between_row_groups(size: int, tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({"text": [f"text {n}" for n in range(25)]}), path, row_group_size=4)
    shards = shards_of(path, LAYOUT, size=size)
    assert rows_of(shards) == whole(path) == [f"text {n}" for n in range(25)]
    assert len(shards) == 7 if size == 1 else len(shards) < 7


def test_a_folder_is_read_in_the_order_of_names_and_holds_one_format(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.csv").write_text(f'text\n"{name}\nof two lines"\n')
    (tmp_path / "notes.md").write_text("no data")
    assert rows_of(shards_of(tmp_path, LAYOUT, size=3)) == ["a\nof two lines", "b\nof two lines"]
    (tmp_path / "c.jsonl").write_text('{"text": "c"}\n')
    with pytest.raises(DataError, match="files of one format"):
        shards_of(tmp_path, LAYOUT)


def test_a_byte_that_is_no_text_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text": "good"}\n' * 9 + b'{"text": "caf\xe9"}\n')
    with pytest.raises(DataError, match=r"0xe9.*rows\.jsonl from byte 150"):
        rows_of(shards_of(path, FileLayout("utf-8"), size=50))
