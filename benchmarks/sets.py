"""How much of the IMDB test reviews each substitution set can change, and into how many texts.

Run: python benchmarks/sets.py [--out FILE].
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from _rows import write_rows

from sgbt.data import load_dataset
from sgbt.embeddings import load_embeddings
from sgbt.threats import SubstitutionTable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
    out = parser.parse_args().out
    tokens = load_dataset("imdb").test.tokenised()
    texts = [tokens.words(row) for row in range(len(tokens))]
    tables = {
        "counter_fitted": SubstitutionTable.counter_fitted(),
        "wordnet": SubstitutionTable.wordnet(),
        "sememes": SubstitutionTable.sememes(),
        "neighbours": SubstitutionTable.embedding_neighbours(load_embeddings("glove")),
    }
    rows = []
    for name, table in tables.items():
        found = table.describe_texts(texts)
        print(f"{name}: {found}", flush=True)
        rows.append({"set": name, "table": {"name": table.name, "hash": table.hash}, **asdict(found)})
    if out:
        write_rows(out, rows)


if __name__ == "__main__":
    main()
