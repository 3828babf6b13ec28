"""WordNet synonyms as substitutes, as PWWS (Ren et al. 2019) uses them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer
from sgbt.resources import get
from sgbt.threats.table import SubstitutionTable, keeping_rules
from sgbt.threats.table_json import kept_table
from sgbt.threats.wordnet_database import PARTS_OF_SPEECH, Description, WordNet, content_of, read_wordnet

_ALGORITHM = 1
"""The version of how synonyms become a table: another one is kept under another name."""


def load_wordnet(*, data_home: Path | None = None) -> WordNet:
    """WordNet 3.0, found through `sgbt.resources`."""
    return read_wordnet(get("wordnet", data_home=data_home).paths[0])


def wordnet_synonyms(word: str, pos: str, *, wordnet: WordNet | None = None) -> tuple[str, ...]:
    """The synonyms of `word` as a noun ("n"), verb ("v"), adjective ("a") or adverb ("r"), best sense first.

    Only single tokens in lower case that are not another form of the word itself.
    """
    if pos not in PARTS_OF_SPEECH:
        raise LexiconError(expected=f"one of {', '.join(PARTS_OF_SPEECH)}", got=repr(pos), where="pos")
    is_word = Tokenizer().is_word
    found = (wordnet or load_wordnet()).synonyms(word, pos)
    return tuple(synonym for synonym in found if "_" not in synonym and is_word(synonym))


def wordnet_table(words: Iterable[str] | None, *, data_home: Path | None) -> SubstitutionTable:
    """The synonyms of every word over all parts of speech it has, best sense first.

    The table of all words is kept in the user's cache folder, under what the files of the database have in them.
    """
    if words is None:
        folder = get("wordnet", data_home=data_home).paths[0]
        path = f"wordnet/{_ALGORITHM}-{content_of(folder)}.json"
        return kept_table(path, lambda: _synonyms(read_wordnet(folder), None))
    return _synonyms(load_wordnet(data_home=data_home), words)


def _synonyms(database: WordNet, words: Iterable[str] | None) -> SubstitutionTable:
    entries = {}
    for word in dict.fromkeys(database.lemmas() if words is None else words):
        if "_" in word:
            continue  # WordNet's way to write a space
        ranked = [pair for pos in PARTS_OF_SPEECH for pair in database.ranked_synonyms(word, pos, single_words=True)]
        if ranked:
            best_first = sorted(ranked, key=lambda pair: pair[0])
            entries[word] = tuple(lemma for _, lemma in best_first)
    return SubstitutionTable(keeping_rules(entries), "WordNet 3.0 synonyms")


Groups = dict[tuple[str, Description], frozenset[str]]


def hypernym_table(words: Iterable[str] | None, *, largest: int, data_home: Path | None) -> SubstitutionTable:
    """For every word, the words that share the description of one of its senses, best sense first.

    Of a group of more than `largest` words only those of the same sense count: "person" has hundreds of hyponyms that
    mean nothing alike. A word's own opposites are left out.
    """
    if largest < 2:
        raise LexiconError(expected="groups of at least 2 words", got=str(largest), where="largest")
    database = load_wordnet(data_home=data_home)
    groups, opposites = _groups(database), _opposites(database)
    entries = {}
    for word in dict.fromkeys(database.lemmas() if words is None else words):
        if "_" not in word:  # WordNet's way to write a space
            entries[word] = _sisters(word, database, groups, opposites, largest)
    name = f"WordNet 3.0 sister terms (same hypernyms, groups of at most {largest} words)"
    return SubstitutionTable(keeping_rules(entries), name)


def _sisters(
    word: str, database: WordNet, groups: Groups, opposites: dict[str, set[str]], largest: int
) -> tuple[str, ...]:
    ranked: dict[str, int] = {}
    own = {base for pos in PARTS_OF_SPEECH for base in database.bases(word, pos)}
    for pos in database.parts_of_speech(word):
        for base in database.bases(word, pos):
            for rank, sense in enumerate(database.senses[pos][base]):
                group = groups[pos, database.descriptions[pos][sense]]
                for other in group if len(group) <= largest else database.members[pos][sense]:
                    if other not in own and other not in opposites[base] and "_" not in other:
                        ranked[other] = min(rank, ranked.get(other, rank))
    return tuple(sorted(ranked, key=lambda other: (ranked[other], other)))


def _groups(database: WordNet) -> Groups:
    """The single words of every description."""
    found: dict[tuple[str, Description], set[str]] = defaultdict(set)
    for pos in PARTS_OF_SPEECH:
        for sense, description in database.descriptions[pos].items():
            found[pos, description].update(lemma for lemma in database.members[pos][sense] if "_" not in lemma)
    return {key: frozenset(group) for key, group in found.items()}


def _opposites(database: WordNet) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for pairs in database.opposites.values():
        for one, other in pairs:
            found[one].add(other)
            found[other].add(one)
    return found
