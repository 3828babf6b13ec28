"""WordNet's database files as a value: senses, synonyms, antonyms and base forms.

Only a small part of the database is needed here, all at once and fast, so its files are read directly (the format is
wndb(5WN)). That takes about a second; NLTK's reader, against which this one is tested, looks up one sense at a time and
refuses folders that are not on its global search path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

from sgbt.core.errors import LexiconError

PARTS_OF_SPEECH: Mapping[str, str] = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
"""WordNet's letters and the file names they stand for; a satellite adjective is an adjective."""

_ENDINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "n": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "v": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}
"""The endings that WordNet's morphological processing detaches (morphy(7WN)) and what it puts in their place."""
_ANY_ENDING: Mapping[str, tuple[str, ...]] = {
    pos: tuple(old for old, _ in endings) for pos, endings in _ENDINGS.items()
}

Description = tuple[str, frozenset[int]]
"""What WordNet says a sense is: the lexicographer's file, and the senses directly above it (`_ABOVE`); where there is
none above, the sense itself."""

_ABOVE: Mapping[str, str] = {"n": "@", "v": "@", "a": "&", "r": "\\"}
"""The pointer to what stands above a sense: hypernym, head of the cluster, adjective that an adverb is derived from."""


@dataclass(frozen=True, slots=True, eq=False)
class WordNet:
    """The senses of every word, each a set of synonyms; and which words are opposites.

    `senses[pos][lemma]` lists sense numbers, most frequent sense first; `members[pos][sense]` lists the lemmas that
    share it; `opposites[pos]` lists pairs of lemmas; `descriptions[pos][sense]` says what a sense is. Lemmas are as
    WordNet writes them, in lower case, with an underscore for a space.
    """

    senses: Mapping[str, Mapping[str, tuple[int, ...]]]
    members: Mapping[str, Mapping[int, tuple[str, ...]]]
    opposites: Mapping[str, tuple[tuple[str, str], ...]]
    irregular: Mapping[str, Mapping[str, tuple[str, ...]]]
    descriptions: Mapping[str, Mapping[int, Description]] = field(default_factory=dict)
    _bases: dict[str, dict[str, tuple[str, ...]]] = field(
        default_factory=lambda: {pos: {} for pos in PARTS_OF_SPEECH}, init=False, repr=False
    )

    def bases(self, word: str, pos: str) -> tuple[str, ...]:
        """The lemmas that `word` is a form of: itself if listed, and what is left without its ending."""
        found = self._bases[pos].get(word)
        if found is None:
            found = self._bases[pos][word] = self._find_bases(word, pos)
        return found

    def _find_bases(self, word: str, pos: str) -> tuple[str, ...]:
        known = self.senses[pos]
        if word not in self.irregular[pos] and not word.endswith(_ANY_ENDING[pos]):
            return (word,) if word in known else ()
        if word in self.irregular[pos]:
            return _distinct(form for form in (word, *self.irregular[pos][word]) if form in known)
        forms = self._without_endings((word,), pos)
        found = _distinct(form for form in (word, *forms) if form in known)
        while not found and forms:
            forms = self._without_endings(forms, pos)
            found = _distinct(form for form in forms if form in known)
        return found

    def synonyms(self, word: str, pos: str) -> tuple[str, ...]:
        """All lemmas that share a sense of this part of speech with `word`, except its own lemmas; best sense first."""
        return tuple(lemma for _, lemma in self.ranked_synonyms(word, pos))

    def ranked_synonyms(self, word: str, pos: str, *, single_words: bool = False) -> list[tuple[int, str]]:
        """Like `synonyms`, each with the rank of the sense it shares: 0 is the word's most frequent sense.

        With `single_words`, lemmas of several words are left out, and their base forms never looked for.
        """
        bases = self.bases(word, pos)
        own, members = frozenset(bases), self.members[pos]
        found: dict[str, int] = {}
        for base in bases:
            for rank, sense in enumerate(self.senses[pos][base]):
                for lemma in members[sense]:
                    if lemma in own or lemma == word or (single_words and "_" in lemma):
                        continue
                    if rank < found.get(lemma, rank + 1) and own.isdisjoint(self.bases(lemma, pos)):
                        found[lemma] = rank
        return sorted(((rank, lemma) for lemma, rank in found.items()), key=itemgetter(0)) if found else []

    def parts_of_speech(self, word: str) -> tuple[str, ...]:
        """The parts of speech in which WordNet knows `word` or its base form."""
        return tuple(pos for pos in PARTS_OF_SPEECH if self.bases(word, pos))

    def lemmas(self) -> tuple[str, ...]:
        """All lemmas of all parts of speech, in alphabetical order."""
        return tuple(sorted({lemma for known in self.senses.values() for lemma in known}))

    def _without_endings(self, forms: tuple[str, ...], pos: str) -> tuple[str, ...]:
        return tuple(
            form[: len(form) - len(old)] + new for form in forms for old, new in _ENDINGS[pos] if form.endswith(old)
        )


@lru_cache(maxsize=2)
def read_wordnet(folder: Path) -> WordNet:
    """Read the database files of a folder (index.noun, data.noun, noun.exc and so on)."""
    try:
        parsed = {pos: _read_data(folder / f"data.{name}", _ABOVE[pos]) for pos, name in PARTS_OF_SPEECH.items()}
        return WordNet(
            senses={pos: _read_index(folder / f"index.{name}") for pos, name in PARTS_OF_SPEECH.items()},
            members={pos: found.members for pos, found in parsed.items()},
            opposites={pos: found.opposites for pos, found in parsed.items()},
            descriptions={pos: found.descriptions for pos, found in parsed.items()},
            irregular={pos: _read_exceptions(folder / f"{name}.exc") for pos, name in PARTS_OF_SPEECH.items()},
        )
    except (OSError, ValueError, IndexError, KeyError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else "a line it cannot read"
        raise LexiconError(
            expected="WordNet's database files", got=reason.lower(), where=str(folder), remedy="sgbt data get wordnet"
        ) from problem


def content_of(folder: Path) -> str:
    """What stands in the database files of a folder, as a short name: other content, another name."""
    digest = hashlib.sha256()
    try:
        for file in (
            name for pos in PARTS_OF_SPEECH.values() for name in (f"index.{pos}", f"data.{pos}", f"{pos}.exc")
        ):
            digest.update(hashlib.sha256((folder / file).read_bytes()).digest())
    except OSError:
        read_wordnet(folder)  # says what is wrong
        raise
    return digest.hexdigest()[:32]


def _lines(path: Path) -> Iterator[str]:
    """Lines after the licence, which is indented."""
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            if line[0] != " ":
                yield line


def _read_index(path: Path) -> dict[str, tuple[int, ...]]:
    senses = {}
    for line in _lines(path):
        fields = line.split()
        senses[fields[0]] = tuple(map(int, fields[-int(fields[2]) :]))
    return senses


@dataclass(frozen=True, slots=True)
class _Data:
    members: dict[int, tuple[str, ...]]
    opposites: tuple[tuple[str, str], ...]
    descriptions: dict[int, Description]


def _read_data(path: Path, up: str) -> _Data:
    """The lemmas of every sense, what stands above it, and the lemmas that an antonym pointer ("!") joins."""
    written: dict[int, list[str]] = {}
    descriptions: dict[int, Description] = {}
    pointers: list[tuple[int, int, int, int]] = []
    for line in _lines(path):
        fields = line.partition(" | ")[0].split()
        sense, count = int(fields[0]), int(fields[3], 16)
        written[sense] = [word.partition("(")[0].lower() for word in fields[4 : 4 + 2 * count : 2]]
        place = 5 + 2 * count
        after = place + 4 * int(fields[place - 1])
        kinds, others = fields[place:after:4], fields[place + 1 : after : 4]
        satellite = up != "&" or fields[2] == "s"  # the head of a cluster points to its satellites in the same way
        above = [int(other) for kind, other in zip(kinds, others, strict=True) if kind == up] if satellite else []
        descriptions[sense] = fields[1], frozenset(above or (sense,))
        if "!" in kinds:
            for kind, other, ends in zip(kinds, others, fields[place + 3 : after : 4], strict=True):
                if kind == "!":
                    pointers.append((sense, int(ends[:2], 16), int(other), int(ends[2:], 16)))
    opposites = {(written[sense][of - 1], written[other][to - 1]) for sense, of, other, to in pointers if of and to}
    members = {sense: _distinct(iter(words)) for sense, words in written.items()}
    return _Data(members, tuple(sorted(opposites)), descriptions)


def _read_exceptions(path: Path) -> dict[str, tuple[str, ...]]:
    irregular: dict[str, tuple[str, ...]] = {}
    for line in _lines(path):
        form, *bases = line.split()
        irregular[form] = (*irregular.get(form, ()), *bases)
    return irregular


def _distinct(words: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
