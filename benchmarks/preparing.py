"""What is done before training, against the plain way in the same run: processor time of one core.

Clusters of the largest substitution set (counter-fitted, WordNet and sememes) by `sgbt.threats.louvain`, against
networkx. Both are timed in turns, `--rounds` times; the least of each counts.

Run: python benchmarks/preparing.py [--out results/speed/preparing.jsonl].
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _rows import write_rows

from sgbt.data import load_dataset
from sgbt.threats import SubstitutionTable
from sgbt.threats.codes import community_codes
from sgbt.training.beginning import whole_vocabulary

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.reference.networkx_communities import communities, graph_of

RESOLUTIONS = (1.0, 3.0, 10.0)


def in_turns(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least seconds of processor time of each."""
    least: dict[str, float] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            began = time.process_time()
            way()
            least[name] = min(least.get(name, np.inf), time.process_time() - began)
    return least


def clusters(rounds: int) -> list[dict[str, Any]]:
    tokens = load_dataset("imdb").train.tokenised()
    counts = Counter(word for row in range(len(tokens)) for word in tokens.words(row))
    table = SubstitutionTable.counter_fitted() | SubstitutionTable.wordnet() | SubstitutionTable.sememes()
    vocabulary = whole_vocabulary(counts, table, minimum_count=3)
    world = vocabulary, table, counts
    rows = []
    for resolution in RESOLUTIONS:
        found = community_codes(*world, resolution=resolution)  # also compiles
        plain = communities(graph_of(*world), resolution)
        groups: dict[int, list[int]] = {}
        for word, code in enumerate(found.tolist()):
            groups.setdefault(code, []).append(word)
        took = in_turns(
            {
                "networkx": lambda at=resolution: communities(graph_of(*world), at),
                "sgbt": lambda at=resolution: community_codes(*world, resolution=at),
            },
            rounds,
        )
        rows.append(
            {
                "what": "clusters",
                "words": len(vocabulary),
                "pairs": sum(map(len, table.entries.values())),
                "resolution": resolution,
                "clusters": len(plain),
                "same": sorted(groups.values())[2:] == plain,
                "seconds": round(took["sgbt"], 2),
                "plain_seconds": round(took["networkx"], 2),
                "ratio": round(took["networkx"] / took["sgbt"], 1),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="times that each way is timed")
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
    arguments = parser.parse_args()
    rows = clusters(arguments.rounds)
    if arguments.out:
        write_rows(arguments.out, rows)


if __name__ == "__main__":
    main()
