"""The picture of a run: every loss part and the dev scores, as training went."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from sgbt.core.files import atomic_write


def plot_log(rows: list[dict[str, Any]], path: Path) -> bool:
    """Draw the log of a run into a PNG file; False, and nothing written, where matplotlib is not installed."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        return False
    matplotlib.use("Agg", force=False)
    from matplotlib.figure import Figure

    steps = [row for row in rows if "parts" in row]
    ends = [row for row in rows if "dev" in row]
    per_epoch = max((row["step"] for row in ends), default=max((row["step"] for row in steps), default=0) + 1) or 1
    figure = Figure(figsize=(9, 6), layout="constrained")
    losses, scores = figure.subplots(2, 1, sharex=True)
    for name in dict.fromkeys(name for row in steps for name in row["parts"]):
        shown = [row for row in steps if name in row["parts"]]
        at = [row["epoch"] + row["step"] / per_epoch for row in shown]
        losses.plot(at, _smoothed([row["parts"][name] for row in shown]), label=name.replace("_", " "))
    losses.set_ylabel("loss part (running mean)")
    losses.set_yscale("symlog", linthresh=0.01)
    scores.plot(
        [row["epoch"] + row["step"] / per_epoch for row in steps],
        _smoothed([row["accuracy"] for row in steps]),
        label="train accuracy",
    )
    for name in [name for name in (ends[0]["dev"] if ends else {}) if name != "score"]:
        scores.plot([row["epoch"] + 1 for row in ends], [row["dev"][name] for row in ends], "o-", label=f"dev {name}")
    scores.set_ylabel("share of texts")
    scores.set_xlabel("epochs")
    for axis in (losses, scores):
        axis.grid(alpha=0.3)
        axis.legend(loc="best", fontsize="small")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    with atomic_write(path) as stream:
        stream.write(picture.getvalue())
    return True


def _smoothed(values: list[float], window: int = 50) -> list[float]:
    """Running means over the last `window` values."""
    sums, result = 0.0, []
    for place, value in enumerate(values):
        sums += value
        if place >= window:
            sums -= values[place - window]
        result.append(sums / min(place + 1, window))
    return result
