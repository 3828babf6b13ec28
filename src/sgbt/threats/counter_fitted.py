"""The published substitution set: neighbours in counter-fitted space (Jia et al. 2019, after Alzantot et al. 2018)."""

from __future__ import annotations

from pathlib import Path

from sgbt.core.errors import LexiconError
from sgbt.resources import get
from sgbt.threats.table import SubstitutionTable, keeping_rules
from sgbt.threats.table_json import plain_entries

PUBLISHED_NEIGHBOURS = 8


def counter_fitted_table(*, nearest: int, data_home: Path | None) -> SubstitutionTable:
    """The first `nearest` of the published neighbours of every word that are one token here."""
    if not 1 <= nearest <= PUBLISHED_NEIGHBOURS:
        raise LexiconError(
            expected=f"1 to {PUBLISHED_NEIGHBOURS} neighbours, which is what the published list has",
            got=str(nearest),
            where="nearest",
        )
    published = plain_entries(get("counter_fitted", data_home=data_home).paths[0])
    shortened = {word: neighbours[:nearest] for word, neighbours in published.items()}
    return SubstitutionTable(keeping_rules(shortened), f"counter-fitted (Jia et al. 2019), nearest {nearest}")
