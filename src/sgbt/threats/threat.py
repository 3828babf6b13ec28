"""Threat: what an adversary may do to a text, as a value.

A threat is a set of edits of different kinds, each with a budget, and perhaps one budget for all together. Edits act on
parts of the text that do not overlap: a word that was replaced is not misspelt as well. Word edits (substitutions,
deletions, duplications, insertions, swaps) are about words as the tokenizer reads them; typos are about characters.
The texts that a threat allows are the paths of its `Lattice` (`sgbt.threats.lattice`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, ClassVar

from sgbt.core.errors import LexiconError
from sgbt.core.registry import EDITS
from sgbt.data import Tokenizer
from sgbt.threats.edit_kinds import ANY, KINDS
from sgbt.threats.quoting import MARKS, parts_of_union, quoted
from sgbt.threats.table import SubstitutionTable, keeping_rules

STOP_WORDS = tuple(
    """
    a about above after again all am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he
    her here hers herself him himself his how i if in into is it its itself just me more most my myself
    now of off on once only or other our ours ourselves out over own same she should so some such than
    that the their theirs them themselves then there these they this those through to too under until up
    very was we were what when where which while who whom why will with would you your yours yourself
    yourselves
    """.split()  # noqa: SIM905 - a list of so many words is read as text
)
"""Function words of English; negations (no, nor, not, n't) are not among them, for they change what a text says."""
STOP, WITHIN = "stop", "within"
"""What the command line calls stop words, and the budget of all edits together."""
MOST = 1_000_000
_SHORT = {"deletions": "delete", "duplications": "duplicate", "insertions": "insert", "adjacent_swaps": "swap"}
_FORMAT, _VERSION = "sgbt-threat", 1


@dataclass(frozen=True)
class Edit:
    """One kind of edit: at most so many of them (None: any number), by this table, or of these words."""

    kind: str
    at_most: int | None
    table: SubstitutionTable | None = None
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        KINDS.index(self.kind)
        unlimited = self.at_most is None and self.kind == "substitutions"
        if not unlimited and (type(self.at_most) is not int or not 0 <= self.at_most <= MOST):
            raise LexiconError(
                expected="a budget that is a whole number from 0 on", got=repr(self.at_most), where=f"the {self.kind}"
            )
        if (self.table is not None) != (self.kind == "substitutions"):
            raise LexiconError(expected="a table for substitutions alone", got=self.kind, where="a threat")
        if self.kind in ("deletions", "insertions") or self.words:
            object.__setattr__(self, "words", _checked_words(self.words, self.kind))

    def joined(self, other: Edit) -> Edit:
        """An edit that allows what either does."""
        limits = (self.at_most, other.at_most)
        at_most = None if None in limits else max(limits)  # type: ignore[type-var]
        table = self.table | other.table if self.table is not None and other.table is not None else None
        words = (ANY,) if (ANY,) in (self.words, other.words) else tuple(sorted({*self.words, *other.words}))
        return Edit(self.kind, at_most, self.table if self.table == other.table else table, words)

    @property
    def name(self) -> str:
        """As the command line writes it; of a union of tables each by its name."""
        if self.table is not None:
            limit = "" if self.at_most is None else f":at_most={self.at_most}"
            reserved = {*_SHORT.values(), "typos", WITHIN, *EDITS}
            return " | ".join(quoted(each, reserved=reserved) + limit for each in parts_of_union(self.table.name))
        words = f":{_words_name(self.words)}" if self.words else ""
        return f"{_SHORT.get(self.kind, self.kind)}:{self.at_most}{words}"

    def to_json(self) -> dict[str, Any]:
        """The edit as JSON values, its table whole."""
        found: dict[str, Any] = {"kind": self.kind, "at_most": self.at_most}
        if self.table is not None:
            entries = {word: list(self.table.entries[word]) for word in sorted(self.table.entries)}
            found |= {"table": self.table.name, "substitutes": entries}
        return found | ({"words": list(self.words)} if self.words else {})


@dataclass(frozen=True)
class Threat:
    """Edits of different kinds with their budgets, and `total`, the budget of all together (None: no such limit).

    Two threats are equal, and have the same `hash`, when their edits and budgets are; names of tables do not count.
    """

    edits: tuple[Edit, ...]
    total: int | None = None

    version: ClassVar[int] = _VERSION

    def __post_init__(self) -> None:
        kinds = [edit.kind for edit in self.edits]
        if len(set(kinds)) != len(kinds) or not kinds:
            raise LexiconError(expected="edits of different kinds, at least one", got=str(kinds), where="a threat")
        if self.total is not None and (type(self.total) is not int or not 0 <= self.total <= MOST):
            raise LexiconError(expected="a total budget from 0 on", got=repr(self.total), where="Threat.within")
        object.__setattr__(self, "edits", tuple(sorted(self.edits, key=lambda edit: KINDS.index(edit.kind))))

    @staticmethod
    def substitutions(
        table: SubstitutionTable | str, *, at_most: int | None = None, data_home: Path | None = None
    ) -> Threat:
        """Words replaced as a table, or the table of that name, allows; any number of words by default."""
        if isinstance(table, str):
            from sgbt.embeddings import load_embeddings
            from sgbt.threats.named import table_named

            found = table_named(table, lambda: load_embeddings("glove", data_home=data_home), data_home=data_home)
            table = found if found is not None else SubstitutionTable({}, "none")
        return Threat((Edit("substitutions", at_most, table),))

    @staticmethod
    def typos(edits: int = 1) -> Threat:
        """At most so many characters inserted, deleted, replaced or swapped with their neighbour.

        Any character may be put anywhere, spaces and punctuation too, so words split and join.
        """
        return Threat((Edit("typos", edits),))

    @staticmethod
    def deletions(words: str | Iterable[str] = "stop words", *, at_most: int) -> Threat:
        """At most so many words left out: stop words, any words, or those of a list."""
        return Threat((Edit("deletions", at_most, words=_named_words(words)),))

    @staticmethod
    def duplications(*, at_most: int) -> Threat:
        """At most so many words written twice in a row."""
        return Threat((Edit("duplications", at_most),))

    @staticmethod
    def insertions(words: str | Iterable[str], *, at_most: int) -> Threat:
        """At most so many words of a list put between words of the text, or before or behind all."""
        named = _named_words(words)
        if named == (ANY,):
            raise LexiconError(
                expected="a list of words", got="any word", where="Threat.insertions", remedy="list the words"
            )
        return Threat((Edit("insertions", at_most, words=named),))

    @staticmethod
    def adjacent_swaps(*, at_most: int) -> Threat:
        """At most so many pairs of neighbouring words in the other order."""
        return Threat((Edit("adjacent_swaps", at_most),))

    @staticmethod
    def edit(kind: str, *, at_most: int, words: Iterable[str] = ()) -> Threat:
        """At most so many edits of a kind by its name, such as one that another package registered (`edit_kinds`)."""
        return Threat((Edit(kind, at_most, words=tuple(words)),))

    def __or__(self, other: Threat) -> Threat:
        """What either allows, and both together; budgets of one kind do not add up, the larger one counts."""
        ours, theirs = ({edit.kind: edit for edit in each.edits} for each in (self, other))
        kinds = dict.fromkeys([*ours, *theirs])
        merged = [ours[k].joined(theirs[k]) if k in ours and k in theirs else ours.get(k) or theirs[k] for k in kinds]
        totals = (self.total, other.total)
        return Threat(tuple(merged), None if None in totals else sum(totals))  # type: ignore[arg-type]

    def within(self, *, total: int) -> Threat:
        """The same edits, at most `total` of all kinds together."""
        return replace(self, total=total)

    def of_kind(self, kind: str) -> Edit | None:
        """The edit of that kind, if there is one."""
        return next((edit for edit in self.edits if edit.kind == kind), None)

    @property
    def only_substitutions(self) -> bool:
        """Whether words are replaced and nothing else, so that every text keeps its number of words."""
        return len(self.edits) == 1 and self.edits[0].kind == "substitutions"

    @property
    def without_substitutions(self) -> Threat | None:
        """The other edits, within the same total; None where there are none."""
        others = tuple(edit for edit in self.edits if edit.kind != "substitutions")
        return Threat(others, self.total) if others else None

    @property
    def name(self) -> str:
        """As the command line writes it: `parse_threat` reads it back, given a way to find tables by their names."""
        parts = [edit.name for edit in self.edits] + ([f"{WITHIN}:{self.total}"] if self.total is not None else [])
        return " + ".join(parts)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the edits and budgets, 64 hexadecimal digits: what certificates name."""
        described = [
            [edit.kind, edit.at_most, edit.table.hash if edit.table is not None else None, list(edit.words)]
            for edit in self.edits
        ]
        content = json.dumps([_FORMAT, _VERSION, described, self.total], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Threat) and self.hash == other.hash

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Threat({self.name!r}, hash {self.hash[:12]})"

    def to_json(self) -> str:
        """The threat with its tables as one JSON document; the same threat gives the same text."""
        edits = [edit.to_json() for edit in self.edits]
        document = {"format": _FORMAT, "version": _VERSION, "hash": self.hash, "edits": edits, "total": self.total}
        return json.dumps(document, ensure_ascii=False)

    @staticmethod
    def from_json(content: str) -> Threat:
        """What `to_json` wrote, checked against its hash."""
        from sgbt.core.documents import json_object

        document = json_object(content, kind=LexiconError, where="a threat", expected="a threat that sgbt wrote")
        edits = document.get("edits")
        if document.get("format") != _FORMAT or document.get("version") != _VERSION or not isinstance(edits, list):
            raise LexiconError(expected=f"a threat of version {_VERSION}", got="another document", where="a threat")
        threat = Threat(tuple(_edit_of(each) for each in edits), document.get("total"))
        if threat.hash != document.get("hash"):
            raise LexiconError(expected="the threat it was written with", got="another", where="a threat")
        return threat


def joined(threats: Iterable[Threat]) -> Threat:
    """All of them by `|`."""
    return reduce(Threat.__or__, threats)


def _edit_of(fields: object) -> Edit:
    if not isinstance(fields, Mapping) or not isinstance(fields.get("words", []), list):
        raise LexiconError(expected="edits as JSON objects", got=repr(fields)[:60], where="a threat")
    entries, table = fields.get("substitutes"), None
    if isinstance(entries, Mapping):
        table = SubstitutionTable({word: tuple(found) for word, found in entries.items()}, str(fields.get("table")))
    return Edit(str(fields.get("kind")), fields.get("at_most"), table, tuple(fields.get("words", ())))


def _named_words(words: str | Iterable[str]) -> tuple[str, ...]:
    if not isinstance(words, str):
        return tuple(words)
    known: dict[str, tuple[str, ...]] = {ANY: (ANY,), "stop words": STOP_WORDS, STOP: STOP_WORDS}
    if words not in known:
        raise LexiconError(expected='"stop words", "any" or a list of words', got=repr(words), where="a threat")
    return known[words]


def _words_name(words: tuple[str, ...]) -> str:
    """Words with commas between them, "any" or "stop"; the word "stop" alone is quoted."""
    if words == (ANY,):
        return ANY
    if set(words) == set(STOP_WORDS):
        return STOP
    return ",".join(quoted(word, marks=MARKS + ",", reserved=(ANY, STOP)) for word in words)


def _checked_words(words: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """Sorted, each a single word in lower case; the one word "any" of deletions stands for all words."""
    if not words:
        raise LexiconError(expected="at least one word", got="an empty list", where=f"the {kind}")
    if words == (ANY,) and kind == "deletions":
        return words
    is_word = Tokenizer().is_word
    for word in words:
        if not isinstance(word, str) or not is_word(word) or not keeping_rules({word: ()}):
            raise LexiconError(expected="single words in lower case", got=repr(word), where=f"the {kind}")
    return tuple(sorted(set(words)))
