"""Whether a threat allows a text to become another: both are read from their strings, and the lattice decides."""

from __future__ import annotations

from sgbt.data import Tokenizer
from sgbt.threats.maker import LatticeMaker
from sgbt.threats.threat import Threat
from sgbt.threats.vocabulary import Vocabulary, has_bytes


def is_reachable(threat: Threat, original: str, perturbed: str, tokenizer: Tokenizer | None = None) -> bool:
    """Whether the words of `perturbed` stand along a path of the lattice of `original`.

    The lattice is made over the words of `perturbed` alone, so that words are compared one by one, and none of those
    that have to be found is unknown.
    """
    tokenizer = tokenizer or Tokenizer()
    words = tokenizer.words(perturbed)
    vocabulary = Vocabulary(tuple(sorted(filter(has_bytes, set(words)))))
    return LatticeMaker(threat, vocabulary, tokenizer).of(original).holds(tuple(vocabulary.encode(words)))
