"""Trials on all training reviews of IMDB: each of five ranges of ids in turn is held out, and scored.

Train is cut into five folds of neighbouring ids (`sgbt.data.imdb.film_folds`), ten times the reviews of the usual dev
split. Held-out reviews also choose the epoch, as dev does. One JSON row per trial and fold; those that the file has are
not repeated. The test split is never read.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from _rows import done, made_by, trials

from sgbt.data import TextDataset
from sgbt.data.imdb import film_folds
from sgbt.models import Bag, Network
from sgbt.threats import SubstitutionTable
from sgbt.training import TrainingConfig, TrainingMethod, train

FOLDS = 5
Planned = tuple[Network | Bag, TrainingMethod, TrainingConfig]


def measured_on_folds(described: str, out: str, names: Iterable[str], plan: Callable[[str], Planned]) -> None:
    """Every trial that the command line asks for, on every fold that has no row yet; `plan` says what a name trains."""
    parser = argparse.ArgumentParser(description=described, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(out))
    parser.add_argument("--only", help="only the trials whose names begin so")
    parser.add_argument("--folds", type=int, choices=range(1, FOLDS + 1), default=FOLDS, help="only the first")
    arguments = parser.parse_args()
    table = SubstitutionTable.counter_fitted()
    folds = list(film_folds(FOLDS))[: arguments.folds]
    with trials(arguments.out, "trial", "fold") as file:
        for name in names:
            if arguments.only and not name.startswith(arguments.only):
                continue
            for data in folds:
                if not done(file, name, data.name):
                    file.append({"trial": name, **_measured(data, table, *plan(name)), **made_by()})
            print(_told([row for row in file.rows.values() if row["trial"] == name]), flush=True)


def _measured(
    data: TextDataset, table: SubstitutionTable, model: Network | Bag, method: TrainingMethod, config: TrainingConfig
) -> dict[str, Any]:
    """One run on one fold, and what it says of the reviews that were held out."""
    began = time.perf_counter()
    run = train(model, data, objective=method, substitutions=table, config=config)
    return {
        "fold": data.name,
        "model": {"kind": model.kind, **asdict(model.config)},
        **({} if isinstance(model, Bag) else {"objective": method.options}),
        "training": asdict(config),
        "substitutions": {"name": table.name, "hash": table.hash},
        "texts": len(data.dev),
        "right": round(run.dev["accuracy"] * len(data.dev)),
        "proven": round(run.dev["certified"] * len(data.dev)),
        "seconds": round(time.perf_counter() - began, 1),
    }


def _told(rows: list[dict[str, Any]]) -> str:
    """What the folds of one trial say, as a line."""
    texts = sum(row["texts"] for row in rows)
    clean, proven = (sum(row[of] for row in rows) / texts for of in ("right", "proven"))
    each = " ".join(f"{row['proven'] / row['texts']:.4f}" for row in rows)
    return f"{rows[0]['trial']:44} clean {clean:.4f}, certified {proven:.4f} of {texts:,} reviews ({each})"
