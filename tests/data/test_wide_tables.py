"""A header of very many columns, or of very long names: read in a moment, and never echoed whole."""

from __future__ import annotations

import time

import pytest

from sgbt.core.errors import DataError
from sgbt.data.table_files import read_csv
from sgbt.data.tables import MOST_COLUMNS

WIDE = [f"column {number}" for number in range(40_000)]
LONGEST_SENTENCE = 1000


def refused(text: str, column: str = "text") -> str:
    """The sentence with which a table is refused; finding it takes no longer than reading the header does."""
    began = time.process_time()
    with pytest.raises(DataError) as caught:
        read_csv(text, source="a file").column(column)
    assert time.process_time() - began < 5  # seconds; comparing every name with every other took a minute
    assert len(str(caught.value)) < LONGEST_SENTENCE
    return str(caught.value)


def test_a_wide_header_is_read_in_a_moment() -> None:
    began = time.process_time()
    table = read_csv(",".join(WIDE) + "\n" + ",".join("x" for _ in WIDE) + "\n", source="a file")
    assert time.process_time() - began < 5
    assert len(table.columns) == len(WIDE)


def test_a_name_that_comes_twice_in_a_wide_header_is_named() -> None:
    assert "'column 7' twice" in refused(",".join([*WIDE, "column 7"]) + "\nx\n")


def test_a_column_that_a_wide_header_lacks_is_said_without_the_header() -> None:
    said = refused(",".join(WIDE) + "\n" + ",".join("x" for _ in WIDE) + "\n")
    assert "'column 0'" in said
    assert "40,000" in said


def test_a_row_of_another_length_is_said_without_the_header() -> None:
    assert "40,000 fields" in refused(",".join(WIDE) + "\nx,y\n")


@pytest.mark.parametrize("rows", ["\nx,x\n", "\nx\n"])
def test_long_names_are_cut(rows: str) -> None:
    refused("a" * 1_000_000 + "," + "b" * 1_000_000 + rows, column="a" * 999_999)


def test_a_long_name_twice_is_cut() -> None:
    name = "a" * 1_000_000
    assert "twice" in refused(f"{name},{name}\nx,y\n")


def test_more_columns_than_a_table_can_need_are_refused() -> None:
    assert f"at most {MOST_COLUMNS:,} columns" in refused("," * MOST_COLUMNS + "\nx\n")
