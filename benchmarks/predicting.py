"""Texts a second of trained models, beside scikit-learn's TF-IDF and logistic regression in the same run.

`sgbt train` makes an n-gram model and a bag of words of the training texts. Then all test texts are labelled in turns
by the models and by scikit-learn's pipeline of default options, `--rounds` times, in processor time of one core; the
median counts, and the first round, in which a model meets every word for the first time, is told apart.

Run: python benchmarks/predicting.py [--out results/speed/predicting.jsonl]. AG News and IMDB are read from $SGBT_DATA.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch
from _rows import write_rows
from newcomers import Rows, shared, unzipped, write
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import sgbt

SETS = {"ag-news": "agnews", "imdb": "imdb"}
MODELS = {"n-grams": [], "bag of words": ["--model", "linear", "--epochs", "3"]}


def seconds(answer: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> float:
    began = time.process_time()
    answer(texts)
    return time.process_time() - began


def measured(name: str, rounds: int) -> list[dict[str, Any]]:
    train, test = (shared(f"{SETS[name]}/{split}.jsonl.gz") for split in ("train", "test"))
    texts, _ = unzipped(test)
    peer = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000)).fit(*unzipped(train))
    return [row(name, model, of_command(train, options), peer, texts, rounds) for model, options in MODELS.items()]


def of_command(train: Rows, options: list[str]) -> sgbt.TextClassifier:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "train.csv", train)
        command = [sys.executable, "-m", "sgbt", "train", "train.csv", "--out", "run", *options]
        subprocess.run(command, cwd=folder, check=True)
        return sgbt.load_classifier(Path(folder) / "run")


def row(name: str, model: str, ours: sgbt.TextClassifier, peer: Any, texts: list[str], rounds: int) -> dict[str, Any]:
    took = [(seconds(ours.predict, texts), seconds(peer.predict, texts)) for _ in range(rounds)]
    own, other = (median(column) for column in zip(*took[1:], strict=True))
    found = {
        "data": name,
        "model": model,
        "texts": len(texts),
        "words": round(float(ours.predict(texts).words.mean())),
        "texts_per_second": round(len(texts) / own),
        "sklearn_texts_per_second": round(len(texts) / other),
        "times_sklearn": round(median(mine / its for mine, its in took[1:]), 2),
        "times_sklearn_first": round(took[0][0] / took[0][1], 2),
    }
    print(found, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for name in SETS for row in measured(name, options.rounds)]
    if options.out:
        write_rows(options.out, rows)


if __name__ == "__main__":
    main()
