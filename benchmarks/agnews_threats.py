"""AG News under typing errors: fit a bag of words to the worst case of two, certify the first 1,000 test texts.

    SGBT_DATA=... python benchmarks/agnews_threats.py --out results/threats

Texts are cut at 1,000 characters, as LipsLev (Abad Rocamora et al., ICLR 2025) does. Settings were chosen on 2,000
texts of train; test is read once for each of two recipes, without and with
word vectors. Rows without vectors were made before texts of like length were batched together (commit 889401f).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from pathlib import Path

import numpy as np
import torch

from sgbt.certify.edits import ThreatSummary, certify_against
from sgbt.data import Split
from sgbt.embeddings import load_embeddings
from sgbt.models import load_classifier, save_classifier
from sgbt.threats import Threat
from sgbt.training.threat_bag import ThreatFit, fit_bag_of_words

FIT = ThreatFit(epochs=8, minimum_count=2)
WITH_VECTORS = ThreatFit(epochs=8, learning_rate=0.1, l2=1e-6, minimum_count=2, vectors=True)
CHARACTERS, TEXTS = 1000, 1000


def read(folder: Path, name: str) -> Split:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    texts = tuple(row["text"][:CHARACTERS] for row in rows)
    return Split(name, texts, np.array([row["label"] for row in rows], dtype=np.int64))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--edits", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--model", type=Path, help="a folder that the fitted model is kept in, and read from")
    parser.add_argument("--vectors", action="store_true", help="let word vectors have a say (files end in -vectors)")
    given = parser.parse_args()
    fit, ending = (WITH_VECTORS, "-vectors") if given.vectors else (FIT, "")
    vectors = load_embeddings("glove") if given.vectors else None
    torch.set_num_threads(1)
    data = Path(os.environ["SGBT_DATA"]) / "agnews"
    names = tuple(json.loads((data / "classes.json").read_text()))
    if given.model and given.model.exists():
        model = load_classifier(given.model)
    else:
        model = fit_bag_of_words(read(data, "train"), names, Threat.typos(2), fit=fit, vectors=vectors)
        if given.model:
            save_classifier(model, given.model)
    test = read(data, "test")[:TEXTS]
    given.out.mkdir(parents=True, exist_ok=True)
    for edits in given.edits:
        rows = certify_against(model, test, Threat.typos(edits), out=given.out / f"agnews-typos-{edits}{ending}.jsonl")
        found = ThreatSummary.of(rows)
        print(
            f"typos:{edits}: clean {found.clean.count} of {found.clean.total}, certified {found.certified.count}, "
            f"{found.milliseconds:.1f} ms of processor time a text",
            flush=True,
        )


if __name__ == "__main__":
    main()
