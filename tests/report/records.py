"""Run records made up for tests of reports: no model was trained for them."""

from __future__ import annotations

import numpy as np

from sgbt.core.shares import Share
from sgbt.evaluate import RunRecord
from sgbt.evaluate.metrics import BUDGETS, share_figures
from sgbt.evaluate.significance import packed

METHODS = ("standard", "ibp", "atfl", "sem", "ascc", "gbm", "sgbt", "certified")


def record(
    dataset: str = "imdb",
    model: str = "cnn",
    label: str = "sgbt",
    seed: int = 0,
    *,
    objective: str | None = None,
    options: dict[str, float] | None = None,
    texts: int = 1000,
    grid: str = "table1",
) -> RunRecord:
    """Figures drawn from the record's name; robust texts are right and certified ones robust."""
    random = np.random.default_rng([seed, *f"{dataset}{model}{label}".encode()])
    clean = random.random(texts) < random.uniform(0.78, 0.93)
    certified = clean & (random.random(texts) < random.uniform(0.2, 0.95))
    metrics = {
        "epochs": 5,
        "dev": {"accuracy": 0.8 + 0.01 * seed, "score": 0.8},
        "seconds_per_epoch": 12.5,
        "seconds_per_epoch_total": 5,
        "seconds_per_epoch_interval": [12.0, 13.0],
        **share_figures("clean", Share(int(clean.sum()), texts)),
        **share_figures("certified", Share(int(certified.sum()), texts)),
        "certified_by_budget": {
            str(n): int(certified.sum() + (clean.sum() - certified.sum()) * 0.7**n) for n in BUDGETS
        },
        "certified_tiers": {"ibp": {"tried": texts, "certified": 5, "median_milliseconds": 1.25}},
        "certified_milliseconds": 2.5,
        "certified_milliseconds_total": texts,
        "certified_milliseconds_interval": [2.4, 2.6],
        "attacks": {},
    }
    outcomes = {"clean": packed(clean), "certified": packed(certified)}
    for attack in ("pwws", "genetic", "pso"):
        held = certified | (clean & (random.random(texts) < random.uniform(0.1, 0.8)))
        right, kept = int(clean.sum()), int(held.sum())
        metrics["attacks"][attack] = {
            **share_figures("robust", Share(kept, texts), "robust_accuracy"),
            **share_figures("aua", Share(kept, right), "aua"),
            **share_figures("success", Share(right - kept, right), "success_rate"),
            "queries": 321.5,
            "queries_total": right,
            "queries_interval": [300.0, 340.0],
            "words_changed": 0.08,
            "words_changed_total": 9,
            "words_changed_interval": [0.05, 0.11],
            "seconds": 0.25,
            "seconds_total": right,
            "seconds_interval": None,
        }
        outcomes[attack] = packed(held)
    name = f"{dataset}/{model}/{label}/{seed}"
    parts = ("cross_entropy", "growth", "curvature") if label.startswith("sgbt") else ("cross_entropy",)
    return RunRecord(
        grid=grid, dataset=dataset, model=model, objective=objective or label, label=label, seed=seed,
        config={"objective_options": options or {}}, substitutions={"name": "counter_fitted", "hash": "0" * 64},
        data_hash="1" * 64, commit="2" * 40, command=f"sgbt bench {grid} --only {name} --out results/{grid}",
        units={"train": name}, metrics=metrics, outcomes=outcomes,
        curve=tuple(
            {"epoch": epoch, "parts": {part: 0.5 / (epoch + place) for place, part in enumerate(parts)},
             "accuracy": 0.8, "dev": {"accuracy": 0.8}, "best": epoch == 4}
            for epoch in range(1, 6)
        ),
        weakest=(["fine", "good", 12], ["film", "movie", 7]),
    )  # fmt: skip


def table1() -> list[RunRecord]:
    return [
        record(dataset, model, label, seed)
        for dataset in ("imdb", "yahoo_answers")
        for model in ("cnn", "bilstm")
        for label in METHODS
        for seed in ((0, 1) if (dataset, model) == ("imdb", "cnn") else (0,))
    ]


def sweep() -> list[RunRecord]:
    return [
        record(
            "imdb", "bilstm", f"sgbt-beta{beta}-gamma{gamma}", objective="sgbt", options={"beta": beta, "gamma": gamma}
        )
        for beta in (0.01, 0.1, 1.0)
        for gamma in (0.0, 0.1, 0.3, 1.0)
    ]
