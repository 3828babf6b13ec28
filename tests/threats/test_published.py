"""Tables made of published lists: Jia et al.'s neighbours and the sememe dictionary."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer
from sgbt.threats import SubstitutionTable


def sense(pos: str, *sememes: str) -> dict[str, object]:
    return {"pos": pos, "offset": "1", "sememes": list(sememes)}


ROWS = [
    {"word": "film", "wn": [sense("n", "image", "shows"), sense("v", "image")], "zh": []},
    {"word": "movie", "wn": [sense("n", "shows", "image")], "zh": []},
    {"word": "shoot", "wn": [sense("v", "image")], "zh": [{"zh": "拍", "sememes": ["weapon"]}]},
    {"word": "fire", "wn": [], "zh": [{"zh": "射", "sememes": ["weapon"]}]},
    {"word": "picture", "wn": [sense("n", "image"), sense("v", "image"), sense("n", "image", "shows")], "zh": []},
    {"word": "moving picture", "wn": [sense("n", "image", "shows")], "zh": []},
    {"word": "empty", "wn": [sense("n")], "zh": []},
    {"word": "void", "wn": [sense("n")], "zh": []},
]


@pytest.fixture
def dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "sememes.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS).encode()))
    located = SimpleNamespace(paths=(path,))
    monkeypatch.setattr("sgbt.threats.named.get", lambda name, *, data_home: located)
    return path


def test_same_sememes_and_same_part_of_speech(dictionary: Path) -> None:
    table = SubstitutionTable.sememes()
    assert dict(table.entries) == {
        "film": ("picture", "movie", "shoot"),
        "movie": ("film", "picture"),
        "shoot": ("film", "picture"),
        "picture": ("film", "movie", "shoot"),
    }, "most shared senses first; no senses without sememes; single words only"
    assert "stand-in for HowNet" in table.name


def test_translations_only_on_demand(dictionary: Path) -> None:
    assert SubstitutionTable.sememes(["fire", "unheard"], translations=True).entries == {"fire": ("shoot",)}
    assert len(SubstitutionTable.sememes(["fire"])) == 0


def test_a_damaged_dictionary_is_one_sentence(dictionary: Path) -> None:
    for content in (dictionary.read_bytes()[:-10], gzip.compress(b"[1]\n"), gzip.compress(b'{"word": "a"}\n'), b"x"):
        dictionary.write_bytes(content)
        with pytest.raises(LexiconError, match="gzipped JSON lines with word, wn and zh"):
            SubstitutionTable.sememes()


def test_jia_et_al_from_a_small_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "neighbours.json"
    path.write_text('{"film": ["movie", "well-made", "films"], "don\'t": ["never"], "the": []}')
    located = SimpleNamespace(paths=(path,))
    monkeypatch.setattr("sgbt.threats.named.get", lambda name, *, data_home: located)
    assert SubstitutionTable.counter_fitted().entries == {"film": ("movie", "films")}
    assert SubstitutionTable.counter_fitted(nearest=2).entries == {"film": ("movie",)}
    for wrong in (0, 9):
        with pytest.raises(LexiconError, match=f"1 to 8 neighbours.*got {wrong}"):
            SubstitutionTable.counter_fitted(nearest=wrong)


def test_jia_et_al_as_published(data_home: Path) -> None:
    table = SubstitutionTable.counter_fitted(data_home=data_home)
    told = table.describe()
    assert (told.words, told.pairs, told.maximum) == (25_591, 109_104, 8)
    assert table.substitutes("movie")[:2] == ("film", "filmmaking")
    is_word = Tokenizer().is_word
    assert all(is_word(substitute) for found in table.entries.values() for substitute in found)


def test_the_sememe_dictionary_as_published(data_home: Path) -> None:
    table = SubstitutionTable.sememes(["movie", "terrible"], data_home=data_home)
    assert {"film", "picture", "flick"} <= set(table.substitutes("movie"))
    assert {"awful", "dreadful"} <= set(table.substitutes("terrible"))
