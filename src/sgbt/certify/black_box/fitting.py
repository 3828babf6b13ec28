"""From a threat and texts to an encoder: which kind it takes, and how much accuracy it may cost.

A threat of substitutions alone has an `Encoder`, any other an `EditedEncoder`. How many words are kept apart is a trade
of accuracy for proofs. `trade` says how much accuracy may be lost; it is measured on the texts themselves by a proxy, a
naive Bayes classifier of words that is trained on one half and asked about the other. The fewest words are kept apart
for which the proxy loses no more than that, among a few steps of `distinction`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.certify.black_box import edited, encoder
from sgbt.certify.black_box.edited import EditedEncoder
from sgbt.certify.black_box.encoder import DISTINCTION, RELEVANCE, Encoder, listed, require_weights
from sgbt.core.documents import read_json_object
from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer
from sgbt.threats import SubstitutionTable, Threat
from sgbt.threats.near_words import NearWords
from sgbt.threats.synonym_clusters import synonym_clusters

AnyEncoder = Encoder | EditedEncoder
DISTINCTIONS = (0.001, 0.01, 0.1, 1.0)
"""The steps among which a trade chooses."""
FREQUENT = 20
"""Words that occur so often are known where words have to be known, and so are words of the table."""

LETTERS = 3
"""Shorter words share no cluster because of typing errors: too many of them are one error apart."""


@dataclass(frozen=True, slots=True)
class Trade:
    """What the choice of a distinction was made by: the proxy's accuracy on texts as they are, and on encoded ones."""

    asked: float
    distinction: float
    before: float
    after: float


def fit_encoder(
    texts: Sequence[str],
    threat: Threat | SubstitutionTable | str | Path,
    labels: Sequence[Hashable] | None = None,
    *,
    distinction: float = DISTINCTION,
    relevance: float = RELEVANCE,
    tokenizer: Tokenizer | None = None,
    data_home: Path | None = None,
) -> AnyEncoder:
    """The encoder of a threat for texts like these. `distinction` and `relevance` are those of `Encoder.fit`."""
    asked, tokenizer = threat_of(threat, data_home=data_home), tokenizer or Tokenizer()
    if asked.only_substitutions and asked.edits[0].table is not None:
        return Encoder.fit(
            texts, asked.edits[0].table, labels, distinction=distinction, relevance=relevance, tokenizer=tokenizer
        )
    require_weights(distinction, relevance)
    counts = encoder.word_counts(texts, labels, tokenizer)
    substitutions = asked.of_kind("substitutions")
    table = substitutions.table if substitutions is not None and substitutions.table is not None else None
    known = sorted((word for word, each in counts.items() if sum(each) >= FREQUENT), key=lambda w: (-sum(counts[w]), w))
    words = tuple(dict.fromkeys([*known, *sorted(listed(table) if table is not None else ())]))
    typos = asked.of_kind("typos") is not None
    entries: dict[str, tuple[str, ...]] = {word: table.substitutes(word) for word in words} if table is not None else {}
    if typos:
        near = NearWords([word for word in words if len(word) >= LETTERS and word.isalpha()])
        for word in near.words:
            misspelt = (near.words[at] for at, away in sorted(near.within(word, 1)) if away)
            entries[word] = tuple(dict.fromkeys([*entries.get(word, ()), *misspelt]))
    entries = {word: others for word, others in entries.items() if others}
    codes = synonym_clusters(entries, counts, distinction=distinction, relevance=relevance) if entries else {}
    return EditedEncoder(asked, words, codes, len(known) if typos else 0, tokenizer)


def fit_traded(
    fit: Callable[[float], AnyEncoder], texts: Sequence[str], labels: Sequence[Hashable], trade: float
) -> tuple[AnyEncoder, Trade]:
    """The encoder, `fit` with one of a few distinctions, for which the proxy loses at most `trade`, and what it lost.

    Where all lose more, the largest distinction is taken, and the loss says so.
    """
    if not 0 <= trade < 1:
        raise LexiconError(expected="a trade of accuracy from 0 to below 1", got=str(trade), where="an encoder")
    proxy = _Proxy(texts, labels)
    before = proxy.accuracy(lambda word: word)
    for distinction in DISTINCTIONS:
        found = fit(distinction)
        codes: Mapping[str, str] = found.codes
        after = proxy.accuracy(lambda word, codes=codes: codes.get(word, word))  # type: ignore[misc]
        if before - after <= trade:
            break
    return found, Trade(trade, distinction, before, after)


class _Proxy:
    """Naive Bayes on which words a text has, trained on texts of even numbers and asked about the others."""

    def __init__(self, texts: Sequence[str], labels: Sequence[Hashable]) -> None:
        words_of = Tokenizer().words
        self.numbers: dict[str, int] = {}
        rows = [[self.numbers.setdefault(word, len(self.numbers)) for word in set(words_of(text))] for text in texts]
        self.text = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self.word = np.array([number for row in rows for number in row], dtype=np.int64)
        self.label = np.unique(np.array([str(each) for each in labels]), return_inverse=True)[1]

    def accuracy(self, code: Callable[[str], str]) -> float:
        """Its accuracy where every word is read as its code."""
        codes = np.unique([code(word) for word in self.numbers], return_inverse=True)[1]
        size, classes, texts = int(codes.max(initial=0)) + 1, int(self.label.max(initial=0)) + 1, len(self.label)
        pairs = np.unique(self.text * size + codes[self.word]) if len(self.word) else self.word
        text, word = pairs // size, pairs % size
        learnt = text % 2 == 0
        seen = np.bincount(word[learnt] * classes + self.label[text[learnt]], minlength=size * classes)
        counts = seen.reshape(size, classes) + 1.0
        weights = np.log(counts / counts.sum(axis=0))
        asked = text % 2 == 1
        scores = np.stack(
            [np.bincount(text[asked], weights=weights[word[asked], each], minlength=texts) for each in range(classes)]
        )
        return float((scores.argmax(axis=0) == self.label)[1::2].mean()) if texts > 1 else 1.0


def read_encoder(path: str | Path) -> AnyEncoder:
    """The encoder that a `to_json` wrote; one whose hash is another is refused."""
    expected = "a file that sgbt encode --encoder wrote"
    stored = read_json_object(Path(path), kind=LexiconError, expected=expected, remedy="", pairs=False)
    kinds: dict[tuple[str, int], Callable[[Mapping[str, Any]], AnyEncoder]] = {
        (encoder.FORMAT, encoder.VERSION): Encoder.of_stored,
        (edited.FORMAT, edited.VERSION): EditedEncoder.of_stored,
    }
    try:
        found = kinds[stored["format"], stored["version"]](stored)
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise LexiconError(expected=expected, got=f"one with a fault at {problem}", where=str(path)) from problem
    if found.hash != stored.get("hash"):
        raise LexiconError(expected="an encoder with the hash it states", got="another", where=str(path))
    return found


def threat_of(threat: Threat | SubstitutionTable | str | Path, *, data_home: Path | None = None) -> Threat:
    """The threat that a user's value stands for: a table, a threat, or either as the command line writes it.

    A limit of substitutions alone is left to `max_substitutions`: their encoder is for any number of words.
    """
    if isinstance(threat, SubstitutionTable):
        threat = Threat.substitutions(threat)
    if not isinstance(threat, Threat):
        from sgbt.embeddings import load_embeddings
        from sgbt.threats.grammar import parse_threat
        from sgbt.threats.named import table_named

        read = partial(load_embeddings, "glove", data_home=data_home)
        threat = parse_threat(str(threat), lambda name: table_named(name, read, data_home=data_home))
    table = threat.edits[0].table
    if table is not None and not table.entries:
        raise LexiconError(expected="a table with substitutes", got=threat.name, where="an encoder")
    return threat
