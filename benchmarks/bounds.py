"""What the bounds cost: ratios within one run, because absolute times belong to a machine.

Three questions (run `python benchmarks/bounds.py`, or with --quick for a minute less):
- one LSTM direction, d0 = 300, d = 64: both totals, forward and backward, in closed form and summed over dense tensors;
- a TextCNN, N = 512, d0 = 300, 3 x 128 filters: both totals against one training step at batch 64;
- how the cost of both totals grows with d0, d and N.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import torch
from _rows import write_rows
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from sgbt.bounds import ConvBounds, Interval, LSTMCellBounds, StackedCurvature, StackedGrowth
from sgbt.bounds.growth import human_size

mpl.use("Agg")
import matplotlib.pyplot as plt

KERNELS = (3, 4, 5)


@dataclass(frozen=True)
class Timing:
    """Median CPU seconds of one call, over so many calls."""

    name: str
    seconds: float
    calls: int


def once(call: Callable[[], object]) -> float:
    """CPU seconds of this process, so that what else the machine is doing counts as little as possible."""
    started = time.process_time()
    call()
    return time.process_time() - started


def measure(name: str, call: Callable[[], object], *, budget: float, least: int = 3) -> Timing:
    """Median of repeated calls within a budget of seconds, after one that does not count."""
    once(call)
    times: list[float] = []
    while len(times) < least or sum(times) < budget:
        times.append(once(call))
    return Timing(name, statistics.median(times), len(times))


def measure_together(calls: dict[str, Callable[[], object]], *, rounds: int) -> list[Timing]:
    """Medians over rounds in which every call has its turn, so that a busy machine slows all of them alike."""
    for call in calls.values():
        once(call)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(once(call))
    return [Timing(name, statistics.median(values), len(values)) for name, values in times.items()]


def lstm_bounds(d0: int, d: int) -> tuple[nn.LSTMCell, Callable[[], LSTMCellBounds]]:
    torch.manual_seed(0)
    cell = nn.LSTMCell(d0, d)
    words = Interval.symmetric(torch.ones(d0))
    return cell, lambda: LSTMCellBounds.of(cell, inputs=words, steps=3)


def conv_bounds(
    d0: int, filters: int, length: int, *, over_reals: bool = False
) -> tuple[list[nn.Conv1d], Callable[[], list[ConvBounds]]]:
    torch.manual_seed(0)
    convs = [nn.Conv1d(d0, filters, kernel) for kernel in KERNELS]
    words = None if over_reals else Interval.symmetric(torch.ones(d0))
    return convs, lambda: [ConvBounds.of(conv, length=length, inputs=words) for conv in convs]


def both_totals(bounds: LSTMCellBounds) -> None:
    (bounds.growth.total() + bounds.curvature.total()).backward()


def both_conv_totals(bounds: list[ConvBounds]) -> None:
    growth, curvature = StackedGrowth([b.growth for b in bounds]), StackedCurvature([b.curvature for b in bounds])
    (growth.total() + curvature.total()).backward()


def dense_sums(bounds: LSTMCellBounds, *, factorised: bool) -> None:
    sums = [operator.dense(factorised=factorised).sum() for operator in (bounds.growth, bounds.curvature)]
    torch.stack(sums).sum().backward()


def compare_lstm(d0: int, d: int, *, rounds: int) -> list[Timing]:
    _, build = lstm_bounds(d0, d)
    fast = {
        "closed form": lambda: both_totals(build()),
        "dense, factorised": lambda: dense_sums(build(), factorised=True),
    }
    signed = Timing("dense, signed", once(lambda: dense_sums(build(), factorised=False)), 1)
    return [*measure_together(fast, rounds=rounds), signed]


class TextCNN(nn.Module):
    """The paper's CNN, as a yardstick: embedding, convolutions, tanh, max pooling, a linear head."""

    def __init__(self, words: int, d0: int, filters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, d0)
        self.convs = nn.ModuleList(nn.Conv1d(d0, filters, kernel) for kernel in KERNELS)
        self.head = nn.Linear(filters * len(KERNELS), 2)

    def forward(self, ids: Tensor) -> Tensor:
        text = self.embedding(ids).transpose(1, 2)
        return self.head(torch.cat([conv(text).tanh().amax(2) for conv in self.convs], dim=1))


def compare_cnn(d0: int, filters: int, length: int, batch: int, *, rounds: int) -> list[Timing]:
    torch.manual_seed(0)
    model = TextCNN(20_000, d0, filters)
    optimiser = torch.optim.Adam(model.parameters())
    ids, labels = torch.randint(20_000, (batch, length)), torch.randint(2, (batch,))

    def step() -> None:
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(ids), labels).backward()
        optimiser.step()

    _, build = conv_bounds(d0, filters, length)
    _, build_over_reals = conv_bounds(d0, filters, length, over_reals=True)
    calls = {
        "one training step": step,
        "both totals, over a box": lambda: both_conv_totals(build()),
        "both totals, over all reals": lambda: both_conv_totals(build_over_reals()),
    }
    return measure_together(calls, rounds=rounds)


def growth_of_cost(quick: bool, *, budget: float) -> dict[str, list[tuple[int, float]]]:
    """Milliseconds of both totals, forward and backward, as one size doubles and the others stand."""
    steps = 3 if quick else 5
    curves: dict[str, list[tuple[int, float]]] = {}

    def add(label: str, size: int, call: Callable[[], object]) -> None:
        timing = measure(label, call, budget=budget, least=10)
        curves.setdefault(label, []).append((size, 1e3 * timing.seconds))

    for size in (75 * 2**n for n in range(steps)):
        _, build = lstm_bounds(size, 64)
        add("LSTM, d0 (d = 64)", size, lambda build=build: both_totals(build()))
    for size in (32 * 2**n for n in range(steps)):
        _, build = lstm_bounds(300, size)
        add("LSTM, d (d0 = 300)", size, lambda build=build: both_totals(build()))
    for size in (75 * 2**n for n in range(steps)):
        _, build = conv_bounds(size, 128, 512)
        add("CNN, d0 (N = 512)", size, lambda build=build: both_conv_totals(build()))
    for size in (128 * 2**n for n in range(steps)):
        _, build = conv_bounds(300, 128, size)
        add("CNN, N (d0 = 300)", size, lambda build=build: both_conv_totals(build()))
    return curves


def ratio_table(title: str, timings: list[Timing], base: Timing) -> Table:
    table = Table("what", "median CPU", "calls", f"against {base.name}", title=title)
    for timing in timings:
        ratio = timing.seconds / base.seconds
        shown = f"{ratio:,.1f} x" if ratio >= 1 else f"{100 * ratio:.2f} %"
        table.add_row(timing.name, f"{1e3 * timing.seconds:,.2f} ms", str(timing.calls), shown)
    return table


def curve_table(curves: dict[str, list[tuple[int, float]]]) -> Table:
    table = Table("growing size", "CPU milliseconds of both totals, forward and backward", title="How the cost grows")
    for label, points in curves.items():
        table.add_row(label, "   ".join(f"{size}: {cost:.2f}" for size, cost in points))
    return table


def plot(curves: dict[str, list[tuple[int, float]]], path: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for label, points in curves.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("size that grows")
    axes.set_ylabel("both totals, forward and backward (CPU ms)")
    axes.set_title("Closed-form totals cost about as much as reading the weights")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer repetitions")
    parser.add_argument("--plot", type=Path, default=Path(".benchmarks/bounds.png"), help="where the plot goes")
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
    parser.add_argument("--threads", type=int, default=1, help="one, unless the machine is yours alone")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    quick, console = arguments.quick, Console()
    budget = 0.3 if quick else 2.0

    d0, d = (100, 32) if quick else (300, 64)
    lstm = compare_lstm(d0, d, rounds=5 if quick else 31)
    console.print(ratio_table(f"One LSTM direction, d0 = {d0}, d = {d}, float32", lstm, lstm[0]))

    length, filters, batch = (64, 32, 16) if quick else (512, 128, 64)
    cnn = compare_cnn(300, filters, length, batch, rounds=3 if quick else 7)
    dense = sum(4 * filters * (length * 300) ** 2 for _ in KERNELS)
    title = (
        f"TextCNN, N = {length}, d0 = 300, 3 x {filters} filters, batch {batch}: dense would take {human_size(dense)}"
    )
    console.print(ratio_table(title, cnn, cnn[0]))

    curves = growth_of_cost(quick, budget=budget / 4)
    console.print(curve_table(curves))
    plot(curves, arguments.plot)
    console.print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; plot in {arguments.plot}")
    if arguments.out:
        compared = [
            {"layer": layer, "way": each.name, "milliseconds": 1e3 * each.seconds, "ratio": each.seconds / base.seconds}
            for layer, timings in (("LSTM", lstm), ("CNN", cnn))
            for base in timings[:1]
            for each in timings
        ]
        write_rows(arguments.out, [*compared, *({"grows": name, "points": found} for name, found in curves.items())])


if __name__ == "__main__":
    main()
