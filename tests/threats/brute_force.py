"""What a threat makes of a text, by writing strings and reading them: shares no code with the lattice."""

from __future__ import annotations

import itertools

from sgbt.data import Tokenizer
from sgbt.threats import Threat, Vocabulary

READ = Tokenizer().words
Words = tuple[str, ...]


def one_edit(text: str, alphabet: str) -> set[str]:
    """The text, and every string one typing error away from it."""
    found = {text}
    for at in range(len(text) + 1):
        before, behind = text[:at], text[at:]
        found |= {before + letter + behind for letter in alphabet}
        if behind:
            found |= {before + behind[1:]} | {before + letter + behind[1:] for letter in alphabet}
        if len(behind) > 1:
            found.add(before + behind[1] + behind[0] + behind[2:])
    return found


def misspelt(text: str, edits: int, alphabet: str) -> list[set[Words]]:
    """The words of every string at most 0, 1, ... typing errors away."""
    strings, found = {text}, [{READ(text)}]
    for _ in range(edits):
        strings = set().union(*(one_edit(each, alphabet) for each in strings))
        found.append({READ(each) for each in strings})
    return found


def cut(text: str, threat: Threat) -> set[tuple[tuple[str | Words, ...], int]]:
    """Ways to edit whole words: pieces of text (strings) between words that were written (tuples), and the cost."""
    tokens = Tokenizer().tokenize(text)
    words, starts, ends = tokens.words, (*tokens.starts, len(text)), tokens.ends
    edits = {edit.kind: edit for edit in threat.edits}
    found = set()

    def limit(kind: str) -> float:
        return 0 if kind not in edits else float("inf") if edits[kind].at_most is None else edits[kind].at_most

    def go(place: int, begun: int, done: tuple[str | Words, ...], used: dict[str, int]) -> None:
        if any(used[kind] > limit(kind) for kind in used):
            return
        if threat.total is not None and sum(used.values()) > threat.total:
            return
        more = {kind: used | {kind: used.get(kind, 0) + 1} for kind in edits}
        if "insertions" in edits:
            for word in edits["insertions"].words:
                go(place, starts[place], (*done, text[begun : starts[place]], (word,)), more["insertions"])
        if place == len(words):
            found.add(((*done, text[begun:]), sum(used.values())))
            return
        go(place + 1, begun, done, used)
        before, word = (*done, text[begun : starts[place]]), words[place]
        if "substitutions" in edits:
            for other in edits["substitutions"].table.substitutes(word):
                go(place + 1, ends[place], (*before, (other,)), more["substitutions"])
        if "deletions" in edits and (edits["deletions"].words == ("any",) or word in edits["deletions"].words):
            go(place + 1, ends[place], (*before, ()), more["deletions"])
        if "duplications" in edits:
            go(place + 1, ends[place], (*before, (word, word)), more["duplications"])
        if "adjacent_swaps" in edits and place + 1 < len(words):
            go(place + 2, ends[place + 1], (*before, (words[place + 1], word)), more["adjacent_swaps"])

    go(0, 0, (), {})
    return found


def versions(text: str, threat: Threat, alphabet: str) -> set[Words]:
    """The words of every text that the threat allows; characters come from the alphabet."""
    typos = threat.of_kind("typos")
    most = 0 if typos is None else typos.at_most
    if threat.total is not None:
        most = min(most, threat.total)
    found: set[Words] = set()
    for pieces, cost in cut(text, threat):
        left = most if threat.total is None else min(most, threat.total - cost)
        readings = [misspelt(piece, left, alphabet) if isinstance(piece, str) else None for piece in pieces]
        texts = [place for place, reading in enumerate(readings) if reading is not None]
        for shares in itertools.product(range(left + 1), repeat=len(texts)):
            if sum(shares) == left:
                chosen = dict(zip(texts, shares, strict=True))
                options = [
                    readings[place][chosen[place]] if place in chosen else {pieces[place]}
                    for place in range(len(pieces))
                ]
                found |= {tuple(itertools.chain(*way)) for way in itertools.product(*options)}
    return found


def read_by(vocabulary: Vocabulary, found: set[Words]) -> set[tuple[int, ...]]:
    """The ids of words."""
    return {tuple(vocabulary.encode(words)) for words in found}
