"""Substitution tables by the names that the command line and benchmark grids give them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sgbt.embeddings import EmbeddingTable
from sgbt.errors import LexiconError, did_you_mean
from sgbt.lexicon.table import SubstitutionTable
from sgbt.resources import UnavailableError

TABLES = ("auto", "counter_fitted", "counter_fit", "neighbours", "wordnet", "sememes", "none")


def table_named(
    name: str, vectors: EmbeddingTable | Callable[[], EmbeddingTable], *, data_home: Path | None
) -> SubstitutionTable | None:
    """The substitution table of that name; vectors that come as a function are read only if needed."""

    def read() -> EmbeddingTable:
        return vectors() if callable(vectors) else vectors

    if name == "auto":
        try:
            return SubstitutionTable.counter_fitted(data_home=data_home)
        except UnavailableError:
            return SubstitutionTable.counter_fit(read(), data_home=data_home)
    if name == "counter_fitted":
        return SubstitutionTable.counter_fitted(data_home=data_home)
    if name == "counter_fit":
        return SubstitutionTable.counter_fit(read(), data_home=data_home)
    if name == "neighbours":
        return SubstitutionTable.embedding_neighbours(read())
    if name == "wordnet":
        return SubstitutionTable.wordnet(data_home=data_home)
    if name == "sememes":
        return SubstitutionTable.sememes(data_home=data_home)
    if name == "none":
        return None
    if not name.endswith((".json", ".json.gz")):
        raise LexiconError(
            wanted=f"one of {', '.join(TABLES)}, or a JSON file",
            got=repr(name),
            where="--substitutions",
            remedy=did_you_mean(name, TABLES),
        )
    return SubstitutionTable.from_json(Path(name))
