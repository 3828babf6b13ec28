"""The drawn sections of a report."""

from __future__ import annotations

from collections.abc import Sequence

from sgbt.evaluate import Mean, RunRecord
from sgbt.report import charts
from sgbt.report.document import Chart, Section
from sgbt.report.methods import MethodRuns, attacks_in, by_model, titled

FIRST = "cross_entropy"
"""The loss part that every objective has, drawn first."""


def trade_off(methods: Sequence[MethodRuns]) -> Section:
    """Clean against robust and certified accuracy."""
    drawn = []
    for title, group in titled(methods):
        dots = []
        for method in group:
            clean = method.value("clean")
            robust = [value for attack in attacks_in([method]) if (value := method.value("robust", attack)) is not None]
            if clean is not None and (robust or method.value("certified") is not None):
                dots.append(charts.Dot(method.label, clean, min(robust, default=None), method.value("certified")))
        if dots:
            drawn.append(Chart(title, charts.accuracy_against_robustness(title, dots)))
    note = (
        "Robust is under the attack that leaves least, on the attacked sample; what no attack found may still exist, "
        "and what is certified cannot be broken. Of the same texts, nothing lies above the dashed line."
    )
    return Section("Accuracy against robustness", note, charts=tuple(drawn))


def by_budget(methods: Sequence[MethodRuns]) -> list[Chart]:
    """Certified accuracy by the number of words replaced at once."""
    drawn = []
    for title, group in titled(methods):
        own = [method for method in group if "certified_by_budget" in method.first.metrics]
        if own:
            steps = sorted(own[0].first.metrics["certified_by_budget"], key=int)
            series = {
                method.label: [
                    *((float(place), _certified_within(method, step)) for place, step in enumerate(steps)),
                    (float(len(steps)), method.value("certified")),
                ]
                for method in own
            }
            svg = charts.lines(
                title, series, "words replaced at once, at most", "certified accuracy", ticks=[*steps, "any"]
            )
            drawn.append(Chart(title, svg))
    return drawn


def penalties(methods: Sequence[MethodRuns]) -> Section:
    """Robust accuracy over the weights beta and gamma: a map where both vary, and a curve for each model."""
    drawn = []
    for (dataset, model, substitutions), group in by_model(methods).items():
        points = {key: method for method in group if (key := _weights(method.first)) is not None}
        betas, gammas = sorted({beta for beta, _ in points}), sorted({gamma for _, gamma in points})
        for attack in attacks_in(list(points.values())):
            title = f"{dataset}, {model}, {attack}, substitutions {substitutions}"
            for what, metric in (("aua", "AUA, of correct texts"), ("robust", "robust, of all texts")):
                if len(betas) > 1 and len(gammas) > 1:
                    values = {(f"{b:g}", f"{g:g}"): method.value(what, attack) for (b, g), method in points.items()}
                    rows, columns = [f"{beta:g}" for beta in betas], [f"{gamma:g}" for gamma in gammas]
                    svg = charts.heatmap(f"{title}: {metric}", rows, columns, values, "beta", "gamma")
                    drawn.append(Chart(f"{title}: {metric}", svg))
            for beta in betas:
                own = [(gamma, points[beta, gamma]) for gamma in gammas if (beta, gamma) in points]
                if len(own) > 2 and (len(betas) == 1 or beta == 0.1):
                    series = {
                        name: [(float(place), method.value(what, attack if what != "clean" else None))
                               for place, (_, method) in enumerate(own)]
                        for name, what in (("AUA", "aua"), ("robust", "robust"), ("clean", "clean"))
                    }  # fmt: skip
                    ticks = [f"{gamma:g}" for gamma, _ in own]
                    svg = charts.lines(title, series, f"gamma, at beta {beta:g}", "share of texts", ticks=ticks)
                    drawn.append(Chart(f"{title}, beta {beta:g}", svg))
    note = (
        "The paper names beta 0.1 and gamma 0.3 as the best values (AUA 82.0 for the BiLSTM, 86.1 for the CNN, which "
        "its own Table 1 contradicts); its penalties are not normalised as ours are."
    )
    return Section("Robustness by beta and gamma", note, charts=tuple(drawn))


def training_curves(methods: Sequence[MethodRuns]) -> Section:
    """The parts of the loss by epoch, for the first seed of every method."""
    drawn, seen = [], set()
    for method in methods:
        record = method.first
        if not record.curve or record.units.get("train") in seen:
            continue
        seen.add(record.units.get("train"))
        names = sorted(
            {name for epoch in record.curve for name in epoch["parts"]}, key=lambda name: (name != FIRST, name)
        )
        parts = {name: [float(epoch["parts"].get(name, 0.0)) for epoch in record.curve] for name in names}
        best = [epoch["epoch"] for epoch in record.curve if epoch["best"]]
        note = f"kept: epoch {best[-1]} of {len(record.curve)}" if best else ""
        drawn.append(Chart(record.name, charts.losses(record.name, parts), note))
    return Section("Loss parts while training", "Means over each epoch.", charts=tuple(drawn), folded=len(drawn) > 4)


def _weights(record: RunRecord) -> tuple[float, float] | None:
    options = record.config.get("objective_options", {})
    if record.objective != "sgbt" or "beta" not in options or "gamma" not in options:
        return None
    return float(options["beta"]), float(options["gamma"])


def _certified_within(method: MethodRuns, step: str) -> float | None:
    """The mean over seeds, as for every other figure."""
    metrics = [record.metrics for record in method.records if step in record.metrics.get("certified_by_budget", {})]
    shares = [
        each["certified_by_budget"][step] / each["certified_total"] for each in metrics if each["certified_total"]
    ]
    return Mean.of(shares).value if shares else None
