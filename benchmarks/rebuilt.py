"""Models of grids trained, certified and attacked again, beside the rows that stand in results/: text by text.

Run: sgbt bench GRID --only CELL --out AGAIN, then python benchmarks/rebuilt.py results/GRID/records.jsonl
AGAIN/records.jsonl [--out FILE]. For each record of the second file, the first has one of the same cell. Training is
the same where the losses and dev figures of all epochs are, to the last digit. Machines round differently: where rows
were made on another one, the commit that made them is run here too, and `--same-machine` says that both files are of
one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from _rows import trials

from sgbt.evaluate import RunRecord, read_records


def cell(record: RunRecord) -> str:
    """What names a run, but for the commit that made it."""
    return f"{record.grid}:{record.dataset}/{record.model}/{record.label}/{record.seed}"


def compared(before: RunRecord, after: RunRecord) -> dict[str, Any]:
    """For each outcome how many texts have it in one run alone, and whether training was the same."""
    outcomes = {}
    for name in before.outcomes:
        held, again = before.outcome(name), after.outcome(name)
        assert held is not None
        assert again is not None
        lost, won = int((held & ~again).sum()), int((again & ~held).sum())
        outcomes[name] = {"texts": len(held), "only_before": lost, "only_after": won}
    old, new = ([(point["dev"], point["parts"]) for point in record.curve] for record in (before, after))
    return {"before": before.commit, "after": after.commit, "same_training": old == new, "outcomes": outcomes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--same-machine", action="store_true")
    parser.add_argument("--out", type=Path, help="JSON lines, to which cells are added")
    given = parser.parse_args()
    known = {cell(record): record for record in read_records(given.before)}
    with trials(given.out, "cell", "before", "after", "same_machine") as file:
        for record in read_records(given.after):
            row = {"cell": cell(record), "same_machine": given.same_machine, **compared(known[cell(record)], record)}
            print(row)
            file.append(row)


if __name__ == "__main__":
    main()
