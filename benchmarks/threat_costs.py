"""What certificates against threats cost: processor milliseconds a text for making lattices and for worst paths.

    SGBT_DATA=... python benchmarks/threat_costs.py --out results/threats/costs.jsonl

Texts are the first of AG News' test set, cut at 1,000 characters, and one of 1,000 words joined from many. Weights are
random: what is measured hardly depends on them.

With `--typing` typing errors are measured for themselves, a bag of words certified: texts that are new to a maker which
has read `KNOWN` others, the same texts once more, and, in the same run, the plain reader and path of tests/reference.
With `--substitutions` a threat of substitutions alone is certified in turns with its table: rows must be the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

import sgbt
from sgbt.certify import in_float64, least_margins
from sgbt.data import Tokenizer
from sgbt.models import AnyModel, BagOfNgrams, BagOfWords, BiLSTM, TextClassifier, TextCNN, WordEmbedding
from sgbt.models.bag_of_ngrams.model import BITS
from sgbt.threats import LatticeMaker, SubstitutionTable, Threat, Vocabulary

FEW_EDITS = Threat.deletions("any", at_most=2) | Threat.duplications(at_most=2)
TEXTS = ((FEW_EDITS, 10), (Threat.typos(1), 10), (Threat.typos(2), 4))


KNOWN, TYPED, PLAIN = 800, 100, 10
ALONE, TURNS = 40, 5


def read(name: str) -> list[str]:
    with gzip.open(Path(os.environ["SGBT_DATA"]) / "agnews" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [json.loads(line)["text"][:1000] for line in stream]


def models(vocabulary: Vocabulary, train: list[str]) -> Iterator[tuple[str, AnyModel]]:
    """One of every kind, four classes each."""
    torch.manual_seed(0)
    none = torch.zeros(0, dtype=torch.int64)
    bag = BagOfWords(classes=4, features=(), ties=())
    bag.adopt(codes=torch.arange(len(vocabulary)), keys=none)
    yield "bag of words", bag
    placed = BagOfWords(classes=4, features=(), ties=(), places=True)
    placed.adopt(codes=torch.arange(len(vocabulary)), keys=none)
    yield "bag of words, positional weights", placed
    counts = Counter[int]()
    for text in train[:6000]:
        ids = vocabulary.encode(Tokenizer().words(text))
        for size in (1, 2, 3):
            for place in range(len(ids) - size + 1):
                counts[
                    sum(number << BITS * (size - 1 - at) for at, number in enumerate(ids[place : place + size]))
                ] += 1
    grams = BagOfNgrams(classes=4, longest=3)
    grams.adopt(
        codes=torch.arange(len(vocabulary)), keys=torch.tensor(sorted(key for key, many in counts.items() if many > 1))
    )
    yield "bag of 1- to 3-grams", grams
    words = WordEmbedding(torch.randn(len(vocabulary), 100) * 0.3)
    yield (
        "TextCNN, 64 filters of width 3, mean",
        TextCNN(words, classes=4, kernel_sizes=(3,), filters=64, pooling="mean"),
    )
    yield "TextCNN, 64 filters of width 3, max", TextCNN(words, classes=4, kernel_sizes=(3,), filters=64)
    yield "BiLSTM, 64 units", BiLSTM(words, classes=4)


def typing(vocabulary: Vocabulary, bag: AnyModel, test: list[str]) -> Iterator[dict[str, float | str]]:
    """Milliseconds of processor time a text by both ways, which must find the same margins."""
    from tests.reference import typo_reader, worst_path  # only here: tests are no part of what is installed

    from sgbt.certify.edits import bag_of_words
    from sgbt.certify.edits.worst_path import least_sums

    for edits in (1, 2):
        found: dict[str, float | str] = {"threat": f"typos:{edits}", "read_before": KNOWN, "texts": TYPED}
        margins = {}
        for name, make, least in (
            ("", LatticeMaker, least_sums),
            ("plain_", typo_reader.PlainLatticeMaker, worst_path.least_sums),
        ):
            maker, texts = make(Threat.typos(edits), vocabulary, Tokenizer()), test[: PLAIN if name else TYPED]
            setattr(bag_of_words, "least_sums", least)  # noqa: B010 - not exported
            for text in test[-(PLAIN if name else KNOWN) :]:
                maker.of(text)
            least_margins(bag, [maker.of(test[-1])], np.zeros(1, dtype=np.int64), 2048)
            for when in ("new", "again"):
                start = time.process_time()
                lattices = [maker.of(text) for text in texts]
                made = time.process_time()
                margins[name] = least_margins(bag, lattices, np.zeros(len(lattices), dtype=np.int64), 2048)
                found[f"{name}lattice_{when}_ms"] = round(1000 * (made - start) / len(texts), 2)
                found[f"{name}path_{when}_ms"] = round(1000 * (time.process_time() - made) / len(texts), 2)
        setattr(bag_of_words, "least_sums", least_sums)  # noqa: B010
        np.testing.assert_allclose(margins[""][:PLAIN], margins["plain_"], atol=1e-9)
        found |= {"plain_texts": PLAIN, "quoted": "LipsLev (ICLR 2025): 9.7 ms a text; not run here"}
        yield found


def substitutions(vocabulary: Vocabulary, train: list[str], test: list[str]) -> Iterator[dict[str, float | str]]:
    """A threat of substitutions alone beside its table, in turns: the same rows, at what ratio of processor time."""
    table = SubstitutionTable.counter_fitted()
    for name, model in models(vocabulary, train):
        torch.manual_seed(0)
        for parameter in (each for each in model.parameters() if name.startswith("bag")):
            torch.nn.init.normal_(parameter, std=0.1)
        classifier = TextClassifier(model.eval(), vocabulary, ("a", "b", "c", "d"), table, 2048)
        spent: dict[bool, list[float]] = {True: [], False: []}
        rows = {}
        for turn in range(2 * TURNS):
            start = time.process_time()
            found = sgbt.certify(classifier, test, **{"threat": Threat.substitutions(table)} if turn % 2 else {})
            spent[bool(turn % 2)].append(time.process_time() - start)
            rows[turn % 2] = [row.to_row() | {"milliseconds": 0} for row in found]
            assert rows[turn % 2] == rows.get(0)
        table_ms, threat_ms = (round(1000 * min(spent[side]) / len(test), 3) for side in (False, True))
        yield {"threat": "substitutions alone", "model": name, "texts": len(test), "table_ms": table_ms,
               "threat_ms": threat_ms, "ratio": round(min(spent[True]) / min(spent[False]), 3)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--typing", action="store_true")
    parser.add_argument("--substitutions", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    train, test = read("train"), read("test")
    vocabulary = Vocabulary.build(
        Counter(word for text in train for word in Tokenizer().words(text)), minimum_count=2, limit=60_000
    )
    if given.typing or given.substitutions:
        bag = in_float64(next(models(vocabulary, []))[1].eval())
        torch.nn.init.normal_(bag.get_parameter("weight"))
        made = typing(vocabulary, bag, test[:1000]) if given.typing else substitutions(vocabulary, train, test[:ALONE])
        for row in made:
            print(json.dumps(row), flush=True)
            with given.out.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
        return
    known = [(name, in_float64(model.eval())) for name, model in models(vocabulary, train)]
    long = " ".join(" ".join(test[500:700]).split()[:1000])
    rows = []
    for threat, texts in TEXTS:
        maker = LatticeMaker(threat, vocabulary, Tokenizer())
        for text in test[100:110]:
            maker.of(text)
        for size, chosen in (("AG News", test[:texts]), ("1,000 words", [long])):
            start = time.process_time()
            lattices = [maker.of(text) for text in chosen]
            made = time.process_time() - start
            for name, model in known if size == "AG News" else known[:1]:
                if threat == Threat.typos(2) and not name.startswith("bag"):
                    continue  # minutes
                start = time.process_time()
                least_margins(model, lattices, np.zeros(len(lattices), dtype=np.int64), 2048)
                row = {
                    "threat": threat.name,
                    "texts": size,
                    "words": round(float(np.mean([len(lattice.ids) for lattice in lattices])), 1),
                    "edges": round(float(np.mean([len(lattice) for lattice in lattices]))),
                    "model": name,
                    "lattice_ms": round(1000 * made / len(lattices), 1),
                    "path_ms": round(1000 * (time.process_time() - start) / len(lattices), 1),
                    "peak_mb_so_far": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                }
                rows.append(row)
                print(json.dumps(row), flush=True)
    given.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
