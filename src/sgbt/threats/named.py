"""Substitution tables by the names that the command line and benchmark grids give them.

A name may carry options, `neighbours:nearest=8,distance=0.5,normalised=false`, and `+` joins names to a union.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from sgbt.core.documents import json_object
from sgbt.core.errors import LexiconError, did_you_mean
from sgbt.core.unpacking import open_gzip
from sgbt.embeddings import EmbeddingTable, load_embeddings
from sgbt.resources import UnavailableError, get
from sgbt.threats.table import SubstitutionTable, keeping_rules, not_words
from sgbt.threats.table_json import plain_entries

Read = Callable[[], EmbeddingTable]
Make = Callable[..., SubstitutionTable | None]
"""Makes a table from vectors, which are read if needed, the data home, and options."""


def _auto(read: Read, home: Path | None) -> SubstitutionTable:
    try:
        return SubstitutionTable.counter_fitted(data_home=home)
    except UnavailableError:
        return _counter_fit(read, home)


def _counter_fit(read: Read, home: Path | None, *, screened: bool = True, **more: Any) -> SubstitutionTable:
    found = SubstitutionTable.counter_fit(read(), data_home=home, **more)
    return found.screened(data_home=home) if screened else found


def default_table(*, data_home: Path | None = None) -> SubstitutionTable:
    """The table `auto`: counter-fitted neighbours, or, where those cannot be had, some made of GloVe vectors."""
    return _auto(lambda: load_embeddings("glove", data_home=data_home), data_home)


_MAKERS: dict[str, Make] = {
    "auto": _auto,
    "counter_fitted": lambda read, home, **more: SubstitutionTable.counter_fitted(data_home=home, **more),
    "counter_fit": _counter_fit,
    "neighbours": lambda read, home, **more: SubstitutionTable.embedding_neighbours(read(), **more),
    "wordnet": lambda read, home: SubstitutionTable.wordnet(data_home=home),
    "wordnet_hypernyms": lambda read, home, **more: SubstitutionTable.wordnet_hypernyms(data_home=home, **more),
    "sememes": lambda read, home, **more: SubstitutionTable.sememes(data_home=home, **more),
    "none": lambda read, home: None,
}
TABLES = tuple(_MAKERS)
COUNTS_ITSELF = "counts_itself"
"""With this option `nearest` counts the word as the nearest to itself, so that one substitute fewer is left."""
_NEAREST = 8

_OPTIONS: dict[str, dict[str, type]] = {
    "counter_fitted": {"nearest": int},
    "counter_fit": {"nearest": int, "distance": float, COUNTS_ITSELF: bool, "screened": bool},
    "neighbours": {"nearest": int, "distance": float, "normalised": bool, COUNTS_ITSELF: bool},
    "wordnet_hypernyms": {"largest": int},
    "sememes": {"translations": bool},
}
_TITLES = {
    r"counter-fitted \(Jia et al\. 2019\), nearest (\d+)": "counter_fitted:nearest={}",
    r"counter-fitted here \(.+, WordNet\), nearest (\d+) within ([\d.e-]+), screened": (
        "counter_fit:nearest={},distance={}"
    ),
    r"counter-fitted here \(.+, WordNet\), nearest (\d+) within ([\d.e-]+)": (
        "counter_fit:nearest={},distance={},screened=false"
    ),
    r"neighbours in .+ of raw vectors, nearest (\d+) within ([\d.e-]+)": (
        "neighbours:nearest={},distance={},normalised=false"
    ),
    r"neighbours in .+, nearest (\d+) within ([\d.e-]+)": "neighbours:nearest={},distance={}",
    r"WordNet 3\.0 synonyms": "wordnet",
    r"WordNet 3\.0 sister terms \(same hypernyms, groups of at most (\d+) words\)": "wordnet_hypernyms:largest={}",
    r"sememes \(stand-in for HowNet\)": "sememes",
    r"sememes \(stand-in for HowNet, with translations\)": "sememes:translations=true",
}
"""What tables call themselves, in rows and names of threats, and how that is written; vectors are those at hand."""


def _of_title(name: str) -> str:
    """The name by which a table is found that calls itself so; any other name as it is."""
    found = ((re.fullmatch(title, name.strip()), written) for title, written in _TITLES.items())
    return next((written.format(*match.groups()) for match, written in found if match), name)


def table_named(name: str, vectors: EmbeddingTable | Read, *, data_home: Path | None) -> SubstitutionTable | None:
    """The substitution table of that name; vectors that come as a function are read only if needed."""
    read = vectors if callable(vectors) else lambda: vectors
    if _is_file(name):
        return SubstitutionTable.from_json(Path(name))
    parts = check_table_name(name)
    found = [
        SubstitutionTable.from_json(Path(head)) if _is_file(head) else _MAKERS[head](read, data_home, **options)
        for head, options in parts
    ]
    tables = [table for table in found if table is not None]
    return reduce(or_, tables) if tables else None


def check_table_name(name: str) -> list[tuple[str, dict[str, Any]]]:
    """The names that a name joins, with the options of each; a misspelt one is refused before anything is read."""
    parts = [name] if _is_file(name) else _of_title(name).split("+")
    return [(part, {}) if _is_file(part) else _parsed(_of_title(part)) for part in parts]


def _is_file(name: str) -> bool:
    return name.endswith((".json", ".json.gz")) and ("+" not in name or Path(name).is_file())


def _parsed(part: str) -> tuple[str, dict[str, Any]]:
    head, _, written = part.strip().partition(":")
    if head not in _MAKERS:
        raise LexiconError(
            expected=f"one of {', '.join(TABLES)}, or a JSON file",
            got=repr(part),
            where="--substitutions",
            remedy=did_you_mean(head, TABLES),
        )
    options = dict(_option(head, each) for each in written.split(",")) if written else {}
    if options.pop(COUNTS_ITSELF, False):
        options["nearest"] = options.get("nearest", _NEAREST) - 1
    return head, options


def _option(head: str, written: str) -> tuple[str, Any]:
    name, _, value = written.strip().partition("=")
    known = _OPTIONS.get(head, {})
    if name not in known:
        raise LexiconError(
            expected=f"{head} with options among {', '.join(known)}" if known else f"{head} without options",
            got=repr(written),
            where="--substitutions",
            remedy=did_you_mean(name, known),
        )
    try:
        return name, {"true": True, "false": False}[value] if known[name] is bool else known[name](value)
    except (KeyError, ValueError):
        kind = {int: "a whole number", float: "a number", bool: "true or false"}[known[name]]
        raise LexiconError(expected=f"{kind} as {name}", got=repr(value), where=f"--substitutions {head}") from None


PUBLISHED_NEIGHBOURS = 8


def counter_fitted_table(*, nearest: int, data_home: Path | None) -> SubstitutionTable:
    """The first `nearest` of the published neighbours of every word that are one token here."""
    if not 1 <= nearest <= PUBLISHED_NEIGHBOURS:
        raise LexiconError(
            expected=f"1 to {PUBLISHED_NEIGHBOURS} neighbours, which is what the published list has",
            got=str(nearest),
            where="nearest",
        )
    published = plain_entries(get("counter_fitted", data_home=data_home).paths[0])
    shortened = {word: neighbours[:nearest] for word, neighbours in published.items()}
    return SubstitutionTable(keeping_rules(shortened), f"counter-fitted (Jia et al. 2019), nearest {nearest}")


Meaning = tuple[str, frozenset[str]]
"""A part of speech (empty where it is unknown) and a set of sememes."""


def sememe_table(words: Iterable[str] | None, *, translations: bool, data_home: Path | None) -> SubstitutionTable:
    """For every word, all words that share a meaning with it; those that share more meanings come first."""
    meanings = read_meanings(get("sememes", data_home=data_home).paths[0], translations=translations)
    wrong = not_words(meanings)
    sharing: dict[Meaning, list[str]] = defaultdict(list)
    for word in sorted(meanings):
        if word not in wrong:
            for meaning in meanings[word]:
                sharing[meaning].append(word)
    entries = {}
    for word in dict.fromkeys(meanings if words is None else words):
        shared: dict[str, int] = defaultdict(int)
        for meaning in meanings.get(word, ()):
            for other in sharing[meaning]:
                shared[other] += 1
        entries[word] = sorted(shared, key=lambda other: (-shared[other], other))
    name = "sememes (stand-in for HowNet" + (", with translations)" if translations else ")")
    return SubstitutionTable(keeping_rules(entries), name)


def read_meanings(path: Path, *, translations: bool) -> dict[str, frozenset[Meaning]]:
    """The meanings of every word of the dictionary."""
    try:
        with open_gzip(path, kind=LexiconError) as stream:
            return {word: meanings for word, meanings in _rows(stream, path, translations=translations) if meanings}
    except (OSError, LexiconError, ValueError, KeyError, TypeError) as problem:
        raise LexiconError(
            expected="gzipped JSON lines with word, wn and zh",
            got="a file that is cut short or different",
            where=str(path),
            remedy="fetch it again",
        ) from problem


def _rows(stream: Iterable[bytes], path: Path, *, translations: bool) -> Iterator[tuple[str, frozenset[Meaning]]]:
    for line in stream:
        row = json_object(line, kind=LexiconError, where=str(path))
        meanings = {(sense["pos"], frozenset(sense["sememes"])) for sense in row["wn"]}
        if translations:
            meanings |= {("", frozenset(sense["sememes"])) for sense in row["zh"]}
        yield row["word"], frozenset(meaning for meaning in meanings if meaning[1])
