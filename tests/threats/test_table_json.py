from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.threats.strategies import tables

from sgbt.core.errors import LexiconError, SgbtWarning
from sgbt.threats import SubstitutionTable

TABLE = SubstitutionTable({"film": ("movie", "picture"), "naïve": ("simple",)}, "mine")


@given(table=tables(), plain=st.booleans(), suffix=st.sampled_from([".json", ".json.gz"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_comes_back_as_it_went(tmp_path: Path, table: SubstitutionTable, plain: bool, suffix: str) -> None:
    path = tmp_path / f"table{suffix}"
    table.to_json(path, plain=plain)
    again = SubstitutionTable.from_json(path)
    assert again == table
    assert dict(again.entries) == dict(table.entries), "the order of substitutes is kept"
    assert again.name == ("table" if plain else table.name)


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    turned = SubstitutionTable(dict(reversed(TABLE.entries.items())), "mine")
    for suffix in (".json", ".json.gz"):
        TABLE.to_json(tmp_path / f"a{suffix}")
        turned.to_json(tmp_path / f"b{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_plain_files_may_list_a_word_called_format(tmp_path: Path) -> None:
    path = tmp_path / "plain.json"
    path.write_text('{"format": ["layout"], "the": []}')
    assert SubstitutionTable.from_json(path, name="given").substitutes("format") == ("layout",)


def test_a_newer_version_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    path.write_text('{"format": "sgbt-substitutions", "version": 2, "content": "in a way unknown today"}')
    with pytest.raises(LexiconError, match=r"of version 1, got version 2 in .*; upgrade sgbt"):
        SubstitutionTable.from_json(path)


def test_a_changed_file_does_not_match_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    TABLE.to_json(path)
    path.write_text(path.read_text().replace("movie", "flick"))
    with pytest.raises(LexiconError, match=f"hash {TABLE.hash[:12]}, as it says itself"):
        SubstitutionTable.from_json(path)


ENTRIES = {"film": ["movie", "motion picture", "film", "movie", "Flick"], "well-made": ["good"], "good": ["fine"]}


def test_bad_entries_are_named_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(ENTRIES))
    with pytest.raises(LexiconError, match=r"'film' -> 'motion picture', .*; mend that entry, or .*drop_invalid=True"):
        SubstitutionTable.from_json(path)
    with pytest.warns(SgbtWarning, match="5 of 7 substitutions"):
        table = SubstitutionTable.from_json(path, drop_invalid=True)
    assert dict(table.entries) == {"film": ("movie",), "good": ("fine",)}


BAD = {
    "empty": (b"", "got an empty file"),
    "not JSON": (b"film: movie", "text that is not JSON"),
    "a list": (b'["film"]', "a JSON object"),
    "a string for a list": (b'{"film": "movie"}', "a list of words for 'film', got a string"),
    "a number in a list": (b'{"film": ["movie", 3]}', "a list of words for 'film'"),
    "own form without content": (b'{"format": "sgbt-substitutions", "version": 1}', "got null"),
    "a word twice": (b'{"film": ["movie"], "good": ["fine"], "film": ["picture"]}', "'film' twice"),
    "a word twice in the own form": (
        b'{"format": "sgbt-substitutions", "version": 1, "substitutes": {"film": ["movie"], "film": ["picture"]}}',
        "'film' twice",
    ),
    "gzip cut short": (gzip.compress(json.dumps({"film": ["movie"]}).encode())[:-9], "a whole gzip file"),
    "gzip damaged": (gzip.compress(b"{}" * 500)[:12] + b"\xff" * 30, "a whole gzip file"),
    "another encoding": ('{"naïve": ["simple"]}'.encode("latin-1"), "the byte 0xef in line 1, which is not UTF-8"),
    "6,000 digits": (b'{"film": ' + b"9" * 6000 + b"}", "6,000 digits"),
    "a deep list": (b'{"film": ' + b"[" * 100_000, "deep"),
    "half of a surrogate pair": (b'{"film": ["mo\\ud800vie"]}', "surrogate"),
    "infinity": (b'{"film": 1e999}', "not finite"),
    "UTF-16": ('{"film": ["movie"]}'.encode("utf-16"), "UTF-16"),
    "a gzip bomb": (gzip.compress(b" " * (200 << 20)), "and no end"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_one_clear_sentence(tmp_path: Path, case: str) -> None:
    content, message = BAD[case]
    path = tmp_path / "table.json"
    path.write_bytes(content)
    with pytest.raises(LexiconError, match=message) as raised:
        SubstitutionTable.from_json(path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LexiconError, match="no such file"):
        SubstitutionTable.from_json(tmp_path / "absent.json")
