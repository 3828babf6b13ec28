"""Lattice: everything that an adversary can make of one text, as a graph.

Nodes are gaps of the text, edges go forward and write at most one word. The contract, tested for every threat by
brute force over strings: the words along the paths from the first node to the last, within the budgets, are exactly
the texts that the threat allows, read by the tokenizer and the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from sgbt.core.errors import LexiconError
from sgbt.threats.edit_kinds import KINDS
from sgbt.threats.substitutions import Substitutions
from sgbt.threats.threat import Threat
from sgbt.threats.vocabulary import PADDING

NOTHING = -1
"""The number of choices of an edge that writes no word."""
KEPT = -1
"""The kind of an edge that is no edit."""
Ints = NDArray[np.int64]


class ChoiceSets:
    """Sets of word ids, each kept once under a number; many lattices share one collection."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}
        self._sets: list[tuple[int, ...]] = []

    def number_of(self, ids: frozenset[int] | set[int]) -> int:
        """The number of a set that is not empty."""
        return self.number_of_sorted(tuple(sorted(ids)))

    def number_of_sorted(self, key: tuple[int, ...]) -> int:
        """The same of ids that ascend, none of them twice."""
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._sets)
            self._sets.append(key)
        return found

    def __len__(self) -> int:
        return len(self._sets)

    def __getitem__(self, number: int) -> tuple[int, ...]:
        return self._sets[number]

    def flat(self, start: int = 0) -> tuple[Ints, Ints]:
        """All ids of the sets from `start` on, one set after another, and where each of them begins."""
        chosen = self._sets[start:]
        lengths = np.fromiter((len(each) for each in chosen), dtype=np.int64, count=len(chosen))
        ids = np.fromiter((number for each in chosen for number in each), dtype=np.int64, count=int(lengths.sum()))
        return ids, np.concatenate([[0], lengths.cumsum()[:-1]]).astype(np.int64) if len(chosen) else lengths


@dataclass(frozen=True, eq=False)
class Lattice:
    """What a threat makes of one text.

    Edge i goes from node `source[i]` to node `target[i]`, costs `cost[i]` of the budget of `KINDS[kind[i]]` (`KEPT`:
    nothing), and writes one word of the set `choices[i]` of `sets`, or `NOTHING`. Nodes are numbered so that edges go
    upwards, but for edges of insertions, which may come back to where they began. Node 0 is the first gap, the highest
    number the last one. `ids` are the text's own words. Edits of a kind that `limited` does not list are within their
    budget on every path.
    """

    ids: tuple[int, ...]
    source: Ints
    target: Ints
    kind: Ints
    cost: Ints
    choices: Ints
    stands_for: Ints
    """In the place of which of the text's own words an edge writes one, be it the same; -1 for every other edge. No
    path has two for one word: of what an edit writes for one word, the first that is the word itself stands for it."""
    nodes: int
    sets: ChoiceSets = field(repr=False)
    limited: tuple[tuple[int, int], ...]
    """Kinds with the budget that paths must keep, as (number of the kind, budget)."""
    total: int | None

    def __len__(self) -> int:
        return len(self.source)

    def paths(self, *, most: int = 1_000_000) -> set[tuple[int, ...]]:
        """The ids along every path within the budgets: exponential, for short texts and tests."""
        outgoing: list[list[int]] = [[] for _ in range(self.nodes)]
        for edge, node in enumerate(self.source.tolist()):
            outgoing[node].append(edge)
        budget_of = dict(self.limited)
        found: set[tuple[int, ...]] = set()
        seen: set[tuple[int, tuple[int, ...], tuple[int, ...]]] = set()
        stack: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = [(0, (), (0,) * len(KINDS))]
        while stack:
            node, written, used = stack.pop()
            if node == self.nodes - 1:
                found.add(written)
            for edge in outgoing[node]:
                spent = self._spent(used, edge, budget_of)
                if spent is None:
                    continue
                for more in self._words(edge):
                    reached = (int(self.target[edge]), written + more, spent)
                    if reached not in seen:
                        seen.add(reached)
                        stack.append(reached)
            if len(seen) > most:
                raise LexiconError(expected=f"a text with at most {most:,} variants", got="more", where="Lattice.paths")
        return found

    def holds(self, ids: tuple[int, ...]) -> bool:
        """Whether these ids stand along a path within the budgets."""
        outgoing: list[list[int]] = [[] for _ in range(self.nodes)]
        for edge, node in enumerate(self.source.tolist()):
            outgoing[node].append(edge)
        budget_of = dict(self.limited)
        seen = {(0, 0, (0,) * len(KINDS))}
        stack = list(seen)
        while stack:
            node, read, used = stack.pop()
            if node == self.nodes - 1 and read == len(ids):
                return True
            for edge in outgoing[node]:
                number, behind = int(self.choices[edge]), read
                if number != NOTHING:
                    if read == len(ids) or ids[read] not in self.sets[number]:
                        continue
                    behind += 1
                spent = self._spent(used, edge, budget_of)
                reached = (int(self.target[edge]), behind, spent or used)
                if spent is not None and reached not in seen:
                    seen.add(reached)
                    stack.append(reached)
        return False

    def _spent(self, used: tuple[int, ...], edge: int, budget_of: dict[int, int]) -> tuple[int, ...] | None:
        kind = int(self.kind[edge])
        if kind == KEPT:
            return used
        spent = list(used)
        spent[kind] += int(self.cost[edge])
        over = kind in budget_of and spent[kind] > budget_of[kind]
        return None if over or (self.total is not None and sum(spent) > self.total) else tuple(spent)

    def _words(self, edge: int) -> Iterator[tuple[int, ...]]:
        number = int(self.choices[edge])
        return iter([()]) if number == NOTHING else ((word,) for word in self.sets[number])

    def sausage(self) -> Substitutions:
        """The choices place by place, for a lattice of substitutions alone; another one is refused."""
        step = self.nodes == len(self.ids) + 1 and bool((self.target == self.source + 1).all())
        if not step or not set(self.kind.tolist()) <= {KEPT, KINDS.index("substitutions")}:
            raise LexiconError(
                expected="a lattice of substitutions alone", got="one with other edits", where="Lattice.sausage"
            )
        rows: list[list[int]] = [[own] for own in self.ids]
        for place, number in zip(self.source.tolist(), self.choices.tolist(), strict=True):
            rows[place] += [word for word in self.sets[number] if word not in rows[place]]
        width = max(map(len, rows), default=1)
        ids = torch.full((1, len(rows), width), PADDING, dtype=torch.int64)
        allowed = torch.zeros(1, len(rows), width, dtype=torch.bool)
        for place, row in enumerate(rows):
            ids[0, place] = torch.tensor(row + [row[0]] * (width - len(row)))
            allowed[0, place, : len(row)] = True
        return Substitutions(ids, allowed)


@dataclass(eq=False)
class LatticeBuilder:
    """Collects nodes by their keys and edges between them; keys sort in the order of the text."""

    sets: ChoiceSets
    keys: dict[tuple[int, ...], int] = field(default_factory=dict)
    edges: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    taken: tuple[Ints, Ints] = field(default_factory=lambda: (np.empty((0, 1), np.int64), np.empty((0, 5), np.int64)))
    standing: dict[int, int] = field(default_factory=dict)
    """For which word an edge stands, -1 for none, by its number, where that is not to be seen by its ends."""

    def take(self, nodes: Ints, edges: Ints) -> None:
        """Nodes by their keys, and edges between them: before any other."""
        self.taken = nodes, edges

    def node(self, *key: int) -> int:
        """The node of a key, new or not."""
        if not self.keys:
            self.keys = {tuple(each): number for number, each in enumerate(self.taken[0].tolist())}
        return self.keys.setdefault(key, len(self.keys))

    def add(self, source: int, target: int, *, kind: int = KEPT, cost: int = 0, choices: int = NOTHING) -> None:
        """One edge."""
        self.edges.append((source, target, kind, cost, choices))

    def _all_keys(self) -> Ints:
        if not self.keys:
            return self.taken[0]
        width = max(map(len, self.keys))
        return np.array([key + (0,) * (width - len(key)) for key in self.keys], dtype=np.int64)

    def built(
        self, ids: tuple[int, ...], threat: Threat, *, last: int, bounded: set[int], spans: Sequence[tuple[int, int]]
    ) -> Lattice:
        """The lattice of what was added; kinds in `bounded` keep their budget on every path already.

        The first node is the one with the lowest key. Nodes from which the last one cannot be reached may be left.
        `spans` says between which places, the first numbers of keys, each word of the text stands.
        """
        edges = self.taken[1]
        if self.edges:
            edges = np.concatenate([edges, np.array(self.edges, dtype=np.int64)])
        keys = self._all_keys()
        rank = np.empty(len(keys), dtype=np.int64)
        rank[np.lexsort(keys.T[::-1])] = np.arange(len(keys))
        assert rank[last] == len(keys) - 1, "the last node has the highest key"
        stands_for = _whole_words(edges, keys[:, 0], np.array(spans, dtype=np.int64).reshape(-1, 2))
        stands_for[[len(self.taken[1]) + edge for edge in self.standing]] = list(self.standing.values())
        source, target = rank[edges[:, 0]], rank[edges[:, 1]]
        short = len(keys) <= np.iinfo(np.uint16).max  # sorts faster
        order = np.argsort(target.astype(np.uint16) if short else target, kind="stable")
        edges, source, target = edges[order], source[order], target[order]
        limits = [(KINDS.index(edit.kind), edit.at_most) for edit in threat.edits]
        return Lattice(
            ids=ids,
            source=source,
            target=target,
            kind=edges[:, 2],
            cost=edges[:, 3],
            choices=edges[:, 4],
            stands_for=stands_for[order],
            nodes=len(keys),
            sets=self.sets,
            limited=tuple((kind, most) for kind, most in limits if most is not None and kind not in bounded),
            total=threat.total,
        )


def _whole_words(edges: Ints, place: Ints, spans: Ints) -> Ints:
    """The word in the place of which each edge writes one: from where the word begins to where it ends.

    Words do not overlap and places only rise along a path, so a path has one such edge for a word at most.
    """
    if not len(spans) or not len(edges):
        return np.full(len(edges), -1, dtype=np.int64)
    begin, end = place[edges[:, 0]], place[edges[:, 1]]
    word = np.searchsorted(spans[:, 0], begin).clip(max=len(spans) - 1)
    whole = (spans[word, 0] == begin) & (spans[word, 1] == end) & (edges[:, 4] != NOTHING)
    return np.where(whole, word, -1)
