"""Names as substitutes for names, as PWWS (Ren et al. 2019) replaces named entities.

The paper replaces a named entity by the most frequent one among the texts of the other labels. Its recogniser is not
needed to see which words are names: those that are written with a capital wherever a sentence does not begin.
"""

from __future__ import annotations

from collections import Counter

from sgbt.core.errors import LexiconError
from sgbt.data import Split, Tokenizer
from sgbt.threats.table import SubstitutionTable, keeping_rules

SENTENCE_ENDS = frozenset(".!?:;\"'()[]<>/*-") | {"...", ".."}
"""After one of these, or at the beginning of a text, a capital says nothing."""
CAPITALISED = 0.9
"""A word is a name if at least this share of its other occurrences has a capital."""


def named_entities(texts: Split, *, most: int = 5, least: int = 10) -> SubstitutionTable:
    """Each name that occurs `least` times within sentences, with the `most` frequent names of each label.

    Join it to the table of an attack: `table | named_entities(reviews.train)`.
    """
    if most < 1 or least < 1:
        raise LexiconError(expected="most and least of at least 1", got=f"most {most}, least {least}")
    tokenizer = Tokenizer()
    inside: Counter[str] = Counter()
    capitals: dict[int, Counter[str]] = {int(label): Counter() for label in texts.labels}
    for example in texts:
        tokens = tokenizer.tokenize(example.text)
        before = "."
        for word, start, end in zip(tokens.words, tokens.starts, tokens.ends, strict=True):
            written = tokens.text[start:end]
            if before not in SENTENCE_ENDS and written[:1].isalpha():
                inside[word] += 1
                if len(written) > 1 and written[0].isupper() and written[1:].islower():
                    capitals[example.label][word] += 1
            before = word
    total = sum(capitals.values(), Counter())
    names = {word for word, count in total.items() if count >= least and count >= CAPITALISED * inside[word]}
    frequent = [
        [word for word, _ in sorted(own.items(), key=lambda item: (-item[1], item[0])) if word in names][: most + 1]
        for _, own in sorted(capitals.items())
    ]
    entries = {
        name: tuple(dict.fromkeys(other for own in frequent for other in [w for w in own if w != name][:most]))
        for name in sorted(names)
    }
    return SubstitutionTable(keeping_rules(entries), f"names of {texts.name}")
