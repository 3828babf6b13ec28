"""Synonym clusters: which words a model or an encoder distinguishes, and which are one word to it.

A word is ambiguous if its substitutes lie in several clusters; one text has as many versions as the product of the
numbers of clusters at its words. Clusters are chosen to make, in bits per training text, the sum of three least:

    ambiguity      sum over words w of count(w) log2 (number of clusters that w can become)
    distinction    times the bits about which word was written that are lost when words become clusters
    relevance      times the bits about the label that are lost (where labels are given)

Rare words are cheap to put where they do no harm; frequent words are kept apart where one replaces the other seldom.
The sum is made smaller by moving one word at a time to a neighbour's cluster and by merging clusters, until neither
helps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbt.threats.labelled_communities import codes_by_occurrence
from sgbt.threats.table import SubstitutionTable
from sgbt.threats.vocabulary import UNKNOWN, Vocabulary

ROUNDS, SWEEPS, FEW = 60, 6, 20
"""Rounds of moves and merges; sweeps of moves in each; so few moves in a sweep that another is not worth while."""

Counts = Sequence[int]
"""How often a word occurs in texts of each label."""


def synonym_clusters(
    entries: Mapping[str, tuple[str, ...]], counts: Mapping[str, Counts], *, distinction: float, relevance: float
) -> dict[str, str]:
    """For every word of a table, given by what may replace each word, the most frequent word of its cluster."""
    labels = max(map(len, counts.values()), default=1)
    listed = set(entries).union(*entries.values())
    known = {word: list(counts.get(word, (0,) * labels)) for word in listed}
    words = sorted(listed, key=lambda word: (-sum(known[word]), word))
    search = _Clusters(entries, words, known, distinction, relevance)
    for _ in range(ROUNDS):
        moved = FEW
        for _ in range(SWEEPS):
            moved = search.move_words()
            if moved < FEW:
                break
        if not search.merge() and moved < FEW:
            break
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(search.code[word], word)
    return {word: first[search.code[word]] for word in words}


def cluster_codes(
    vocabulary: Vocabulary, table: SubstitutionTable, by_label: NDArray[Any], *, distinction: float, relevance: float
) -> NDArray[np.int64]:
    """The code of every id by such clusters; `by_label` [ids, classes] is how often train has each word."""
    words = vocabulary.words
    rows = {word: tuple(map(int, row)) for word, row in zip(words, by_label[UNKNOWN + 1 :], strict=True)}
    entries = {word: tuple(other for other in table.substitutes(word) if other in rows) for word in words}
    entries = {word: others for word, others in entries.items() if others}
    found = synonym_clusters(entries, rows, distinction=distinction, relevance=relevance) if entries else {}
    community = np.arange(len(vocabulary))
    community[UNKNOWN + 1 :] = [vocabulary.id_of(found.get(word, word)) for word in words]
    return codes_by_occurrence(community, by_label.sum(axis=1))


class _Clusters:
    """An assignment, with what is needed to compute at once what a change of it would do."""

    def __init__(
        self,
        entries: Mapping[str, tuple[str, ...]],
        words: list[str],
        counts: Mapping[str, list[int]],
        distinction: float,
        relevance: float,
    ) -> None:
        self.entries, self.words, self.counts = entries, words, counts
        self.distinction, self.relevance = distinction, relevance
        self.often = {word: sum(counts[word]) + 1 for word in words}
        self.heads: dict[str, list[str]] = {word: [word] if word in entries else [] for word in words}
        for word, substitutes in entries.items():
            for other in substitutes:
                self.heads[other].append(word)
        self.code = {word: word for word in words}
        self._count()

    def _count(self) -> None:
        """For every word that can be replaced, how many of its choices have each code; and the counts of every code."""
        self.reach: dict[str, dict[str, int]] = {}
        for word, substitutes in self.entries.items():
            reach = self.reach[word] = defaultdict(int)
            for each in (word, *substitutes):
                reach[self.code[each]] += 1
        self.total: dict[str, list[int]] = {}
        for word in self.words:
            code = self.code[word]
            self.total[code] = _plus(self.total[code], self.counts[word]) if code in self.total else self.counts[word]

    def _kept(self, counts: Counts) -> float:
        """Bits that a cluster with these counts keeps: large where it has few words, or words of one label."""
        whole = _n_log_n(sum(counts))
        return self.relevance * (sum(map(_n_log_n, counts)) - whole) - self.distinction * whole

    def move_words(self) -> int:
        """Move each word to the neighbour's cluster where the sum becomes least; how many moved."""
        moved = 0
        for word in self.words:
            old, own = self.code[word], self.counts[word]
            others = {self.code[each] for each in (*self.entries.get(word, ()), *self.heads[word])} - {old}
            if not others:
                continue
            reaches = [(self.often[head], self.reach[head]) for head in self.heads[word]]
            without = _minus(self.total[old], own)
            leaving = self._kept(without) - self._kept(self.total[old])
            best, chosen = -1e-9, None
            for new in sorted(others):
                change = -leaving - self._kept(_plus(self.total[new], own)) + self._kept(self.total[new])
                for often, reach in reaches:
                    after = len(reach) - (reach[old] == 1) + (new not in reach)
                    if after != len(reach):
                        change += often * (math.log2(after) - math.log2(len(reach)))
                if change < best:
                    best, chosen = change, new
            if chosen is not None:
                self._move(word, old, chosen)
                moved += 1
        return moved

    def _move(self, word: str, old: str, new: str) -> None:
        self.code[word] = new
        self.total[old] = _minus(self.total[old], self.counts[word])
        self.total[new] = _plus(self.total[new], self.counts[word])
        for head in self.heads[word]:
            reach = self.reach[head]
            reach[new] += 1
            reach[old] -= 1
            if not reach[old]:
                del reach[old]

    def merge(self) -> int:
        """Merge pairs of clusters that are better together, the best first, each cluster once; how many pairs."""
        gains: dict[tuple[str, str], float] = defaultdict(float)
        for word, reach in self.reach.items():
            if len(reach) > 1:
                codes = sorted(reach)
                gain = self.often[word] * (math.log2(len(codes)) - math.log2(len(codes) - 1))
                for place, one in enumerate(codes):
                    for other in codes[place + 1 :]:
                        gains[one, other] += gain
        worthy = []
        for (one, other), gain in gains.items():
            first, second = self.total[one], self.total[other]
            net = gain + self._kept(_plus(first, second)) - self._kept(first) - self._kept(second)
            if net > 0:
                worthy.append((-net, one, other))
        renamed: dict[str, str] = {}
        used: set[str] = set()
        for _, one, other in sorted(worthy):
            if one not in used and other not in used:
                used |= {one, other}
                renamed[other] = one
        if renamed:
            self.code = {word: renamed.get(code, code) for word, code in self.code.items()}
            self._count()
        return len(renamed)


def _n_log_n(count: float) -> float:
    return count * math.log2(count) if count > 0 else 0.0


def _plus(one: Counts, other: Counts) -> list[int]:
    return [a + b for a, b in zip(one, other, strict=True)]


def _minus(one: Counts, other: Counts) -> list[int]:
    return [a - b for a, b in zip(one, other, strict=True)]
