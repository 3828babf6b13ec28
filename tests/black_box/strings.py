"""Small tables, encoders and texts, and every text of a threat by brute force:
nothing here is shared with the library."""

from __future__ import annotations

import hashlib
import itertools
import random

import numpy as np
from hypothesis import strategies as st

from sgbt.certify.black_box import Encoder
from sgbt.data import Tokenizer
from sgbt.threats import SubstitutionTable

LISTED = ("good", "great", "fine", "bad", "film", "movie", "i", "2", "two", "n't", "not")
PLAIN = ("The", "the", "OK", "was", "'s", ",", ".", "!", "(", ")", "do", "500", "McCoy", "...", "-")
SEPARATORS = (" ", "  ", "\n")


@st.composite
def tables(draw):
    """A table of a few words, not symmetric."""
    entries = {}
    for word in draw(st.sets(st.sampled_from(LISTED), min_size=1, max_size=5)):
        others = draw(st.sets(st.sampled_from([each for each in LISTED if each != word]), max_size=3))
        entries[word] = tuple(sorted(others))
    return SubstitutionTable(entries, "small")


@st.composite
def encoders(draw):
    """Any map of the words of a table to words: all of them must be sound."""
    table = draw(tables())
    words = sorted(set(table.entries).union(*table.entries.values()))
    return Encoder(table, {word: draw(st.sampled_from(LISTED)) for word in words})


@st.composite
def texts(draw):
    """Words in any casing with any spaces, and sometimes none, between."""
    pieces = []
    for word in draw(st.lists(st.sampled_from(LISTED + PLAIN), max_size=6)):
        pieces += [draw(st.sampled_from((word, word.upper(), word.title()))), draw(st.sampled_from(SEPARATORS))]
    text = "".join(pieces)
    return text.replace(" ", "") if draw(st.integers(0, 9)) == 0 else text


def every_text(text: str, table: SubstitutionTable, rng: random.Random, budget: int | None = None) -> list[str]:
    """Every text of the threat: all combinations, each in several writings."""
    tokens = Tokenizer().tokenize(text)
    choices = [(word, *table.substitutes(word)) for word in tokens.words]
    found = []
    for chosen in itertools.product(*choices):
        changed = {place: word for place, word in enumerate(chosen) if word != tokens.words[place]}
        if budget is not None and len(changed) > budget:
            continue
        if changed:
            found.append(tokens.replace(changed))
        shown = [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]
        for place, word in changed.items():
            shown[place] = rng.choice((word, word.upper(), word.title()))
            shown[place] = shown[place] if Tokenizer().words(shown[place]) == (word,) else word
        found.append(rng.choice(SEPARATORS).join(shown))
    return [text, *found]


def random_callable(seed: int, classes: int = 2, bias: float = 0.0):
    """Scores that depend on every character of a text, letter case, marks and spaces too."""

    def classify(texts):
        rows = []
        for text in texts:
            digest = hashlib.sha256(f"{seed} {text}".encode()).digest()
            rows.append([digest[place] / 255 + (bias if place == 0 else 0.0) for place in range(classes)])
        return np.array(rows).reshape(len(texts), classes)

    return classify
