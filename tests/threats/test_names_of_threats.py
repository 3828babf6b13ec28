"""Names of threats are read back: whatever tables are called, and whatever words are listed."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbt.embeddings import EmbeddingTable
from sgbt.threats import SubstitutionTable, Threat, parse_threat
from sgbt.threats.named import table_named
from sgbt.threats.threat import STOP_WORDS

NAMES = [
    "mine",
    "typos",
    "within",
    "delete",
    " spaced ",
    'a "quoted": name',
    "a+b",
    "insert:1:x",
    "x, nearest 8",
    "\\",
    "é",
]
TABLES = {
    name: SubstitutionTable({"good": ("fine", "nice")[: 1 + place % 2], chr(97 + place): ("z",)}, name)
    for place, name in enumerate(NAMES)
}
WORDS = ["the", "stop", "any", "+", "|", ",", ":", '"', "n't", "3.5", "naïve", "!", "within"]
budgets = st.integers(0, 1_000_000)
lists = st.lists(st.sampled_from(WORDS), min_size=1, unique=True)
left_out = lists | st.sampled_from(["stop", "any"])


@st.composite
def unions(draw: st.DrawFn) -> SubstitutionTable:
    """Tables joined in any grouping."""
    found = [TABLES[name] for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))]
    while len(found) > 1:
        at = draw(st.integers(0, len(found) - 2))
        found[at : at + 2] = [found[at] | found[at + 1]]
    return found[0]


parts = st.one_of(
    st.builds(lambda table, most: Threat.substitutions(table, at_most=most), unions(), st.none() | budgets),
    st.builds(Threat.typos, budgets),
    st.builds(lambda words, most: Threat.deletions(words, at_most=most), left_out, budgets),
    st.builds(lambda most: Threat.duplications(at_most=most), budgets),
    st.builds(
        lambda words, most: Threat.insertions(words, at_most=most), lists.filter(lambda each: each != ["any"]), budgets
    ),
    st.builds(lambda most: Threat.insertions(STOP_WORDS, at_most=most), budgets),
    st.builds(lambda most: Threat.adjacent_swaps(at_most=most), budgets),
)


@settings(max_examples=60)
@given(st.lists(parts, min_size=1, max_size=4), st.none() | budgets)
def test_a_name_is_read_back(given: list[Threat], total: int | None) -> None:
    threat = given[0]
    for each in given[1:]:
        threat |= each
    threat = threat if total is None else threat.within(total=total)
    assert parse_threat(str(threat), TABLES.__getitem__) == threat


def test_names_that_tables_give_themselves_find_them() -> None:
    vectors = EmbeddingTable(("a", "b", "c"), np.eye(3, dtype=np.float32), "three")
    for written in ("neighbours:nearest=2,distance=1.5", "neighbours:nearest=1,normalised=false"):
        table = table_named(written, vectors, data_home=None)
        assert table is not None
        assert table_named(table.name, vectors, data_home=None) == table
        threat = Threat.substitutions(table, at_most=2) | Threat.typos(1)
        assert parse_threat(threat.name, lambda name: table_named(name, vectors, data_home=None)) == threat
