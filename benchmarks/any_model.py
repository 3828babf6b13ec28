"""Models that are not sgbt's own on IMDB: clean before, clean on encoded text, certified; and smoothing beside them.

Run: python benchmarks/any_model.py MODEL [--threat THREAT] [--distinction D] [--data sst2] [--texts N] [--encoder FILE]
[--out FILE], with MODEL one of those below. All of IMDB's 25,000 train texts are trained on; settings were chosen on a
dev split of them. With --data sst2, its sentences are read from $SGBT_DATA. Without --texts all test texts are
certified, else a random sample (seed 0). vader needs the package vaderSentiment on the path. A row has the
verdict of every text as one letter: certified, broken, abstained, misclassified, vacuous; statistical for smoothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _rows import made_by, trials
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import sgbt
from sgbt.bridges.linear_pipelines import additive_of
from sgbt.bridges.sklearn import CertifiedClassifier, scores_of
from sgbt.certify.black_box import Deletion, Encoder, Substitution, certify_encoded, certify_smoothed, read_encoder
from sgbt.certify.black_box.encoder import DISTINCTION
from sgbt.certify.black_box.fitting import AnyEncoder

ROUNDS = {"logistic": 4, "logistic-binary": 3}
WORDS = r"(?u)\d+(?:[.,]\d+)*(?!\w)|\w+?(?=n't\b)|n't\b|'(?:s|m|d|re|ve|ll)\b|\w+|\.\.+|[^\w\s]"
"""What `sgbt.Tokenizer` takes for a word, marks included, on one line."""
PIPELINES: dict[str, Callable[[], Any]] = {
    "logistic": lambda: make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2), LogisticRegression(C=3, solver="liblinear")
    ),
    "logistic-binary": lambda: make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2, binary=True, token_pattern=WORDS),
        LogisticRegression(C=0.3, solver="liblinear"),
    ),
    "naive-bayes": lambda: make_pipeline(CountVectorizer(ngram_range=(1, 2), min_df=2), MultinomialNB()),
}
NOISES = {
    "safer": lambda table: Substitution(table, steps=1),
    "deletion": lambda table: Deletion(0.9),
}
LETTERS = {"certified": "c", "broken": "b", "abstained": "a", "misclassified": "m", "nothing-to-replace": "v"}


def main() -> None:
    """Train, certify, and append a row."""
    options = parsed()
    texts, labels, tested, truth = sst2() if options.data == "sst2" else imdb()
    order = np.random.default_rng(0).permutation(len(tested))[: options.texts] if options.texts else range(len(tested))
    chosen = list(order)
    test, truth = [tested[each] for each in chosen], truth[chosen]
    make = smoothed if options.model in NOISES else vader if options.model == "vader" else trained
    row = make(options, texts, labels, test, truth)
    about = {"model": options.model, "data": options.data, "threat": options.threat, "texts": len(test)}
    with trials(options.out, "model", "texts", "table") as file:
        file.append({**about, **row, **made_by()})
    print({name: value for name, value in row.items() if name != "verdicts"})


def imdb() -> tuple[list[str], np.ndarray, Sequence[str], np.ndarray]:
    """Texts and labels of train and of test."""
    data = sgbt.load_dataset("imdb")
    labels = np.concatenate([data.train.labels, data.dev.labels])
    return [*data.train.texts, *data.dev.texts], labels, data.test.texts, data.test.labels


def sst2() -> tuple[list[str], np.ndarray, Sequence[str], np.ndarray]:
    """The sentences of SST-2, as published: train and test."""
    found: list[Any] = []
    for name in ("train", "test"):
        path = Path(os.environ["SGBT_DATA"]) / "sst2" / f"{name}.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            rows = [json.loads(line) for line in stream]
        found += [[row["text"] for row in rows], np.array([row["label"] for row in rows])]
    return found[0], found[1], found[2], found[3]


def trained(options: Any, texts: list[str], labels: Any, test: list[str], truth: Any) -> dict[str, Any]:
    """A pipeline on the texts as they are, and on encoded ones."""
    before = PIPELINES[options.model]().fit(texts, labels)
    clean_before = float((before.predict(test) == truth).mean())
    print("before", clean_before, flush=True)
    begun = time.perf_counter()
    rounds = ROUNDS.get(options.model, 0) if "typos" not in options.threat else 0
    model = CertifiedClassifier(
        PIPELINES[options.model](), options.threat, distinction=options.distinction, rounds=rounds
    ).fit(texts, labels)
    training = time.perf_counter() - begun
    if options.encoder:
        model.encoder_.to_json(options.encoder)
    spent = time.process_time()
    rows = certify_encoded(
        scores_of(model.estimator_),
        test,
        model.encoder_,
        labels=truth.tolist(),
        additive=additive_of(model.estimator_) if isinstance(model.encoder_, Encoder) else None,
        max_queries=options.max_queries,
        fingerprint=options.model,
    )
    return figures(rows, time.process_time() - spent, model.encoder_, options.max_queries) | {
        "clean_before": clean_before,
        "rounds": rounds,
        "distinction": options.distinction,
        "training_seconds": round(training),
    }


def vader(options: Any, texts: list[str], labels: Any, test: list[str], truth: Any) -> dict[str, Any]:
    """A scorer by rules, as its authors publish it; only its texts are encoded."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyser = SentimentIntensityAnalyzer()

    def scores(given: list[str]) -> np.ndarray:
        compound = np.array([analyser.polarity_scores(text)["compound"] for text in given])
        return np.stack([-compound, compound], axis=1)

    if options.encoder:
        encoder = read_encoder(options.encoder)
    else:
        encoder = Encoder.fit(texts, sgbt.SubstitutionTable.counter_fitted(), labels.tolist())
    spent = time.process_time()
    rows = certify_encoded(
        scores, test, encoder, labels=truth.tolist(), max_queries=options.max_queries, fingerprint="vaderSentiment"
    )
    found = figures(rows, time.process_time() - spent, encoder, options.max_queries)
    return found | {"clean_before": float((scores(test).argmax(axis=1) == truth).mean())}


def smoothed(options: Any, texts: list[str], labels: Any, test: list[str], truth: Any) -> dict[str, Any]:
    """The logistic pipeline on noisy texts, smoothed by the same noise."""
    table = sgbt.SubstitutionTable.counter_fitted()
    noise = NOISES[options.model](table)
    tokenizer, rng = sgbt.Tokenizer(), np.random.default_rng(0)
    noisy = [noise.sampled(tokenizer.words(text), 1, rng)[0] for text in texts]
    model = PIPELINES["logistic"]().fit([*texts, *noisy], np.concatenate([labels, labels]))
    clean_before = float((model.predict(test) == truth).mean())
    spent = time.process_time()
    rows = certify_smoothed(
        model.predict_proba, test, noise, labels=truth.tolist(), samples=1000, alpha=0.001, fingerprint=options.model
    )
    letters = {"statistical": "s", "abstained": "a", "misclassified": "m"}
    radii = [-1 if row.label != row.predicted else 10**6 if row.radius is None else row.radius for row in rows]
    return {
        "table": table.hash[:12],
        "clean_before": clean_before,
        "clean": float(np.mean([row.label == row.predicted for row in rows])),
        "statistical": float(np.mean([row.verdict == "statistical" for row in rows])),
        "by_radius": {str(number): float(np.mean(np.array(radii) >= number)) for number in (0, 1, 2, 3, 5, 10)},
        "samples": 1000,
        "alpha": 0.001,
        "queries": sum(row.queries for row in rows),
        "cpu_ms": 1000 * (time.process_time() - spent) / len(rows),
        "verdicts": "".join(letters[row.verdict] for row in rows),
    }


def figures(rows: list[Any], spent: float, encoder: AnyEncoder, most: int) -> dict[str, Any]:
    """What the certificates come to."""
    verdicts = "".join(LETTERS[row.verdict] for row in rows)
    return {
        "table": encoder.threat_hash[:12],
        "clean": 1 - verdicts.count("m") / len(rows),
        "certified": verdicts.count("c") / len(rows),
        "broken": verdicts.count("b") / len(rows),
        "abstained": verdicts.count("a") / len(rows),
        "queries": sum(row.queries for row in rows),
        "max_queries": most,
        "cpu_ms": 1000 * spent / len(rows),
        "median_versions": int(np.median([row.combinations for row in rows])),
        "above_limit": float(np.mean([row.combinations > most for row in rows])),
        "clusters": len(set(encoder.codes.values())),
        "encoder": encoder.hash[:12],
        "verdicts": verdicts,
    }


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=(*PIPELINES, "vader", *NOISES))
    parser.add_argument("--threat", default="counter_fitted")
    parser.add_argument("--distinction", type=float, default=DISTINCTION)
    parser.add_argument("--data", choices=("imdb", "sst2"), default="imdb")
    parser.add_argument("--texts", type=int)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--max-queries", type=int, default=4096)
    parser.add_argument("--out", type=Path, default=Path("results/any-model/rows.jsonl"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
