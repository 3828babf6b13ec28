"""One review for the picture of README.md: its words, their substitutes, how one model breaks and the other is proven.

Run: python benchmarks/idea.py runs/demo [--out FILE], after `sgbt demo --out runs/demo`. Of the demo's test reviews the
shortest is taken on which an attack breaks the normal model and a proof holds for the certified one.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from _rows import write_rows

import sgbt


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def chosen(demo: Path) -> tuple[str, dict[str, Any]]:
    """The review, and the row of the attack that broke the normal model on it with the fewest words."""
    texts = {row["index"]: row["text"] for row in rows_of(demo / "texts.jsonl")}
    proven = {
        row["index"] for row in rows_of(demo / "certified" / "certificates.jsonl") if row["verdict"] == "certified"
    }
    broken = [row for row in rows_of(demo / "normal" / "attacks.jsonl") if row["status"] == "success"]
    able = [row for row in broken if row["index"] in proven]
    found = min(able, key=lambda row: (len(texts[row["index"]]), len(row["swaps"])))
    return texts[found["index"]], found


def main() -> None:
    """Write the row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demo", type=Path, help="folder of `sgbt demo`")
    parser.add_argument("--out", type=Path, help="JSON lines of what is found")
    arguments = parser.parse_args()
    text, attack = chosen(arguments.demo)
    classifier = sgbt.load_classifier(arguments.demo / "certified")
    explained = sgbt.explain(classifier, text)
    words = [(word.word, list(classifier.table.substitutes(word.word))) for word in explained.words]
    row = {
        "text": text,
        "label": classifier.label_names[explained.certificate.label],
        "words": words,
        "log10_variants": round(sum(math.log10(1 + len(choices)) for _, choices in words), 1),
        "attack": {name: attack[name] for name in ("method", "swaps")},
        "clean_margin": explained.clean,
        "proven_margin": explained.certificate.margin,
        "tier": explained.certificate.tier,
    }
    print(json.dumps(row, indent=1))
    if arguments.out:
        write_rows(arguments.out, [row])


if __name__ == "__main__":
    main()
