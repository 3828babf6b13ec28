"""How far a table counter-fitted here agrees with the published list: precision and recall of its pairs.

Run: python benchmarks/agreement.py [--out FILE]. Both tables are cut to the words that the published list names and
that have a vector. A word that it names without any neighbour stays: a substitute given to it here counts as wrong. The
settings of counter-fitting were chosen while looking at this very list, so precision reads somewhat high.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

from _rows import write_rows

from sgbt.embeddings import load_embeddings
from sgbt.resources import get
from sgbt.threats import SubstitutionTable


def pairs(table: SubstitutionTable) -> set[tuple[str, str]]:
    return {(word, other) for word, others in table.entries.items() for other in others}


def report(name: str, table: SubstitutionTable, published: SubstitutionTable, known: set[str]) -> dict[str, object]:
    """What is shared, printed and returned."""
    ours, theirs = pairs(table.restricted_to(known)), pairs(published.restricted_to(known))
    shared = len(ours & theirs)
    print(
        f"{name}: {len(known):,} words; {len(ours):,} pairs here, {len(theirs):,} published, {shared:,} in both: "
        f"precision {shared / len(ours):.3f}, recall {shared / len(theirs):.3f}"
    )
    return {"table": name, "words": len(known), "pairs": len(ours), "published": len(theirs), "shared": shared}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
    out = parser.parse_args().out
    vectors, published = load_embeddings("glove"), SubstitutionTable.counter_fitted()
    path = get("counter_fitted").paths[0]
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    named = json.loads(content)
    known = set(named).union(*named.values()) & set(vectors.words)
    here = SubstitutionTable.counter_fit(vectors)
    rows = [
        report("counter-fitted here", here, published, known),
        report("counter-fitted here, screened", here.screened(), published, known),
        report("plain neighbours", SubstitutionTable.embedding_neighbours(vectors), published, known),
    ]
    if out:
        write_rows(out, rows)


if __name__ == "__main__":
    main()
