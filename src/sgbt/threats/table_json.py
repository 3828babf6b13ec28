"""Substitution tables as JSON: the project's own self-describing form, and plain {word: [substitute, ...]}."""

from __future__ import annotations

import contextlib
import gzip
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sgbt.core.documents import MOST_BYTES, json_object, read_bounded
from sgbt.core.errors import LexiconError, SgbtError, SgbtWarning
from sgbt.core.files import atomic_write, user_cache
from sgbt.core.unpacking import MAGIC, unpacked
from sgbt.threats.table import SubstitutionTable, first_problem, keeping_rules

FORMAT = "sgbt-substitutions"


def write_table(table: SubstitutionTable, path: Path, *, plain: bool) -> None:
    """Write a table atomically; the same table always gives the same bytes."""
    entries = {word: list(table.entries[word]) for word in sorted(table.entries)}
    described = {"format": FORMAT, "version": SubstitutionTable.version, "name": table.name, "hash": table.hash}
    document: dict[str, Any] = entries if plain else {**described, "substitutes": entries}
    content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    with atomic_write(path) as stream:
        stream.write(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def read_table(path: Path, *, name: str | None = None, drop_invalid: bool = False) -> SubstitutionTable:
    """Read either form; the own form is checked against its hash."""
    document = _parsed(path)
    own = document.get("format") == FORMAT
    if own and document.get("version") != SubstitutionTable.version:
        raise LexiconError(
            expected=f"a substitution table of version {SubstitutionTable.version}",
            got=f"version {document.get('version')}",
            where=str(path),
            remedy="upgrade sgbt, or write the table with plain=True",
        )
    entries = _checked_lists(document.get("substitutes") if own else document, path)
    if drop_invalid:
        entries = _dropping(entries, path)
    elif problem := first_problem(entries):
        raise LexiconError(
            expected="substitutes that are single words in lower case, none repeated, none the word itself",
            got=problem,
            where=str(path),
            remedy="mend that entry, or leave such entries out with drop_invalid=True",
        )
    stored = document.get("name") if own else None
    table = SubstitutionTable(entries, name or (stored if isinstance(stored, str) else path.name.split(".")[0]))
    if own and not drop_invalid and document.get("hash") != table.hash:
        raise LexiconError(
            expected=f"a table with hash {str(document.get('hash'))[:12]}, as it says itself",
            got=f"{table.hash[:12]}",
            where=str(path),
            remedy="it was changed after it was written: fetch or write it again",
        )
    return table


def kept_table(name: str, make: Callable[[], SubstitutionTable]) -> SubstitutionTable:
    """A table from the user's cache folder; where it is not there, or damaged, it is made and kept.

    The name has to say everything that the table depends on.
    """
    path = user_cache() / name
    with contextlib.suppress(LexiconError):
        return read_table(path)
    table = make()
    with contextlib.suppress(SgbtError):
        write_table(table, path, plain=False)
    return table


def plain_entries(path: Path) -> dict[str, tuple[str, ...]]:
    """The lists of a plain file as they are, unchecked except for their types."""
    return _checked_lists(_parsed(path), path)


def _parsed(path: Path) -> dict[str, Any]:
    content = read_bounded(path, kind=LexiconError, expected="a JSON file of substitutes")
    if content.startswith(MAGIC):
        content = unpacked(content, kind=LexiconError, where=str(path), most=MOST_BYTES)
    expected = 'a JSON object such as {"film": ["movie"]}'
    return json_object(content, kind=LexiconError, where=str(path), expected=expected, remedy="check the file")


def _checked_lists(entries: object, path: Path) -> dict[str, tuple[str, ...]]:
    if not isinstance(entries, dict):
        raise LexiconError(expected='"substitutes" as a JSON object', got=_kind(entries), where=str(path))
    for word, substitutes in entries.items():
        if not isinstance(substitutes, list) or not all(isinstance(substitute, str) for substitute in substitutes):
            raise LexiconError(
                expected=f"a list of words for {word!r}",
                got=_kind(substitutes),
                where=str(path),
                remedy="mend that entry",
            )
    return {word: tuple(substitutes) for word, substitutes in entries.items() if substitutes}


def _dropping(entries: dict[str, tuple[str, ...]], path: Path) -> dict[str, tuple[str, ...]]:
    kept = keeping_rules(entries)
    dropped = sum(map(len, entries.values())) - sum(map(len, kept.values()))
    if dropped:
        warnings.warn(
            f"{dropped} of {sum(map(len, entries.values()))} substitutions in {path} were left out: they are not "
            "single words in lower case, come twice, or are the word itself",
            SgbtWarning,
            stacklevel=4,
        )
    return kept


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list with other things in it", str: "a string", type(None): "null"}
    return names.get(type(value), repr(value))
