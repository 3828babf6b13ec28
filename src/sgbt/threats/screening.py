"""Screening: pairs of a substitution table that are unfit to be shown as substitutes, with the reason of each.

Vectors made by counts put together what is used alike, which is not what means the same. A pair is left out where

- either word is a function word, which a sentence cannot exchange for another;
- the substitute is on a public list of offensive words (LDNOOBW), and the word is not;
- WordNet knows both and they have no part of speech in common;
- WordNet lists forms of one as antonyms of forms of the other;
- WordNet has them as synonyms, but in no sense that is among the four most usual of both ("problem" is in the eighth
  of "job");
- the sentiment lexicon VADER has one as positive and the other as negative.

A screened table allows less: certificates against it say less than those against the whole one, and its name says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from sgbt.core.errors import LexiconError
from sgbt.resources import get
from sgbt.threats.table import SubstitutionTable
from sgbt.threats.wordnet import load_wordnet
from sgbt.threats.wordnet_database import WordNet

NAME = ", screened"
USUAL_SENSES = 4
"""Of a word in a part of speech: two words whose common senses are later ones are hardly synonyms."""
_CLOSED = """
a about above after against all am among an and any are as at be because been before behind being below beneath beside
besides between beyond both but by can could did do does doing down during each either ever every few for from had has
have having he her here hers herself him himself his how i if in inside into is it its itself may me might mine more
most much must my myself n't neither never no nobody none nor not nothing of off on once one only onto or other others
ought our ours ourselves out outside over own per same shall she should since so some such than that the their theirs
them themselves then there these they this those though through throughout till to toward towards under until unto up
upon us very was we were what whatever when where whether which while who whom whose why will with within without would
yet you your yours yourself yourselves 's 'm 'd 're 've 'll
"""
FUNCTION_WORDS = frozenset(_CLOSED.split())
"""Words of closed classes: pronouns, determiners, prepositions, conjunctions, auxiliaries and negations."""


@dataclass(frozen=True, eq=False)
class Screening:
    """What is known of words; `sentiment` is positive, negative or missing."""

    wordnet: WordNet
    offensive: frozenset[str]
    sentiment: dict[str, float]

    @staticmethod
    def read(*, data_home: Path | None = None) -> Screening:
        """The lists, each from its resource."""
        offensive = get("offensive_words", data_home=data_home).paths[0]
        sentiment = get("vader", data_home=data_home).paths[0]
        try:
            words = frozenset(str(word) for word in json.loads(offensive.read_text(encoding="utf-8")))
            rows = [line.split("\t") for line in sentiment.read_text(encoding="utf-8").splitlines() if line.strip()]
            signs = {row[0]: float(row[1]) for row in rows}
        except (ValueError, IndexError, TypeError) as problem:
            where = f"{offensive} or {sentiment}"
            raise LexiconError(expected="lists of words", got="another file", where=where) from problem
        return Screening(load_wordnet(data_home=data_home), words, signs)

    def table(self, table: SubstitutionTable) -> tuple[SubstitutionTable, Counter[str]]:
        """The pairs that are fit to be shown, and how many were left out for which reason."""
        entries: dict[str, tuple[str, ...]] = {}
        left: Counter[str] = Counter()
        for word, substitutes in table.entries.items():
            reasons = [self.reason(word, other) for other in substitutes]
            left.update(reason for reason in reasons if reason)
            if kept := tuple(other for other, reason in zip(substitutes, reasons, strict=True) if not reason):
                entries[word] = kept
        return SubstitutionTable(entries, table.name + NAME), left

    def reason(self, word: str, other: str) -> str:
        """Why `other` is unfit in the place of `word`; empty if nothing says so."""
        return next(self._reasons(word, other), "")

    def _reasons(self, word: str, other: str) -> Iterator[str]:
        if word in FUNCTION_WORDS or other in FUNCTION_WORDS:
            yield "function word"
        if other in self.offensive and word not in self.offensive:
            yield "offensive"
        parts = [frozenset(self.wordnet.parts_of_speech(each)) for each in (word, other)]
        if all(parts) and parts[0].isdisjoint(parts[1]):
            yield "part of speech"
        common = sorted(parts[0] & parts[1])
        if any(self._opposed(word, other, pos) for pos in common):
            yield "antonyms"
        ranks = [max(self._rank(word, other, pos), self._rank(other, word, pos)) for pos in common]
        if (found := [rank for rank in ranks if rank >= 0]) and min(found) >= USUAL_SENSES:
            yield "rare sense"
        if self.sentiment.get(word, 0) * self.sentiment.get(other, 0) < 0:
            yield "sentiment"

    def _opposed(self, word: str, other: str, pos: str) -> bool:
        return any(
            (a, b) in self._opposites[pos] or (b, a) in self._opposites[pos]
            for a in self.wordnet.bases(word, pos)
            for b in self.wordnet.bases(other, pos)
        )

    @cached_property
    def _opposites(self) -> dict[str, frozenset[tuple[str, str]]]:
        return {pos: frozenset(pairs) for pos, pairs in self.wordnet.opposites.items()}

    def _rank(self, word: str, other: str, pos: str) -> int:
        """The most usual sense of `word` that has the other too; -1 where none has."""
        senses, members = self.wordnet.senses[pos], self.wordnet.members[pos]
        others = frozenset(self.wordnet.bases(other, pos))
        ranks = (
            rank
            for base in self.wordnet.bases(word, pos)
            for rank, sense in enumerate(senses.get(base, ()))
            if not others.isdisjoint(members[sense])
        )
        return min(ranks, default=-1)


@cache
def screening(data_home: Path | None) -> Screening:
    """The lists, read once."""
    return Screening.read(data_home=data_home)
