"""SubstitutionTable: which words may stand in for which."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer
from sgbt.threats.statistics import TableDescription, TextStatistics, describe_table, describe_texts
from sgbt.threats.vocabulary import has_bytes

if TYPE_CHECKING:
    from sgbt.embeddings import EmbeddingTable
    from sgbt.threats.counter_fitting import CounterFitting
    from sgbt.threats.wordnet_database import WordNet


@dataclass(frozen=True, eq=False)
class SubstitutionTable:
    """A map from a word to the words that an adversary may put in its place, nearest first where that means something.

    Every word is one token in lower case (`Tokenizer.is_word`): a substituted text, tokenised afresh, has the same
    number of words, so what is proven about positions holds for the text. No word is its own substitute, none comes
    twice, and a word without substitutes is not listed.

    Substitution is one step and need not be symmetric: if b stands in for a, then a need not stand in for b.
    Two tables are equal, and have the same `hash`, when they allow the same substitutions; neither the name nor the
    order of substitutes counts.
    """

    entries: Mapping[str, tuple[str, ...]]
    name: str = "substitutions"

    version: ClassVar[int] = 1
    """The version of this definition, of `hash` and of the JSON form."""

    def __post_init__(self) -> None:
        entries = {word: tuple(substitutes) for word, substitutes in self.entries.items() if len(substitutes)}
        problem = first_problem(entries)
        if problem:
            raise LexiconError(
                expected="substitutes that are single words in lower case, none repeated, none the word itself",
                got=problem,
                where=self.name,
            )
        object.__setattr__(self, "entries", MappingProxyType(entries))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the allowed substitutions, 64 hexadecimal digits: what every certificate names."""
        digest = hashlib.sha256(f"sgbt substitutions {self.version}\n".encode())
        for word in sorted(self.entries):
            digest.update("\t".join([word, *sorted(self.entries[word])]).encode() + b"\n")
        return digest.hexdigest()

    def substitutes(self, word: str) -> tuple[str, ...]:
        """The words that may stand in for `word`; none when the table does not list it."""
        return self.entries.get(word, ())

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, word: object) -> bool:
        return word in self.entries

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SubstitutionTable) and self.hash == other.hash

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)

    def __repr__(self) -> str:
        return f"SubstitutionTable({self.name!r}, {len(self):,} words, hash {self.hash[:12]})"

    def __reduce__(self) -> tuple[type[SubstitutionTable], tuple[dict[str, tuple[str, ...]], str]]:
        return SubstitutionTable, (dict(self.entries), self.name)

    def __or__(self, other: SubstitutionTable) -> SubstitutionTable:
        """Union: a substitution that either table allows; this table's substitutes come first."""
        merged = {
            word: tuple(dict.fromkeys(self.substitutes(word) + other.substitutes(word)))
            for word in {**self.entries, **other.entries}
        }
        return SubstitutionTable(merged, f"{_grouped(self.name)} | {_grouped(other.name)}")

    def __and__(self, other: SubstitutionTable) -> SubstitutionTable:
        """Intersection: a substitution that both tables allow, in this table's order."""
        shared = {
            word: tuple(substitute for substitute in substitutes if substitute in set(other.substitutes(word)))
            for word, substitutes in self.entries.items()
            if word in other
        }
        return SubstitutionTable(shared, f"{_grouped(self.name)} & {_grouped(other.name)}")

    def restricted_to(self, words: Collection[str]) -> SubstitutionTable:
        """Only substitutions of one of `words` by another: what is left when no other word exists."""
        among = frozenset(words)
        kept = {
            word: tuple(substitute for substitute in substitutes if substitute in among)
            for word, substitutes in self.entries.items()
            if word in among
        }
        return SubstitutionTable(kept, f"{self.name} restricted")

    def without(self, words: Collection[str]) -> SubstitutionTable:
        """The same table, but `words` (stop words, say) are never replaced; they may still be substitutes."""
        fixed = frozenset(words)
        kept = {word: substitutes for word, substitutes in self.entries.items() if word not in fixed}
        return SubstitutionTable(kept, f"{self.name} without {len(fixed)} fixed words")

    def nearest(self, count: int) -> SubstitutionTable:
        """At most the first `count` substitutes of every word."""
        if count < 0:
            raise LexiconError(expected="a number of substitutes of at least 0", got=str(count))
        kept = {word: substitutes[:count] for word, substitutes in self.entries.items()}
        return SubstitutionTable(kept, f"{self.name}, nearest {count}")

    def require_read_by(self, tokenizer: Tokenizer) -> None:
        """Refuse a tokenizer with which substituting words would not be substituting in texts.

        A space must separate words (`Tokenizer.require_spaces_separate`), and every word of the table must be read as
        itself: else positions would shift. What was seen to hold is not looked at again.
        """
        if tokenizer == Tokenizer() or tokenizer in self._readers:
            return  # words that the default reads otherwise are refused when a table is made
        tokenizer.require_spaces_separate()
        for word in dict.fromkeys(each for pair in self.entries.items() for each in (pair[0], *pair[1])):
            if not tokenizer.is_word(word):
                raise LexiconError(
                    expected="a table whose words are single words for the model's tokenizer",
                    got=f"{word!r}, which it reads as {' '.join(tokenizer.words(word)) or 'nothing'!r}",
                    where=self.name,
                    remedy="mend the token pattern, or leave that word out of the table",
                )
        self._readers.add(tokenizer)

    @cached_property
    def _readers(self) -> set[Tokenizer]:
        """Tokenizers that read every word as itself."""
        return set()

    def describe(self) -> TableDescription:
        """Totals of the table, for a person to read."""
        return describe_table(self)

    def describe_texts(self, texts: Iterable[Collection[str]]) -> TextStatistics:
        """What the table does to texts, given as words: how many can be replaced, and how many texts that makes."""
        return describe_texts(self, texts)

    def to_json(self, path: str | Path, *, plain: bool = False) -> None:
        """Write the table with name, version and hash, or as a `plain` object of lists; gzipped if `path` ends .gz."""
        from sgbt.threats.table_json import write_table

        write_table(self, Path(path), plain=plain)

    @classmethod
    def from_json(cls, path: str | Path, *, name: str | None = None, drop_invalid: bool = False) -> SubstitutionTable:
        """Read a table that `to_json` wrote, or any JSON object {word: [substitute, ...]}, gzipped or not.

        An entry that breaks a rule of the table is an error that names it; with `drop_invalid` such entries are left
        out and a warning says how many.
        """
        from sgbt.threats.table_json import read_table

        return read_table(Path(path), name=name, drop_invalid=drop_invalid)

    @classmethod
    def counter_fitted(cls, *, nearest: int = 8, data_home: Path | None = None) -> SubstitutionTable:
        """The published list of Jia et al. 2019: neighbours in counter-fitted space, up to 8 a word.

        Words that are not one token here ("don't" is two) are left out, as heads and as substitutes.
        """
        from sgbt.threats.named import counter_fitted_table

        return counter_fitted_table(nearest=nearest, data_home=data_home)

    @classmethod
    def counter_fit(
        cls,
        vectors: EmbeddingTable,
        wordnet: WordNet | None = None,
        *,
        nearest: int = 8,
        distance: float = 0.5,
        settings: CounterFitting | None = None,
        data_home: Path | None = None,
    ) -> SubstitutionTable:
        """Neighbours in a space counter-fitted here, from `vectors` and WordNet's synonyms and antonyms.

        Not the list of Jia et al., which rests on other constraints: a default for machines that cannot reach it. The
        same input gives the same table, which is kept in the user's cache folder.
        """
        from sgbt.threats.counter_fitting import counter_fit_table

        return counter_fit_table(
            vectors, wordnet, nearest=nearest, distance=distance, settings=settings, data_home=data_home
        )

    def screened(self, *, data_home: Path | None = None) -> SubstitutionTable:
        """The pairs fit to be shown: no function words, offensive words or opposites (`sgbt.threats.screening`)."""
        from sgbt.threats.screening import screening

        return screening(data_home).table(self)[0]

    @classmethod
    def embedding_neighbours(
        cls, vectors: EmbeddingTable, *, nearest: int = 8, distance: float = 0.5, normalised: bool = True
    ) -> SubstitutionTable:
        """The `nearest` words within Euclidean `distance`, between vectors of length one if `normalised`. Exact."""
        from sgbt.threats.neighbours import embedding_neighbours_table

        return embedding_neighbours_table(vectors, nearest=nearest, distance=distance, normalised=normalised)

    @classmethod
    def wordnet(cls, words: Iterable[str] | None = None, *, data_home: Path | None = None) -> SubstitutionTable:
        """Synonyms in WordNet that share a part of speech with the word, as PWWS (Ren et al. 2019) uses them.

        Input: the words to list, usually a vocabulary's; by default all of WordNet's lemmas. Inflected words take the
        synonyms of their base form. Substitutes of more than one token are left out.
        """
        from sgbt.threats.wordnet import wordnet_table

        return wordnet_table(words, data_home=data_home)

    @classmethod
    def wordnet_hypernyms(
        cls, words: Iterable[str] | None = None, *, largest: int = 20, data_home: Path | None = None
    ) -> SubstitutionTable:
        """Words that WordNet describes alike: same part of speech, same lexicographer's file, same hypernyms.

        Made here from WordNet alone, for machines without the dictionary of `sememes`; another table, not a copy. Of a
        group of more than `largest` words, synonyms alone count.
        """
        from sgbt.threats.wordnet import hypernym_table

        return hypernym_table(words, largest=largest, data_home=data_home)

    @classmethod
    def sememes(
        cls, words: Iterable[str] | None = None, *, translations: bool = False, data_home: Path | None = None
    ) -> SubstitutionTable:
        """Words of the same part of speech with the same sememes in some sense, as in Zang et al. 2020.

        HowNet itself is not free to pass on; the dictionary used is a stand-in for it (the resource `sememes`).
        `translations` adds entries reached through Chinese, which are noisier and know no part of speech.
        """
        from sgbt.threats.named import sememe_table

        return sememe_table(words, translations=translations, data_home=data_home)


def first_problem(entries: Mapping[str, tuple[str, ...]]) -> str:
    """The first entry that breaks a rule of `SubstitutionTable`, in words; nothing if all keep them."""
    wrong = not_words(set(entries).union(*entries.values()))
    for word, substitutes in entries.items():
        if word in wrong:
            return f"the entry {word!r}, which is not one word in lower case"
        for substitute in substitutes:
            if substitute in wrong:
                return f"{word!r} -> {substitute!r}, which is not one word in lower case"
        if word in substitutes:
            return f"{word!r} as its own substitute"
        if len(set(substitutes)) != len(substitutes):
            return f"a substitute of {word!r} twice"
    return ""


def not_words(words: Iterable[str]) -> set[str]:
    """Those of `words` that the tokenizer would not read back as exactly themselves, or that have no bytes."""
    tokenizer = Tokenizer()
    listed = list(words)
    if tokenizer.words(" ".join(listed)) == tuple(listed) and all(map(has_bytes, listed)):
        return set()  # in one go: a space separates words
    return {word for word in listed if not tokenizer.is_word(word) or not has_bytes(word)}


def keeping_rules(entries: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """The part of `entries` that keeps the rules of `SubstitutionTable`."""
    found = {word: tuple(dict.fromkeys(substitutes)) for word, substitutes in entries.items()}
    wrong = not_words(set(found).union(*found.values()))
    return {
        word: tuple(substitute for substitute in substitutes if substitute not in wrong and substitute != word)
        for word, substitutes in found.items()
        if word not in wrong
    }


def _grouped(name: str) -> str:
    return f"({name})" if " | " in name or " & " in name else name
