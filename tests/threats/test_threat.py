from __future__ import annotations

import pytest

from sgbt.core.errors import LexiconError
from sgbt.threats import SubstitutionTable, Threat, parse_threat

TABLES = {
    "counter_fitted": SubstitutionTable({"good": ("fine",)}, "counter_fitted"),
    "wordnet": SubstitutionTable({"good": ("well",), "bad": ("poor",)}, "wordnet"),
}


def table(name: str) -> SubstitutionTable | None:
    if name not in TABLES:
        raise LexiconError(expected="a table", got=name)
    return TABLES[name]


def test_a_line_names_a_threat() -> None:
    threat = parse_threat("counter_fitted | wordnet + typos:1 + delete:2:any + within:3", table)
    expected = (
        Threat.substitutions(TABLES["counter_fitted"])
        | Threat.substitutions(TABLES["wordnet"])
        | Threat.typos(1)
        | Threat.deletions("any", at_most=2)
    ).within(total=3)
    assert threat == expected
    assert threat.name == "counter_fitted | wordnet + typos:1 + delete:2:any + within:3"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("typos:2", Threat.typos(edits=2)),
        ("delete:2", Threat.deletions(at_most=2)),
        ("delete:1:the,a", Threat.deletions(["a", "the"], at_most=1)),
        ("duplicate:2", Threat.duplications(at_most=2)),
        ("insert:1:very,quite", Threat.insertions(["quite", "very"], at_most=1)),
        ("swap:3", Threat.adjacent_swaps(at_most=3)),
        ("wordnet:at_most=2", Threat.substitutions(TABLES["wordnet"], at_most=2)),
    ],
)
def test_every_kind_has_a_name_that_is_read_back(line: str, expected: Threat) -> None:
    threat = parse_threat(line, table)
    assert threat == expected
    assert parse_threat(threat.name, table) == threat
    assert Threat.from_json(threat.to_json()) == threat


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("typos", "whole number"),
        ("typos:-1", "whole number"),
        ("typos:1:x", "number alone"),
        ("insert:1", "words to insert"),
        ("delete:1:two words", "single words"),
        ("typos:1 + ", "joined by"),
        ("within:2", "at least one edit"),
        ("typo:1", "did you mean typos"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(line: str, says: str) -> None:
    with pytest.raises(LexiconError, match=says):
        parse_threat(line, table)


def test_bad_values_are_refused() -> None:
    for make in (
        lambda: Threat.typos(-1),
        lambda: Threat.deletions([], at_most=1),
        lambda: Threat.deletions("some", at_most=1),
        lambda: Threat.insertions("any", at_most=1),
        lambda: Threat.duplications(at_most=-2),
        lambda: Threat.typos(1).within(total=-1),
    ):
        with pytest.raises(LexiconError):
            make()


def test_hashes_tell_threats_apart_and_names_of_tables_do_not_count() -> None:
    renamed = SubstitutionTable(dict(TABLES["wordnet"].entries), "other")
    assert Threat.substitutions(renamed) == Threat.substitutions(TABLES["wordnet"])
    threats = [
        Threat.typos(1),
        Threat.typos(2),
        Threat.typos(2).within(total=1),
        Threat.deletions("any", at_most=1),
        Threat.deletions(at_most=1),
        Threat.substitutions(TABLES["wordnet"]),
        Threat.substitutions(TABLES["wordnet"], at_most=1),
    ]
    assert len({threat.hash for threat in threats}) == len(threats)
    assert Threat.typos(1).hash.startswith("e1e7d9ddbd25f483")


def test_a_changed_document_is_refused() -> None:
    content = Threat.typos(1).to_json()
    with pytest.raises(LexiconError, match="written with"):
        Threat.from_json(content.replace('"at_most": 1', '"at_most": 2'))


def test_joining_keeps_the_larger_budget() -> None:
    joined = Threat.typos(1) | Threat.typos(2) | Threat.deletions(["a"], at_most=1) | Threat.deletions("any", at_most=1)
    assert joined == Threat.typos(2) | Threat.deletions("any", at_most=1)
    assert Threat.substitutions(TABLES["wordnet"]).only_substitutions
    assert not joined.only_substitutions
