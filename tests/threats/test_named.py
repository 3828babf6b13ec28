"""Tables by name: options behind a colon, and unions by a plus."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sgbt.core.errors import LexiconError
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import SubstitutionTable
from sgbt.threats.named import check_table_name, table_named

VECTORS = EmbeddingTable(
    ("near", "nearer", "nearest", "long", "far"),
    np.array([[1.0, 0.0], [0.9, 0.1], [0.8, 0.1], [9.0, 0.1], [0.0, 1.0]], dtype=np.float32),
    "five",
)


def named(name: str) -> SubstitutionTable:
    found = table_named(name, VECTORS, data_home=None)
    assert found is not None
    return found


def test_options_are_those_of_the_table() -> None:
    expected = SubstitutionTable.embedding_neighbours(VECTORS, nearest=1, distance=0.3)
    assert named("neighbours:nearest=1,distance=0.3") == expected
    assert named("neighbours") == SubstitutionTable.embedding_neighbours(VECTORS)


def test_raw_vectors_have_other_neighbours_than_unit_ones() -> None:
    unit, raw = (named(f"neighbours:distance=0.5,normalised={which}") for which in ("true", "false"))
    assert "long" in unit
    assert "long" not in raw
    assert "nearer" in raw
    assert "raw vectors" in raw.name
    assert "raw" not in unit.name


def test_a_number_that_counts_the_word_itself_leaves_one_substitute_fewer() -> None:
    assert named("neighbours:nearest=3,counts_itself=true") == named("neighbours:nearest=2")
    assert check_table_name("counter_fit:distance=0.2,counts_itself=true") == [
        ("counter_fit", {"distance": 0.2, "nearest": 7})
    ]


def test_a_plus_joins_tables_and_files(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"far": ["near"]}))
    union = named(f"neighbours:nearest=1+{file}")
    assert union.substitutes("far") == ("near",)
    assert union == named("neighbours:nearest=1") | SubstitutionTable.from_json(file)
    odd = tmp_path / "a+b.json"
    odd.write_text(json.dumps({"far": ["long"]}))
    assert named(str(odd)).substitutes("far") == ("long",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("neighbors", "neighbours"),
        ("neighbours:nearst=3", "nearest"),
        ("neighbours:nearest=x", "a whole number as nearest"),
        ("neighbours:normalised=1", "true or false as normalised"),
        ("wordnet:nearest=3", "wordnet without options"),
        ("wordnet+", "one of"),
    ],
)
def test_what_is_misspelt_is_named(name: str, said: str) -> None:
    with pytest.raises(LexiconError, match=said):
        check_table_name(name)
