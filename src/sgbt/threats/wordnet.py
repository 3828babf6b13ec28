"""WordNet synonyms as substitutes, as PWWS (Ren et al. 2019) uses them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer
from sgbt.resources import get
from sgbt.threats.table import SubstitutionTable, keeping_rules
from sgbt.threats.wordnet_database import PARTS_OF_SPEECH, WordNet, read_wordnet


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
    """The synonyms of every word over all parts of speech it has, best sense first."""
    database = load_wordnet(data_home=data_home)
    entries = {}
    for word in dict.fromkeys(database.lemmas() if words is None else words):
        if "_" in word:
            continue  # WordNet's way to write a space
        ranked = [pair for pos in database.parts_of_speech(word) for pair in database.ranked_synonyms(word, pos)]
        if ranked:
            best_first = sorted(ranked, key=lambda pair: pair[0])
            entries[word] = tuple(lemma for _, lemma in best_first if "_" not in lemma)
    return SubstitutionTable(keeping_rules(entries), "WordNet 3.0 synonyms")
