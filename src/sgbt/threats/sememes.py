"""Words that mean the same by their sememes, the smallest units of meaning (Zang et al. 2020).

The dictionary is a stand-in for HowNet: senses of WordNet 3.0 with the sememes that BabelSememe gives them, and, on
demand, Chinese words of HowNet that a bilingual dictionary translates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from sgbt.core.documents import json_object
from sgbt.core.errors import LexiconError
from sgbt.core.unpacking import open_gzip
from sgbt.resources import get
from sgbt.threats.table import SubstitutionTable, keeping_rules, not_words

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
