"""What training costs, as ratios within one run: steps of every objective against a standard step, and what makes
steps cheap.

Run: python benchmarks/training.py [--quick] [--rounds N] [--out FILE]. Needs IMDB and GloVe (300 numbers a word) and,
for the objectives that take substitutions, the counter-fitted table. The ways that are compared take turns, step by
step, on the same batches, and medians of processor time (one thread) are reported: what else the machine does meets all
of them alike.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch
from _rows import write_rows

from sgbt.core.errors import ResourceError
from sgbt.data import load_dataset
from sgbt.embeddings import load_embeddings
from sgbt.models import BiLSTM, TextCNN
from sgbt.threats import SubstitutionIndex, SubstitutionTable, Vocabulary
from sgbt.training import ASCC, ATFL, GBM, IBP, SEM, SGBT, Certified, Objective, Standard
from sgbt.training.loop.steps import Corpus, Examples, Step, steps_of
from sgbt.training.objectives.objective import Loss

BATCH, LONGEST, RATE = 64, 512, 1e-4
CPU = torch.device("cpu")


class Stepper:
    """One model under one objective, ready to take steps as the loop takes them."""

    def __init__(self, model: TextCNN | BiLSTM, objective: Objective, first: Step) -> None:
        self.loss = Loss(model, objective)
        self.loss.reference = objective.start(model, first)
        self.trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimiser = torch.optim.Adam(self.trainable, lr=RATE, weight_decay=1e-4)

    def __call__(self, step: Step) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        parts = self.loss(step)
        torch.stack(list(parts.values())).sum().backward()
        torch.nn.utils.clip_grad_norm_(self.trainable, 5.0)
        self.optimiser.step()


def compared(ways: dict[str, Callable[[Step], None]], steps: list[Step], rounds: int) -> dict[str, list[float]]:
    """Processor seconds of every way on every step, the ways taking turns and each beginning as often as the others."""
    names = list(ways)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for way in ways.values():
        way(steps[0])
    for turn in range(rounds):
        for place, step in enumerate(steps):
            first = (turn + place) % len(names)
            for name in names[first:] + names[:first]:
                start = time.process_time()
                ways[name](step)
                seconds[name].append(time.process_time() - start)
    return seconds


def told(model: str, title: str, seconds: dict[str, list[float]], base: str) -> list[dict[str, object]]:
    """For each way its median time, and the median of its ratio to the base on the same step; printed and returned."""
    print(f"{model}, {title}:")
    rows: list[dict[str, object]] = []
    for name, own in seconds.items():
        ratio = statistics.median(one / other for one, other in zip(own, seconds[base], strict=True))
        milliseconds = statistics.median(own) * 1e3
        print(f"  {name:<28}{milliseconds:9.1f} ms   {ratio:6.3f} x {base}", flush=True)
        row = {"model": model, "title": title, "way": name, "against": base, "ratio": ratio}
        rows.append(row | {"milliseconds": milliseconds, "mean_milliseconds": statistics.mean(own) * 1e3})
    return rows


def padded(step: Step, longest: int) -> Step:
    """The same batch, every text filled up to `longest` words."""
    missing = longest - step.ids.shape[1]
    return replace(
        step,
        ids=torch.nn.functional.pad(step.ids, (0, missing)),
        mask=torch.nn.functional.pad(step.mask, (0, missing)),
        substitutions=None,
    )


def spread(steps: Iterator[Step], count: int) -> list[Step]:
    """A few batches from short to long, so that medians speak of the middle of the corpus."""
    everything = sorted((step for _, step in zip(range(200), steps, strict=False)), key=lambda step: step.ids.shape[1])
    return [everything[(2 * place + 1) * len(everything) // (2 * count)] for place in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer batches and rounds: about two minutes")
    parser.add_argument("--rounds", type=int, help="how often each way has its turn: 8, or 3 where quick")
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
    arguments = parser.parse_args()
    quick = arguments.quick
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    vectors, reviews = load_embeddings("glove"), load_dataset("imdb").train
    try:
        table = SubstitutionTable.counter_fitted()
    except ResourceError:
        table = SubstitutionTable.counter_fit(vectors)
    tokens = reviews.tokenised()
    counts = tokens.counts()
    vocabulary = Vocabulary.build(
        {word: n for word, n in counts.items() if word in vectors}, table=table, vectors=vectors
    )
    index, corpus = SubstitutionIndex.build(table, vocabulary), Corpus(vocabulary, counts, table)
    rows = tokens.as_ids_of(index.rows_of(tokens.types)).cut(LONGEST)
    examples = Examples(rows, reviews.labels, len(vocabulary), index)
    batches = steps_of(examples, size=BATCH, device=CPU, substitutes=True, seed=0, epoch=9)
    steps = spread(batches, 3 if quick else 7)
    print(f"IMDB, {vectors.width} numbers a word, batches of {BATCH} with {[s.ids.shape[1] for s in steps]} words")

    def model(kind: type[TextCNN] | type[BiLSTM]) -> TextCNN | BiLSTM:
        torch.manual_seed(0)
        made = kind(vectors)
        made.embedding.adopt(vocabulary)
        return made.train()

    rounds = arguments.rounds or (3 if quick else 8)
    rows: list[dict[str, object]] = []
    for kind in (TextCNN, BiLSTM):
        for group, turns in (
            ((Standard(), GBM(), SGBT(), SEM()), 3 * rounds),
            ((Standard(), IBP(ramp_epochs=0), Certified(ramp_epochs=0), ATFL(), ASCC()), max(rounds // 4, 1)),
        ):
            some = steps[:2] if quick and len(group) > 4 else steps
            ways = {each.name: Stepper(each.prepare(model(kind), corpus), each, steps[0]) for each in group}
            rows += told(kind.__name__, "one step", compared(ways, some, turns), "standard")
    for kind in (TextCNN, BiLSTM):
        stepper = Stepper(model(kind), Standard(), steps[0])
        ways = {"buckets": stepper, f"padded to {LONGEST}": lambda step, take=stepper: take(padded(step, LONGEST))}
        rows += told(kind.__name__, "texts of like length together", compared(ways, steps, rounds), "buckets")
    rows += distinct(model(TextCNN), steps, rounds)
    rows += denormal(model(BiLSTM), steps, max(rounds // 4, 1))
    if arguments.out:
        write_rows(arguments.out, ({**row, "texts": BATCH} for row in rows))


def distinct(network: TextCNN | BiLSTM, steps: list[Step], rounds: int) -> list[dict[str, object]]:
    """Each distinct word projected once, against nn.Conv1d over every position: forward and backward."""

    def projected(step: Step) -> None:
        network(step.ids, step.mask).sum().backward()

    def convolved(step: Step) -> None:
        network.from_vectors(network.embedding(step.ids), step.mask).sum().backward()

    ways = {"distinct words": projected, "nn.Conv1d": convolved}
    return told("TextCNN", "the convolution itself", compared(ways, steps, rounds), "distinct words")


def denormal(network: TextCNN | BiLSTM, steps: list[Step], rounds: int) -> list[dict[str, object]]:
    """Numbers below 1e-38 read as zero or computed with: gradients of long texts fade into them."""
    stepper = Stepper(network, Standard(), steps[0])

    def kept(step: Step) -> None:
        torch.set_flush_denormal(False)
        stepper(step)
        torch.set_flush_denormal(True)

    ways = {"flushed": stepper, "kept": kept}
    return told("BiLSTM", "numbers below 1e-38", compared(ways, steps, rounds), "flushed")


if __name__ == "__main__":
    main()
