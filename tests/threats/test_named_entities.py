"""Names are found by their capitals, and replaced by the most frequent names of each label."""

from __future__ import annotations

import numpy as np
import pytest

from sgbt.core.errors import LexiconError
from sgbt.data import Split
from sgbt.threats import SubstitutionTable, named_entities

TEXTS = (
    *["We saw Tarantino and his friend in Paris. Great it was"] * 3,
    *["I met Nolan, not Tarantino. Dull days and dull films, said Nolan"] * 3,
    "The dull film is Dull in name",
)
SPLIT = Split("train", TEXTS, np.array([1, 1, 1, 0, 0, 0, 0]))


def test_names_and_what_may_stand_for_them() -> None:
    table = named_entities(SPLIT, most=1, least=3)
    assert set(table.entries) == {"tarantino", "paris", "nolan"}
    assert table.substitutes("paris") == ("nolan", "tarantino")  # the most frequent name of each label
    assert table.substitutes("nolan") == ("tarantino", "paris")
    assert table.substitutes("great") == ()
    joined = SubstitutionTable({"film": ("movie",)}) | table
    assert joined.substitutes("film") == ("movie",)
    assert joined.substitutes("paris") == ("nolan", "tarantino")


def test_no_names_and_wrong_counts() -> None:
    assert len(named_entities(Split("train", ("nothing here", ""), np.array([0, 1])))) == 0
    with pytest.raises(LexiconError, match="at least 1"):
        named_entities(SPLIT, most=0)
