"""Encoder for threats with other edits than substitutions: typing errors, words left out, put in, doubled or swapped.

It knows a list of words. Every one is written as the most frequent word of its cluster, one that is misspelt once as
what it misspells (`sgbt.certify.black_box.spelling`), and all others as `UNKNOWN_WORD`; so the encoded text is a
function of the path that a text takes through the threat's lattice, whose contract says that every text of the threat
is a path. `read` walks all paths and lists the encoded texts that come out, each once: the same contract as that of
`Encoder`. Words that typing errors turn into each other share clusters where that costs little, as synonyms do.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sgbt.certify.black_box.rendering import rendered
from sgbt.certify.black_box.spelling import SpelledLatticeMaker, SpelledVocabulary, is_correctable
from sgbt.core.errors import LexiconError
from sgbt.core.files import atomic_write
from sgbt.data import Tokenizer
from sgbt.threats import Threat
from sgbt.threats.edit_kinds import KINDS
from sgbt.threats.lattice import KEPT, NOTHING, Lattice
from sgbt.threats.vocabulary import UNKNOWN

FORMAT, VERSION = "sgbt-edited-encoder", 1
UNKNOWN_WORD = "unk"
MOST_TYPOS = 1
MOST = 65536
"""So many encoded texts of one text are listed at most."""
COUNTLESS = 2**53


@dataclass(frozen=True, slots=True)
class EditedText:
    """What a text is encoded as, and all else that its threat can make of it, in no order.

    `whole` says whether that is all; else there are too many to list. Of `words` words all or
    none are `replaceable`. For whoever enumerates, the text is one place,
    and what can stand there are whole texts.
    """

    own: str
    variants: tuple[str, ...]
    whole: bool
    words: int
    replaceable: int

    @property
    def others(self) -> Mapping[int, tuple[str, ...]]:
        """The one place and what can stand there."""
        return {0: self.variants} if self.variants else {}

    @property
    def ambiguous(self) -> int:
        """The words of which an edit may show: all or none."""
        return self.replaceable if self.variants or not self.whole else 0

    def written(self, swaps: Mapping[int, str] | None = None) -> str:
        """The encoded text, or the one that stands there instead."""
        return swaps.get(0, self.own) if swaps else self.own

    def combinations(self, max_substitutions: int | None = None) -> int:
        """How many different encoded texts there are; `COUNTLESS` where they are not all listed."""
        if max_substitutions is not None:
            raise LexiconError(
                expected="no max_substitutions: the threat has budgets of its own", got=str(max_substitutions)
            )
        return 1 + len(self.variants) if self.whole else COUNTLESS


@dataclass(frozen=True, eq=False)
class EditedEncoder:
    """A threat, the words that are known (the first `frequent` of them also misspelt once), and codes of some of them.

    Any words and codes are sound. The default tokenizer alone knows what typing errors make of words.
    """

    threat: Threat
    words: tuple[str, ...]
    codes: Mapping[str, str]
    frequent: int = 0
    tokenizer: Tokenizer = Tokenizer()  # noqa: RUF009 - a frozen value

    def __post_init__(self) -> None:
        typos = self.threat.of_kind("typos")
        if typos is not None and (typos.at_most or 0) > MOST_TYPOS:
            raise LexiconError(
                expected=f"at most {MOST_TYPOS} typing error", got=str(typos.at_most), where="the threat of an encoder"
            )
        odd = next((code for code in self.codes.values() if not self.tokenizer.is_word(code)), None)
        if odd is not None or not 0 <= self.frequent <= len(self.words):
            raise LexiconError(expected="codes that are one word each", got=repr(odd), where="an encoder")
        object.__setattr__(self, "codes", MappingProxyType(dict(self.codes)))
        self._maker  # noqa: B018 - refuses a tokenizer that the threat cannot be read with

    @cached_property
    def vocabulary(self) -> SpelledVocabulary:
        """The known words as numbers."""
        return SpelledVocabulary(self.words, frequent=self.frequent)

    @cached_property
    def _maker(self) -> SpelledLatticeMaker:
        return SpelledLatticeMaker(self.threat, self.vocabulary, self.tokenizer)

    @cached_property
    def _pieces(self) -> list[str]:
        """What every id is written as."""
        return [UNKNOWN_WORD] * (UNKNOWN + 1) + [self.codes.get(word, word) for word in self.words]

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all that decides an encoded text and its choices: what certificates name."""
        content = f"{FORMAT} {VERSION}\n{self.threat.hash}\n{self.tokenizer.pattern}\n{self.frequent}\n"
        digest = hashlib.sha256(content.encode())
        for word in self.words:
            digest.update(f"{word}\t{self.codes.get(word, word)}\n".encode())
        return digest.hexdigest()

    @property
    def threat_hash(self) -> str:
        """What certificates call the threat."""
        return self.threat.hash

    @property
    def summary(self) -> str:
        """What it knows, in figures."""
        known = f"threat {self.threat}; {len(self.words):,} known words, all others read as {UNKNOWN_WORD}"
        if self.codes:
            known += f"; {len(self.codes):,} of them in {len(set(self.codes.values())):,} clusters"
        if correctable := sum(map(is_correctable, self.words[: self.frequent])):
            known += f"; {correctable:,} known where misspelt once"
        return known

    def encode(self, text: str) -> str:
        """The text as models read it."""
        return self._written(self.vocabulary.encode(self.tokenizer.words(text)))

    def read(self, text: str, *, most: int = MOST) -> EditedText:
        """The text with everything that the threat can make of it, `most` texts of that at most."""
        lattice = self._maker.of(text)
        own, size = self._written(lattice.ids), max(len(lattice.ids), 1)  # in an empty text there is room for edits
        variants: dict[str, None] = {}
        for pieces in _Paths(lattice, self._pieces).rows(most):
            if pieces is None:
                return EditedText(own, tuple(variants), False, size, size)
            variants[rendered(pieces, self.tokenizer)] = None
        variants.pop(own, None)
        return EditedText(own, tuple(variants), True, size, size if bool((lattice.kind != KEPT).any()) else 0)

    def witness(self, text: str, swaps: Mapping[int, str]) -> None:
        """None: which typing errors lead to an encoded text is not remembered."""

    def _written(self, ids: Any) -> str:
        return rendered([self._pieces[number] for number in ids], self.tokenizer)

    def to_json(self, path: str | Path) -> None:
        """Write everything to one file; all or nothing."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "hash": self.hash,
            "pattern": self.tokenizer.pattern,
            "threat": self.threat.to_json(),
            "words": list(self.words),
            "frequent": self.frequent,
            "codes": dict(self.codes),
        }
        with atomic_write(Path(path)) as stream:
            stream.write(json.dumps(content, ensure_ascii=False).encode())

    @staticmethod
    def of_stored(stored: Mapping[str, Any]) -> EditedEncoder:
        """The encoder that `to_json` wrote."""
        return EditedEncoder(
            Threat.from_json(stored["threat"]),
            tuple(map(str, stored["words"])),
            {str(word): str(code) for word, code in stored["codes"].items()},
            int(stored["frequent"]),
            Tokenizer(str(stored["pattern"])),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return EditedEncoder, (self.threat, self.words, dict(self.codes), self.frequent, self.tokenizer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EditedEncoder) and self.hash == other.hash

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)


END, SEVERAL, DEAD = 0, -1, -2
"""Numbers of what follows a node: nothing, different rows of pieces, or no way to the end."""
EditStep = tuple[int, int, int, tuple[str, ...] | None]
"""An edge: where it leads, its kind and cost, and the pieces it writes one of."""


class _Paths:
    """All different rows of pieces along the paths of a lattice within its budgets.

    Rows are chains of links (rest, piece), kept once each, so that a row is a number.
    """

    def __init__(self, lattice: Lattice, pieces: list[str]) -> None:
        self.lattice = lattice
        known: dict[int, tuple[str, ...]] = {}
        self.outgoing: list[list[EditStep]] = [[] for _ in range(lattice.nodes)]
        columns = (lattice.source, lattice.target, lattice.kind, lattice.cost, lattice.choices)
        for source, target, kind, cost, choices in zip(*(column.tolist() for column in columns), strict=True):
            if choices != NOTHING and choices not in known:
                known[choices] = tuple(dict.fromkeys(pieces[number] for number in lattice.sets[choices]))
            self.outgoing[source].append((target, kind, cost, known.get(choices)))
        self.limits = [math.inf] * len(KINDS)
        for kind, budget in lattice.limited:
            self.limits[kind] = budget
        self.links: list[tuple[int, str]] = [(END, "")]
        self.numbers: dict[tuple[int, str], int] = {}
        self.ends = self._ends()

    def _linked(self, rest: int, piece: str) -> int:
        number = self.numbers.setdefault((rest, piece), len(self.links))
        if number == len(self.links):
            self.links.append((rest, piece))
        return number

    def _ends(self) -> list[int]:
        """For every node the one row of pieces that follows it, whatever was edited before, if there is just one."""
        found = [DEAD] * self.lattice.nodes
        found[-1] = SEVERAL if self.outgoing[-1] else END  # words may be put in behind all others
        for node in range(self.lattice.nodes - 2, -1, -1):
            ends = set()
            for target, kind, cost, pieces in self.outgoing[node]:
                counted = cost and (self.lattice.total is not None or self.limits[kind] < math.inf)
                behind = SEVERAL if counted or target == node else found[target]
                if behind >= END and pieces is not None:
                    behind = self._linked(behind, pieces[0]) if len(pieces) == 1 else SEVERAL
                ends.add(behind)
            ends.discard(DEAD)
            found[node] = DEAD if not ends else ends.pop() if len(ends) == 1 else SEVERAL
        return found

    def rows(self, most: int) -> Iterator[list[str] | None]:
        """Each row of pieces, perhaps repeatedly; None behind `most` of them."""
        start = (0, END, (0,) * len(KINDS))
        stack, seen = [start], {start}
        written: set[tuple[int, int]] = set()
        while stack:
            node, row, used = stack.pop()
            end = self.ends[node]
            last = node == len(self.outgoing) - 1
            if (end >= END or last) and (row, end) not in written:
                written.add((row, end))
                behind = () if last else self._listed(end)
                yield [*reversed(self._listed(row)), *behind] if len(written) <= most + 1 else None
            if end != SEVERAL:
                continue
            for target, kind, cost, pieces in self.outgoing[node]:
                spent = used if kind == KEPT else self._spent(used, kind, cost)
                for piece in (None,) if pieces is None else pieces:
                    step = (target, row if piece is None else self._linked(row, piece), spent or used)
                    if spent is not None and step not in seen:
                        seen.add(step)
                        stack.append(step)

    def _spent(self, used: tuple[int, ...], kind: int, cost: int) -> tuple[int, ...] | None:
        """The edits used so far and those of one more edge; None beyond a budget."""
        spent = (*used[:kind], used[kind] + cost, *used[kind + 1 :])
        over = spent[kind] > self.limits[kind]
        return None if over or (self.lattice.total is not None and sum(spent) > self.lattice.total) else spent

    def _listed(self, row: int) -> list[str]:
        """The pieces of a row, the last one linked first."""
        found = []
        while row:
            row, piece = self.links[row]
            found.append(piece)
        return found
