"""A substitution table counter-fitted here: neighbours in a space that WordNet's synonyms and antonyms have shaped."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from sgbt.core.errors import LexiconError, SgbtError
from sgbt.core.files import user_cache
from sgbt.embeddings import EmbeddingTable
from sgbt.threats.constraints import Constraints, wordnet_constraints
from sgbt.threats.counter_fitting import CounterFitting
from sgbt.threats.embedding_neighbours import neighbour_entries, single_words
from sgbt.threats.table import SubstitutionTable
from sgbt.threats.table_json import read_table, write_table
from sgbt.threats.wordnet import load_wordnet
from sgbt.threats.wordnet_database import WordNet

LEAST_SIMILARITY = 0.4
"""The cosine that two synonyms must have before fitting; see `wordnet_constraints`."""

_ALGORITHM = 1


def counter_fit_table(
    vectors: EmbeddingTable,
    wordnet: WordNet | None,
    *,
    nearest: int,
    distance: float,
    settings: CounterFitting | None,
    data_home: Path | None,
) -> SubstitutionTable:
    """The nearest words within `distance` of each other between unit vectors, after counter-fitting.

    A word's antonym is never among them, wherever the fitted vectors ended. The table is kept in the user's cache
    folder under everything it depends on.
    """
    settings = settings or CounterFitting()
    usable = _with_letters(single_words(vectors))
    constraints = wordnet_constraints(
        wordnet or load_wordnet(data_home=data_home), usable, least_similarity=LEAST_SIMILARITY
    )
    kept = user_cache() / "counter-fit" / f"{_key(usable, constraints, settings, nearest, distance)}.json.gz"
    with contextlib.suppress(LexiconError):
        return read_table(kept)

    points = settings.fit(usable.vectors, synonyms=constraints.synonyms, antonyms=constraints.antonyms)
    entries = neighbour_entries(usable.words, points, nearest=nearest, distance=distance)
    name = f"counter-fitted here ({vectors.name}, WordNet), nearest {nearest} within {distance:g}"
    table = SubstitutionTable(_without_antonyms(entries, usable, constraints), name)
    with contextlib.suppress(SgbtError):
        write_table(table, kept, plain=False)
    return table


def _with_letters(vectors: EmbeddingTable) -> EmbeddingTable:
    """Without numbers ("2", "10th") and marks: they are near one another in any space, and no two mean the same."""
    return vectors.restricted_to(
        word for word in vectors.words if any(map(str.isalpha, word)) and not any(map(str.isdigit, word))
    )


def _without_antonyms(
    entries: dict[str, tuple[str, ...]], vectors: EmbeddingTable, constraints: Constraints
) -> dict[str, tuple[str, ...]]:
    opposed = {
        (vectors.words[first], vectors.words[second])
        for pair in constraints.antonyms.tolist()
        for first, second in (pair, pair[::-1])
    }
    return {
        word: tuple(substitute for substitute in substitutes if (word, substitute) not in opposed)
        for word, substitutes in entries.items()
    }


def _key(
    vectors: EmbeddingTable, constraints: Constraints, settings: CounterFitting, nearest: int, distance: float
) -> str:
    """Everything the table depends on, as a file name."""
    digest = hashlib.sha256(f"{_ALGORITHM}:{settings}:{nearest}:{distance}:{vectors.name}".encode())
    digest.update("\n".join(vectors.words).encode())
    for array in (vectors.vectors, constraints.synonyms, constraints.antonyms):
        digest.update(f"{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:32]
