"""Substitution tables as JSON: the project's own self-describing form, and plain {word: [substitute, ...]}."""

from __future__ import annotations

import gzip
import json
import warnings
import zlib
from pathlib import Path
from typing import Any

from sgbt.errors import LexiconError, SgbtWarning
from sgbt.files import atomic_write
from sgbt.lexicon.table import SubstitutionTable, first_problem, keeping_rules

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
            wanted=f"a substitution table of version {SubstitutionTable.version}",
            got=f"version {document.get('version')}",
            where=str(path),
            remedy="upgrade sgbt, or write the table with plain=True",
        )
    entries = _checked_lists(document.get("substitutes") if own else document, path)
    if drop_invalid:
        entries = _dropping(entries, path)
    elif problem := first_problem(entries):
        raise LexiconError(
            wanted="substitutes that are single words in lower case, none repeated, none the word itself",
            got=problem,
            where=str(path),
            remedy="mend that entry, or leave such entries out with drop_invalid=True",
        )
    stored = document.get("name") if own else None
    table = SubstitutionTable(entries, name or (stored if isinstance(stored, str) else path.name.split(".")[0]))
    if own and not drop_invalid and document.get("hash") != table.hash:
        raise LexiconError(
            wanted=f"a table with hash {str(document.get('hash'))[:12]}, as it says itself",
            got=f"{table.hash[:12]}",
            where=str(path),
            remedy="it was changed after it was written: fetch or write it again",
        )
    return table


def plain_entries(path: Path) -> dict[str, tuple[str, ...]]:
    """The lists of a plain file as they are, unchecked except for their types."""
    return _checked_lists(_parsed(path), path)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        document = json.loads(content, object_pairs_hook=lambda pairs: _each_once(pairs, path))
    except OSError as problem:
        if isinstance(problem, gzip.BadGzipFile):
            raise _damaged(path) from problem
        reason = (problem.strerror or str(problem)).lower()
        raise LexiconError(wanted="a JSON file of substitutes", got=reason, where=str(path)) from problem
    except (EOFError, zlib.error) as problem:
        raise _damaged(path) from problem
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as problem:
        got = "an empty file" if not content.strip() else f"text that is not JSON ({problem})"
        raise LexiconError(
            wanted='JSON such as {"film": ["movie"]}', got=got, where=str(path), remedy="check the file"
        ) from problem
    if not isinstance(document, dict):
        raise LexiconError(wanted='a JSON object such as {"film": ["movie"]}', got=_kind(document), where=str(path))
    return document


def _each_once(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    """A JSON object; one that has a key twice does not say which of its two values is meant."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise LexiconError(
                wanted="every key once", got=f"{key!r} twice", where=str(path), remedy="join the entries of that key"
            )
        found[key] = value
    return found


def _checked_lists(entries: object, path: Path) -> dict[str, tuple[str, ...]]:
    if not isinstance(entries, dict):
        raise LexiconError(wanted='"substitutes" as a JSON object', got=_kind(entries), where=str(path))
    for word, substitutes in entries.items():
        if not isinstance(substitutes, list) or not all(isinstance(substitute, str) for substitute in substitutes):
            raise LexiconError(
                wanted=f"a list of words for {word!r}",
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


def _damaged(path: Path) -> LexiconError:
    return LexiconError(
        wanted="a whole gzip file",
        got="one that is cut short or damaged",
        where=str(path),
        remedy="fetch it again",
    )
