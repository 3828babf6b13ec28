"""Substitution tables by the names that the command line and benchmark grids give them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sgbt.embeddings import EmbeddingTable
from sgbt.errors import LexiconError, did_you_mean
from sgbt.lexicon.table import SubstitutionTable
from sgbt.resources import UnavailableError

Read = Callable[[], EmbeddingTable]


def _auto(read: Read, home: Path | None) -> SubstitutionTable:
    try:
        return SubstitutionTable.counter_fitted(data_home=home)
    except UnavailableError:
        return SubstitutionTable.counter_fit(read(), data_home=home)


_MAKERS: dict[str, Callable[[Read, Path | None], SubstitutionTable | None]] = {
    "auto": _auto,
    "counter_fitted": lambda read, home: SubstitutionTable.counter_fitted(data_home=home),
    "counter_fit": lambda read, home: SubstitutionTable.counter_fit(read(), data_home=home),
    "neighbours": lambda read, home: SubstitutionTable.embedding_neighbours(read()),
    "wordnet": lambda read, home: SubstitutionTable.wordnet(data_home=home),
    "wordnet_hypernyms": lambda read, home: SubstitutionTable.wordnet_hypernyms(data_home=home),
    "sememes": lambda read, home: SubstitutionTable.sememes(data_home=home),
    "none": lambda read, home: None,
}
TABLES = tuple(_MAKERS)


def table_named(name: str, vectors: EmbeddingTable | Read, *, data_home: Path | None) -> SubstitutionTable | None:
    """The substitution table of that name; vectors that come as a function are read only if needed."""
    if name in _MAKERS:
        return _MAKERS[name](vectors if callable(vectors) else lambda: vectors, data_home)
    if not name.endswith((".json", ".json.gz")):
        raise LexiconError(
            wanted=f"one of {', '.join(TABLES)}, or a JSON file",
            got=repr(name),
            where="--substitutions",
            remedy=did_you_mean(name, TABLES),
        )
    return SubstitutionTable.from_json(Path(name))
