"""What building substitutions costs, each against the plain way in the same run: seconds and peak memory.

Run: python benchmarks/lexicon.py [reviews]. Every measurement runs in a process of its own, and its memory is the
growth of that process above where it started.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from sgbt.core.errors import ResourceError
from sgbt.data import batches, load_dataset, tokenise
from sgbt.data.tokenised import RaggedIds, TokenisedTexts
from sgbt.embeddings import load_embeddings
from sgbt.resources import get
from sgbt.threats import SubstitutionIndex, SubstitutionTable, Vocabulary, read_wordnet
from sgbt.threats.neighbours import nearest_neighbours

BATCH = 64
Measurement = tuple[float, float, object]
"""Seconds, megabytes, and what was computed."""


def measured(task: Callable[[], object]) -> Measurement:
    """Seconds, megabytes above the start, and what the task returned, from a forked process."""

    def run(sender: multiprocessing.connection.Connection) -> None:
        torch.set_num_threads(1)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        before = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        start = time.perf_counter()
        answer = task()
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        sender.send((seconds, max(0.0, peak - before), answer))

    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=run, args=(sender,))
    process.start()
    sender.close()
    answer = receiver.recv()
    process.join()
    return answer


def substitutions_by_gather(index: SubstitutionIndex, texts: TokenisedTexts) -> int:
    """All batches of a corpus, one gather each; returns how many choices there are, so that nothing is skipped."""
    rows = texts.as_ids_of(index.rows_of(texts.types))
    return sum(int(index.for_rows(batch.ids).allowed.sum()) for batch in batches(rows, size=BATCH))


def substitutions_by_loop(table: SubstitutionTable, vocabulary: Vocabulary, texts: TokenisedTexts) -> int:
    """The plain way: look up every word of every text, pad with Python lists, make tensors."""
    total = 0
    numbered = RaggedIds(np.arange(len(texts.ids.flat)), texts.ids.starts)
    for batch in batches(numbered, size=BATCH):
        found = []
        for row in batch.rows.tolist():
            choices = []
            for word in texts.words(row):
                own = vocabulary.id_of(word)
                choices.append(list(dict.fromkeys([own, *vocabulary.encode(table.substitutes(word))])))
            found.append(choices)
        longest = max(max(map(len, found)), 1)
        widest = max((len(choices) for text in found for choices in text), default=1)
        ids = torch.tensor(
            [
                [choices + [choices[0]] * (widest - len(choices)) for choices in text]
                + [[0] * widest] * (longest - len(text))
                for text in found
            ]
        )
        counts = torch.tensor([[len(choices) for choices in text] + [1] * (longest - len(text)) for text in found])
        total += int((torch.arange(widest) < counts[..., None]).sum())
        assert ids.shape[:2] == counts.shape
    return total


def neighbours_all_at_once(vectors: np.ndarray, nearest: int, distance: float) -> np.ndarray:
    """The plain way: the whole square matrix of distances."""
    points = torch.from_numpy(vectors)
    gaps = torch.cdist(points, points).fill_diagonal_(torch.inf)
    near, rows = gaps.topk(nearest, largest=False)
    return torch.where(near <= distance, rows, -1).numpy()


def vectors_by_loop(path: Path) -> int:
    """The plain way: float() of every field."""
    with path.open(encoding="utf-8") as stream:
        width = int(next(stream).split()[1])
        rows = (line.rsplit(" ", width) for line in stream)
        return len({word: np.array([float(x) for x in rest]) for word, *rest in rows})


def report(title: str, ours: Measurement, plain: Measurement, *, share: float = 1.0) -> None:
    """One line: both figures and their ratio; `share` is the part of the work that the plain way was given."""
    seconds = plain[0] / share
    scaled = f" (measured on {share:.0%})" if share < 1 else ""
    print(
        f"{title:<46} sgbt {ours[0]:7.2f} s {ours[1]:6.0f} MB | plain {seconds:7.2f} s{scaled} {plain[1]:6.0f} MB"
        f" | {seconds / ours[0]:.1f} times faster"
    )


def part(texts: TokenisedTexts, count: int) -> TokenisedTexts:
    starts = texts.ids.starts[: count + 1]
    return TokenisedTexts(texts.types, RaggedIds(texts.ids.flat[: starts[-1]], starts))


@contextlib.contextmanager
def empty_cache() -> Iterator[None]:
    """A user cache folder with nothing in it, for the time of the block."""
    usual = os.environ.get("SGBT_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SGBT_CACHE"] = folder
        try:
            yield
        finally:
            os.environ.pop("SGBT_CACHE")
            if usual is not None:
                os.environ["SGBT_CACHE"] = usual


def alone(title: str, ours: Measurement) -> None:
    """One line without a plain way to compare with."""
    print(f"{title:<46} sgbt {ours[0]:7.2f} s {ours[1]:6.0f} MB")


def main() -> None:
    torch.set_num_threads(1)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 25_000
    path, folder = get("glove").paths[0], get("wordnet").paths[0]
    alone("WordNet, all of it", measured(lambda: len(read_wordnet(folder).lemmas())))
    wordnet = read_wordnet(folder)
    with empty_cache():
        cold = measured(lambda: len(load_embeddings(path)))
        warm = measured(lambda: len(load_embeddings(path)))
        plain = measured(lambda: vectors_by_loop(path))
        report("33,860 vectors from text, first time", cold, plain)
        report("33,860 vectors from text, second time", warm, plain)
        vectors = load_embeddings(path)
        fitted = measured(lambda: SubstitutionTable.counter_fit(vectors, wordnet))
        alone("counter-fitting and its neighbours, first time", fitted)
        alone("the same, again", measured(lambda: len(SubstitutionTable.counter_fit(vectors, wordnet))))
        unit = np.array(vectors.normalised().vectors)

    small = unit[:12_000]
    ours = measured(lambda: nearest_neighbours(small, nearest=8, distance=0.5).rows)
    plain = measured(lambda: neighbours_all_at_once(small, 8, 0.5))
    report("nearest 8 among 12,000 vectors", ours, plain)
    print(f"  rows that single precision orders otherwise: {int((ours[2] != plain[2]).any(axis=1).sum())}")
    full = measured(lambda: int((nearest_neighbours(unit, nearest=8, distance=0.5).rows >= 0).sum()))
    alone("nearest 8 among all 33,860 vectors", full)

    assert isinstance(fitted[2], SubstitutionTable)
    try:
        table = SubstitutionTable.counter_fitted()
    except ResourceError:
        table = fitted[2]
    reviews = load_dataset("imdb")
    texts = part(tokenise([*reviews.train.texts, *reviews.dev.texts]), count)
    vocabulary = Vocabulary.build(texts.counts(), table=table, vectors=vectors)
    build = measured(lambda: len(SubstitutionIndex.build(table, vocabulary).choices))
    alone(f"index of {len(vocabulary):,} words and the table", build)
    index = SubstitutionIndex.build(table, vocabulary)
    gather = measured(lambda: substitutions_by_gather(index, texts))
    few = part(texts, max(1, len(texts) // 10))
    loop = measured(lambda: substitutions_by_loop(table, vocabulary, few))
    assert loop[2] == substitutions_by_gather(index, few), "both ways must find the same choices"
    report(f"substitutions of {len(texts):,} reviews", gather, loop, share=len(few.ids.flat) / len(texts.ids.flat))
    print(table.describe())
    print(table.describe_texts(texts.words(row) for row in range(len(texts))))


if __name__ == "__main__":
    main()
