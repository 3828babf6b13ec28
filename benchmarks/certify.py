"""What each tier certifies and costs: fractions and milliseconds per tier, speed of a whole test set, and budgets.

    python benchmarks/certify.py                          small models, trained here on 2,000 reviews: a few minutes
    python benchmarks/certify.py runs/a runs/b --texts 1000 --out results     trained runs, on 1,000 test reviews

Every tier is tried alone, at the real substitution set and with substitutes drawn to 0.1 and 0.3 of their distance.
Fractions are of the texts that the model classifies correctly. Milliseconds are medians of a text's share of its batch.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import torch

import sgbt
from sgbt.certify import DEFAULT_TIERS, certify
from sgbt.certify.summary import Summary
from sgbt.data import Split
from sgbt.models import BiLSTM, TextClassifier, TextCNN, load_classifier, save_classifier
from sgbt.training import GBM, IBP, SGBT, Standard, TrainingConfig, train

LONGEST_BILSTM = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--scales", type=float, nargs="*", default=[0.1, 0.3, 1.0])
    parser.add_argument("--whole", action="store_true", help="also time tier ibp on the whole test set")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    reviews = sgbt.load_dataset("imdb")
    some = reviews.test.take(range(0, len(reviews.test), max(len(reviews.test) // options.texts, 1)))[: options.texts]
    runs = options.runs or small_runs(reviews)
    rows = []
    for run in runs:
        classifier = load_classifier(run)
        if isinstance(classifier.model, BiLSTM):
            classifier = replace(classifier, max_length=min(classifier.max_length, LONGEST_BILSTM))
        rows += measured(classifier, Path(run).name, some, options.scales)
        curve = by_budget(classifier, some)
        rows.append({"run": Path(run).name, "by_budget": curve})
        print(f"{Path(run).name}: certified share of all texts by budget: {shown(curve)}", flush=True)
        if options.out:
            plot(curve, Path(run).name, options.out / f"budget-{Path(run).name}.png")
        if options.whole and isinstance(classifier.model, TextCNN):
            rows.append(whole(classifier, Path(run).name, reviews.test))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "certify.json").write_text(json.dumps(rows, indent=1))


def measured(classifier: TextClassifier, name: str, texts: Split, scales: list[float]) -> list[dict[str, object]]:
    """Each tier alone, then all of them as a user runs them."""
    rows: list[dict[str, object]] = []
    print(f"\n{name}: {len(texts)} texts\n| scale | tier | certified of correct | median ms |\n|---|---|---|---|")
    for scale in scales:
        for tiers in (*((tier,) for tier in DEFAULT_TIERS), DEFAULT_TIERS):
            summary = Summary.of(certify(classifier, texts, tiers=tiers, scale=scale))
            called = tiers[0] if len(tiers) == 1 else "all"
            if not summary.tiers:
                continue  # not offered for this model
            spent = sum(tier.median_milliseconds for tier in summary.tiers)
            print(f"| {scale} | {called} | {summary.certified_of_correct} | {spent:.2f} |", flush=True)
            rows.append({"run": name, "scale": scale, "tiers": called, "milliseconds": spent, **asdict(summary)})
    return rows


def by_budget(classifier: TextClassifier, texts: Split) -> dict[int, float]:
    """The share of all texts that hold while at most n words are replaced, for n from 0 to all (key -1).

    From the radius that one run gives; for n up to 4, where boxes shrink with the budget, from a run for each n.
    """
    proofs = certify(classifier, texts)
    radii = [proof.radius if proof.radius is not None else -1 for proof in proofs]
    pairs = list(zip(radii, proofs, strict=True))
    curve = {n: sum(radius >= min(n, proof.replaceable) for radius, proof in pairs) for n in range(65)}
    for n in range(1, 5):
        curve[n] = max(curve[n], sum(proof.certified for proof in certify(classifier, texts, max_substitutions=n)))
    curve[-1] = sum(proof.certified for proof in proofs)
    return {n: count / max(len(proofs), 1) for n, count in curve.items()}


def shown(curve: dict[int, float]) -> str:
    points = (0, 1, 2, 4, 8, 16, 32, 64, -1)
    return ", ".join(f"{'all' if n < 0 else n}: {100 * curve[n]:.1f} %" for n in points)


def plot(curve: dict[int, float], name: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3))
    budgets = sorted(n for n in curve if n >= 0)
    axes.step(budgets, [100 * curve[n] for n in budgets], where="mid")
    axes.axhline(100 * curve[-1], linestyle="--", linewidth=1, label="any number")
    axes.set(xlabel="words replaced at most", ylabel="certified accuracy, %", title=name, ylim=(0, 100))
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", dpi=120)
    pyplot.close(figure)


def whole(classifier: TextClassifier, name: str, test: Split) -> dict[str, object]:
    start = time.perf_counter()
    summary = Summary.of(certify(classifier, test, tiers=("ibp",)))
    seconds = time.perf_counter() - start
    print(f"{name}: tier ibp on {len(test):,} texts in {seconds:.0f} s; certified {summary.certified}", flush=True)
    return {"run": name, "whole_seconds": seconds, **asdict(summary)}


def small_runs(reviews: sgbt.TextDataset) -> list[Path]:
    """One small TextCNN for each objective, trained on 2,000 reviews."""
    folder = Path(tempfile.mkdtemp(prefix="certify-bench-"))
    vectors, table = sgbt.load_embeddings("glove"), sgbt.SubstitutionTable.counter_fitted()
    some = replace(reviews, train=reviews.train[:2000], dev=reviews.dev[:500])
    config = TrainingConfig(epochs=2, max_length=200)
    runs = []
    for objective in (Standard(), GBM(), SGBT(), IBP()):
        model = TextCNN(vectors, filters=32, kernel_sizes=(3,), pooling="mean", trainable_embedding=True)
        run = train(model, some, objective=objective, substitutions=table, config=config)
        runs.append(save_classifier(run.model, folder / f"cnn-{objective.name}"))
        print(f"trained {runs[-1].name}: {run.dev}", flush=True)
    return runs


if __name__ == "__main__":
    main()
