"""OpenAttack's own PWWS on the models of the paper's readings: does the answer hang on our attacks?

Run: python benchmarks/openattack_readings.py LABEL=FOLDER ... --reading released-code [--texts 200] [--words 300]
[--environments DIR] [--out FILE]

Each folder is a trained run, as `sgbt bench` keeps it for a cell, and its label names the method. OpenAttack 2.1.1 is
installed from the package registry into an environment of its own and attacks through the bridge
(`sgbt.bridges.openattack_classifier`), with the reading's substitutes; sgbt attacks the same texts beside it. Texts are
random test reviews (seed 0), read as plain words and cut to their last --words, that the model classifies correctly,
drawn until there are --texts. A row for each model: how many of them each of the two broke, and how many both did.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from _rows import done, made_by, trials

import sgbt
from attacks import Measured, Peers
from sgbt.attacks import attack
from sgbt.embeddings import load_embeddings
from sgbt.models import TextClassifier, load_classifier
from sgbt.threats.named import table_named

TABLES = {
    "stated-set": "neighbours",
    "stated-attacks": "wordnet",
    "released-code": "counter_fit:distance=0.2,nearest=8,counts_itself=true,screened=false",
    "ours": "counter_fitted",
}
"""What PWWS takes in each reading of docs/reproduction.md."""


def main() -> None:
    arguments = parsed()
    torch.set_num_threads(1)
    table = table_named(TABLES[arguments.reading], lambda: load_embeddings("glove"), data_home=None)
    assert table is not None
    reviews = sgbt.load_dataset("imdb").test
    with tempfile.TemporaryDirectory() as scratch, trials(arguments.out, "reading", "method", "texts") as file:
        written = Path(scratch) / "table.json"
        table.to_json(written)
        for label, _, folder in (each.partition("=") for each in arguments.models):
            if done(file, arguments.reading, label, arguments.texts):
                continue
            classifier = load_classifier(folder)
            texts, drawn = chosen(classifier, reviews, arguments.texts, arguments.words)
            peers = Peers("OpenAttack", Path(folder), Path(arguments.environments or scratch), written)
            about = {"reading": arguments.reading, "method": label, "texts": len(texts), "drawn": drawn}
            about |= {"table": table.hash, "model": classifier.identity, "words": arguments.words}
            row = {**about, **attacked(peers, classifier, texts, table)}
            file.append({**row, **made_by()})
            print(row, flush=True)


def attacked(
    peers: Peers, classifier: TextClassifier, texts: list[str], table: sgbt.SubstitutionTable
) -> dict[str, int]:
    """How many of the texts OpenAttack breaks, how many sgbt does, and how many both."""
    theirs = peers.attack("pwws", "bridge", texts)
    if not isinstance(theirs, Measured):
        raise SystemExit(f"expected OpenAttack to attack the texts; it said: {theirs}")
    ours = [row.status == "success" for row in attack(classifier, texts, table, method="pwws", labels=None, seed=0)]
    both = sum(found is not None and own for found, own in zip(theirs.found, ours, strict=True))
    return {"openattack_broken": theirs.broken, "sgbt_broken": sum(ours), "both_broken": both}


def chosen(
    classifier: TextClassifier, reviews: sgbt.data.Split, count: int, words: int | None
) -> tuple[list[str], int]:
    """Random reviews as plain words, classified correctly; and how many were drawn to find them."""
    found: list[str] = []
    order: Sequence[int] = np.random.default_rng(0).permutation(len(reviews)).tolist()
    for drawn, place in enumerate(order, start=1):
        read = classifier.tokenizer.words(reviews[place].text)
        read = read[-words:] if words else read[: classifier.max_length]
        text = " ".join(read)
        right = classifier.predict([text]).probabilities[0].argmax() == reviews[place].label
        if right and classifier.tokenizer.words(text) == read:
            found.append(text)
        if len(found) == count:
            return found, drawn
    return found, len(order)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="LABEL=FOLDER of trained models")
    parser.add_argument("--reading", choices=sorted(TABLES), required=True)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--words", type=int, help="attack the last so many words of a review alone")
    parser.add_argument("--environments", help="folder that keeps OpenAttack's environment for the next run")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines of what is measured")
    return parser.parse_args()


if __name__ == "__main__":
    main()
