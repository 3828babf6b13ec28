"""What the query engine of the bag of n-grams saves: each attack with it and without it, in one run.

Run: python benchmarks/ngram_attacks.py [--data imdb] [--texts 10] [--words 180:221] [--model FOLDER] [--out FILE]

One thread, the same texts and substitutes. Without the engine, every distinct text of a query goes through the model in
batches (`PlainEngine`), as for any model that has no engine of its own. Seconds are seconds of processor time. `same`
counts texts with the same result both ways. `asked` is the ratio of the time spent on answering queries alone: what is
left is the search itself, which is the same.
Without the folder of a trained model, one is trained on 3,000 texts first.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from _rows import write_rows

import sgbt
from sgbt.attacks import AttackResult, attack
from sgbt.attacks.queries.classifier import ClassifierEngine
from sgbt.attacks.queries.engine import PlainEngine, query_engine
from sgbt.models import BagOfNgrams, TextClassifier, load_classifier

METHODS = ("pwws", "greedy", "genetic:openattack", "genetic", "pso:openattack", "pso:quick", "pso")


def main() -> None:
    arguments = parsed()
    torch.set_num_threads(1)
    data = sgbt.load_dataset(arguments.data)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.model or trained(data, Path(scratch) / "model")
        classifier = load_classifier(folder)
    fewest, most = (int(each) for each in arguments.words.split(":"))
    lengths = ((example.text, len(classifier.tokenizer.words(example.text))) for example in data.test)
    texts = [text for text, length in lengths if fewest <= length < most][: arguments.texts]
    print(f"{len(texts)} texts of {fewest} to {most - 1} words, {len(classifier.model.keys):,} n-grams with weights")
    print(
        f"{'attack':<22}{'broken':>8}{'queries':>10}{'ms/text':>10}{'plain ms':>11}{'ratio':>8}{'asked':>8}{'same':>8}"
    )
    rows = []
    for method in arguments.methods.split(","):
        row = compared(classifier, texts, method)
        rows.append({"data": Path(arguments.data).name, "words": arguments.words, **row})
        ratio, asked = row["plain_seconds"] / row["seconds"], row["plain_asked"] / row["asked"]
        print(
            f"{method:<22}{row['broken']:>10}{row['queries']:>10,.0f}{1000 * row['seconds']:>10.2f}"
            f"{1000 * row['plain_seconds']:>10.2f}{ratio:>9.1f}x{asked:>9.1f}x{row['same']:>6}/{len(texts)}",
            flush=True,
        )
    seconds, plain = (sum(row[name] for row in rows) for name in ("seconds", "plain_seconds"))
    asked, plain_asked = (sum(row[name] for row in rows) for name in ("asked", "plain_asked"))
    print(f"together: {plain / seconds:.1f}x, queries alone {plain_asked / asked:.1f}x")
    if arguments.out:
        write_rows(arguments.out, rows)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="imdb", help="a dataset, or the path of a file")
    parser.add_argument("--texts", type=int, default=10)
    parser.add_argument("--words", default="180:221", help="fewest words of a text, and one more than most")
    parser.add_argument("--methods", default=",".join(METHODS), help="attacks, separated by commas")
    parser.add_argument("--model", help="folder of a trained BagOfNgrams")
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
    return parser.parse_args()


def trained(data: sgbt.TextDataset, folder: Path) -> Path:
    part = sgbt.TextDataset(data.name, data.label_names, data.train[:3000], data.dev[:500], data.test)
    table = sgbt.SubstitutionTable.counter_fitted()
    config = sgbt.TrainingConfig(epochs=2)
    sgbt.train(BagOfNgrams(), part, objective=sgbt.Certified(), substitutions=table, config=config, out=folder)
    return folder


def compared(classifier: TextClassifier, texts: Sequence[str], method: str) -> dict[str, Any]:
    """Seconds per text both ways, and whether the results are the same."""
    seconds, asked, results = measured(classifier, texts, method)
    with without_engine():
        plain_seconds, plain_asked, expected = measured(classifier, texts, method)
    pairs = zip(results, expected, strict=True)
    return {
        "method": method,
        "texts": len(texts),
        "broken": sum(row.status == "success" for row in results),
        "queries": sum(row.queries for row in results) / len(texts),
        "seconds": seconds,
        "plain_seconds": plain_seconds,
        "asked": asked,
        "plain_asked": plain_asked,
        "same": sum(replace(a, seconds=0.0) == replace(b, seconds=0.0) for a, b in pairs),
    }


def measured(classifier: TextClassifier, texts: Sequence[str], method: str) -> tuple[float, float, list[AttackResult]]:
    """Processor seconds per text, those of them that went into answers, and the results."""
    assert classifier.table is not None
    asked = 0.0
    together = ClassifierEngine.together

    def timed(engines: Any, queries: Any) -> Any:
        nonlocal asked
        began = time.process_time()
        found = together(engines, queries)
        asked += time.process_time() - began
        return found

    ClassifierEngine.together = staticmethod(timed)  # type: ignore[method-assign]
    try:
        began = time.process_time()
        results = attack(classifier, texts, classifier.table, method=method)
        seconds = time.process_time() - began
    finally:
        ClassifierEngine.together = staticmethod(together)  # type: ignore[method-assign]
    return seconds / len(texts), asked / len(texts), results


@contextmanager
def without_engine() -> Iterator[None]:
    """The model is asked in the plain way while this lasts."""
    kept = query_engine.dispatch(BagOfNgrams)
    query_engine.register(BagOfNgrams, PlainEngine)
    try:
        yield
    finally:
        query_engine.register(BagOfNgrams, kept)


if __name__ == "__main__":
    sys.exit(main())
