"""The demo from its first line to its last: what it shows, and how long it takes where the data is at hand.

Run: python benchmarks/demo.py [--out FILE]. The folder is a new one; every stage is run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _rows import write_rows

NAMES = ("normal", "certified", "sgbt", "default")


def rows_of(path: Path) -> list[dict[str, object]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def shown(folder: Path, name: str) -> dict[str, object]:
    """What the demo's table says of one model, counted from its rows."""
    proofs, attacks = rows_of(folder / name / "certificates.jsonl"), rows_of(folder / name / "attacks.jsonl")
    held: dict[object, bool] = {}
    for row in attacks:
        held[row["index"]] = held.get(row["index"], True) and row["status"] == "failed"
    return {
        "training": name,
        "reviews": len(proofs),
        "clean": sum(row["verdict"] != "misclassified" for row in proofs),
        "robust": sum(held.values()),
        "certified": sum(row["verdict"] == "certified" for row in proofs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "sgbt", "demo", "--out", folder], check=True)
        seconds = time.perf_counter() - began
        rows = [{**shown(Path(folder), name), "seconds": round(seconds)} for name in NAMES]
    print(*rows, sep="\n")
    if out:
        write_rows(out, rows)


if __name__ == "__main__":
    main()
