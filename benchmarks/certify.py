"""What each tier certifies and costs: fractions and milliseconds per tier, speed of a whole test set, and budgets.

    python benchmarks/certify.py                          the models of the grid `certificates`: half an hour, kept
    python benchmarks/certify.py runs/a runs/b --texts 1000 --whole --threads 2 --out rows.jsonl     trained runs

Every tier is tried on every text, at the real substitution set and with substitutes drawn to 0.3 and 0.1 of their
distance; "any" is what a user gets, who stops at the first tier that certifies. Fractions are of the texts that the
model classifies correctly. Milliseconds are of processor time on one core: medians of a text's share of its batch.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
from _rows import write_rows

import sgbt
from sgbt.certify import DEFAULT_TIERS, Specification, certify, in_float64, rounding_slack
from sgbt.certify.certificate import Verdict
from sgbt.certify.certifying import words_at_once
from sgbt.certify.read_texts import ReadTexts
from sgbt.certify.rows.summary import Summary
from sgbt.certify.tiers import bounds_of, lowest_of, offered
from sgbt.certify.verifier import verifiers
from sgbt.certify.word_tables import WordTables
from sgbt.cli.app import keep_freed_memory
from sgbt.core.shares import Share
from sgbt.data import Split
from sgbt.evaluate import load_grid
from sgbt.evaluate.bench import Published
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.unit import training_unit
from sgbt.models import BiLSTM, TextClassifier, TextCNN, load_classifier
from sgbt.threats import SubstitutionIndex

LONGEST_BILSTM = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--scales", type=float, nargs="*", default=[1.0, 0.3, 0.1])
    parser.add_argument("--no-budgets", action="store_true", help="leave out the curve over budgets")
    parser.add_argument(
        "--whole",
        action="store_true",
        help="also time tier ibp on the whole test set, and all tiers",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--trained", type=Path, default=Path("runs/certify"), help="where the runs made here are kept")
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured; the plot of budgets goes beside them")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()  # as the command does
    reviews = sgbt.load_dataset("imdb")
    some = reviews.test.take(range(0, len(reviews.test), max(len(reviews.test) // options.texts, 1)))[: options.texts]
    runs = options.runs or trained_runs(options.trained)
    rows = []
    for run in runs:
        classifier = load_classifier(run)
        if isinstance(classifier.model, BiLSTM):
            classifier = replace(classifier, max_length=min(classifier.max_length, LONGEST_BILSTM))
        rows += measured(classifier, Path(run).name, some, options.scales)
        if not options.no_budgets:
            curve = by_budget(classifier, some)
            rows.append({"run": Path(run).name, "by_budget": curve})
            print(f"{Path(run).name}: certified share of all texts by budget: {shown(curve)}", flush=True)
        if options.whole and isinstance(classifier.model, TextCNN):
            rows += [whole(classifier, Path(run).name, reviews.test), all_tiers(classifier, Path(run).name, some)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory {peak:.2f} GB")
    if options.out:
        write_rows(options.out, [*rows, {"peak_gigabytes": peak}])
        if not options.no_budgets:
            plot(rows, options.out.with_suffix(".png"))


@torch.no_grad()
def measured(classifier: TextClassifier, name: str, texts: Split, scales: list[float]) -> list[dict[str, object]]:
    """Every tier on every text that is classified correctly."""
    index = SubstitutionIndex.build(classifier.table, classifier.vocabulary)
    corpus, model = ReadTexts.of(classifier, texts, None, index), in_float64(classifier.model)
    right = [row for row in range(len(corpus)) if corpus.logits[row].argmax() == corpus.labels[row]]
    slack = rounding_slack(classifier)
    rows: list[dict[str, object]] = []
    print(f"\n{name}: {len(texts)} texts, {len(right)} classified correctly", flush=True)
    print("| scale | tier | certified of correct | median ms | median margin bound |\n|---|---|---|---|---|")
    for scale in scales:
        tables, margins, spent = WordTables(index), dict[str, list[float]](), dict[str, list[float]]()
        for batch in corpus.batches(right, words_at_once(model)):
            labels = torch.from_numpy(corpus.labels[batch.rows.numpy()])
            spec = Specification.of(
                index.for_rows(batch.ids),
                batch.mask,
                labels,
                classes=len(classifier.label_names),
                scale=scale,
                rows=batch.ids,
                reference="itself",
            )
            readings = verifiers(model, spec, tables)
            for tier in DEFAULT_TIERS:
                if offered(tier, readings):
                    start = time.thread_time()
                    found = lowest_of(bounds_of(tier, readings)).amin(dim=1).tolist()
                    share = 1000 * (time.thread_time() - start) / len(found)
                    margins.setdefault(tier, []).extend(found)
                    spent.setdefault(tier, []).extend([share] * len(found))
        margins["any"] = [max(each) for each in zip(*margins.values(), strict=True)]
        spent["any"] = [sum(each) for each in zip(*spent.values(), strict=True)]
        for tier, found in margins.items():
            certified = Share(sum(margin > slack for margin in found), len(found))
            milliseconds, middle = median(spent[tier]), median(found)
            print(f"| {scale} | {tier} | {certified} | {milliseconds:.1f} | {middle:.4g} |", flush=True)
            rows.append(
                {
                    "run": name,
                    "scale": scale,
                    "tier": tier,
                    "certified": certified.count,
                    "of": certified.total,
                    "median_milliseconds": milliseconds,
                    "median_margin": middle,
                }
            )
    return rows


def by_budget(classifier: TextClassifier, texts: Split) -> dict[int, float]:
    """The share of all texts that hold while at most n words are replaced, for n from 0 to all (key -1).

    From the radius that one run gives; for n up to 4, where boxes shrink with the budget, from a run for each n.
    """
    proofs = certify(classifier, texts)
    radii = [proof.radius if proof.radius is not None else -1 for proof in proofs]
    pairs = list(zip(radii, proofs, strict=True))
    curve = {n: sum(proof.certified or radius >= n for radius, proof in pairs) for n in range(65)}
    for n in range(1, 5):
        curve[n] = max(curve[n], sum(proof.certified for proof in certify(classifier, texts, max_substitutions=n)))
    curve[-1] = sum(proof.certified for proof in proofs)
    return {n: count / max(len(proofs), 1) for n, count in curve.items()}


def shown(curve: dict[int, float]) -> str:
    points = (0, 1, 2, 4, 8, 16, 32, 64, -1)
    return ", ".join(f"{'all' if n < 0 else n}: {100 * curve[n]:.1f} %" for n in points)


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """All curves over budgets in one picture; a line at the right end is what holds for any number of words."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5))
    for row in rows:
        if "by_budget" in row:
            curve = {int(n): 100 * share for n, share in row["by_budget"].items()}
            budgets = sorted(n for n in curve if n >= 0)
            (line,) = axes.step(budgets, [curve[n] for n in budgets], where="mid", label=row["run"])
            axes.plot([budgets[-1], budgets[-1] + 4], [curve[-1]] * 2, linestyle=":", color=line.get_color())
    axes.set(xlabel="words replaced at most (dotted: any number)", ylabel="certified, % of all texts", ylim=(0, 100))
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", dpi=120)
    pyplot.close(figure)


def whole(classifier: TextClassifier, name: str, test: Split) -> dict[str, object]:
    start, used = time.perf_counter(), time.process_time()
    summary = Summary.of(certify(classifier, test, tiers=("ibp",)))
    seconds, used = time.perf_counter() - start, time.process_time() - used
    told = f"{seconds:.0f} s ({used:.0f} s of processor time)"
    print(f"{name}: tier ibp on {len(test):,} texts in {told}; certified {summary.certified}", flush=True)
    return {"run": name, "whole_seconds": seconds, "processor_seconds": used, **asdict(summary)}


def all_tiers(classifier: TextClassifier, name: str, texts: Split) -> dict[str, object]:
    """What a user waits for: all that `certify` does with some texts, on all threads, five times from nothing."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        proofs = certify(classifier, texts)
        times.append(time.perf_counter() - start)
    right = [proof for proof in proofs if proof.verdict is not Verdict.MISCLASSIFIED]
    alone = sum(sum(proof.milliseconds.values()) for proof in right) / len(right)
    middle = 1000 * median(times)
    print(
        f"{name}: all tiers on {len(texts):,} texts, median of five times: {middle / len(texts):.2f} ms each, "
        f"{middle / len(right):.2f} for each of {len(right):,} correct ones ({alone:.1f} of one core in the tiers)"
    )
    return {"run": name, "texts": len(texts), "wall_seconds": times, "correct": len(right), "mean_milliseconds": alone}


def trained_runs(folder: Path) -> list[Path]:
    """The eight models of the grid `certificates`; those that the folder has are kept."""
    materials, runs = Materials(), []
    for cell in load_grid("certificates").cells():
        runs.append(folder / f"{cell.model}-{cell.method.label}")
        if not (runs[-1] / "config.json").exists():
            run = Published(cell, training_unit(cell, materials), materials).train(runs[-1])
            print(f"trained {runs[-1].name}: {run.dev}", flush=True)
    return runs


if __name__ == "__main__":
    main()
