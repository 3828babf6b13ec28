"""A small transformer on encoded IMDB: trained here, then certified as any callable is, by enumeration.

Run: python benchmarks/transformer.py [--encoder FILE] [--texts N] [--epochs N] [--out FILE]. Without the file of an
encoder, one is fitted to the train split, with distinction 0.01, and written to encoder.json. Two layers of
self-attention over at most 256 words, on word vectors reduced to fewer numbers; trained on all 25,000 train reviews,
each epoch with other cluster choices at the ambiguous words. Distinction was chosen by how many versions reviews of dev
have; no accuracy was compared, on dev or on test, and the last epoch counts. A review is its first 256 words, before as
after substitution. Without --texts all test reviews are certified, else a random sample (seed 0). With --weights FILE
the trained weights are kept, and read where they are there.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from _rows import made_by, trials
from any_model import figures
from torch import Tensor, nn

import sgbt
from sgbt.certify.black_box import Encoder, certify_encoded, read_encoder

LONGEST, WIDTH, HEADS, HIDDEN, VECTORS = 256, 32, 2, 64, 100
AT_LEAST, BATCH, RATE, CHANGED = 5, 32, 1e-3, 0.5
SLACK = 1e-4
"""Probabilities are in float32 here; a batch's other texts move them by far less."""
TOKENIZER = sgbt.Tokenizer()


class Transformer(nn.Module):
    """Word vectors with places, two layers of self-attention, the mean over words, a linear head."""

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors, freeze=False, padding_idx=0)
        self.into = nn.Linear(vectors.shape[1], WIDTH)
        self.places = nn.Parameter(torch.randn(LONGEST, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of texts as ids, 0 behind their end."""
        absent = ids == 0
        absent[:, 0] = False
        states = self.layers(self.into(self.words(ids)) + self.places[: ids.shape[1]], src_key_padding_mask=absent)
        states = states.masked_fill(absent.unsqueeze(2), 0).sum(dim=1) / (~absent).sum(dim=1, keepdim=True)
        return self.head(states)


def cut(text: str) -> str:
    """The first words of a text."""
    ends = TOKENIZER.tokenize(text).ends
    return text[: ends[LONGEST - 1]] if len(ends) > LONGEST else text


def vectors_of(words: Sequence[str]) -> Tensor:
    """Rows for padding, the unknown word and the words: GloVe's first principal components, small random elsewhere."""
    rng = np.random.default_rng(0)
    table = sgbt.load_embeddings("glove", words=set(words))
    found = {word: table.vector(word) for word in words if word in table}
    known = np.array(list(found.values()), dtype=np.float64)
    known -= known.mean(axis=0)
    main = np.linalg.eigh(known.T @ known)[1][:, : -VECTORS - 1 : -1]
    reduced = known @ main
    rows = rng.normal(scale=0.1, size=(len(words) + 2, VECTORS))
    places = {word: place for place, word in enumerate(words, start=2)}
    rows[[places[word] for word in found]] = reduced / reduced.std()
    rows[0] = 0
    return torch.tensor(rows, dtype=torch.float32)


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Ids as one tensor."""
    ids = torch.zeros(len(rows), max(1, *map(len, rows)), dtype=torch.int64)
    for row, given in zip(ids, rows, strict=True):
        row[: len(given)] = torch.tensor(given, dtype=torch.int64)
    return ids


def trained(
    encoder: Encoder, texts: Sequence[str], labels: np.ndarray, epochs: int
) -> tuple[Transformer, dict[str, int]]:
    """The transformer and its vocabulary, from training texts that are cut already."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    read = [encoder.read(text) for text in texts]
    counts: dict[str, int] = {}
    for each in read:
        for piece in each.pieces:
            counts[piece.lower()] = counts.get(piece.lower(), 0) + 1
    words = sorted((word for word, count in counts.items() if count >= AT_LEAST), key=lambda w: (-counts[w], w))
    known = {word: place for place, word in enumerate(words, start=2)}
    own = [[known.get(piece.lower(), 1) for piece in each.pieces] for each in read]
    others = [
        [(place, [known.get(word.lower(), 1) for word in found]) for place, found in each.others.items()]
        for each in read
    ]
    model = Transformer(vectors_of(words))
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=1e-2)
    steps = len(texts) // BATCH + 1
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps * epochs, pct_start=0.1)
    lengths = np.array([len(row) for row in own])
    for epoch in range(epochs):
        order = np.argsort(lengths + rng.uniform(0, 40, len(lengths)), kind="stable")  # alike lengths together
        losses = []
        batches = np.array_split(order, steps)
        for chosen in [batches[number] for number in rng.permutation(steps)]:
            rows = [varied(own[number], others[number], rng) for number in chosen]
            loss = nn.functional.cross_entropy(model(padded(rows)), torch.from_numpy(labels[chosen]))
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            rates.step()
            losses.append(float(loss.detach()))
        print("epoch", epoch, "loss", np.mean(losses[-200:]), time.process_time(), flush=True)
    return model.eval(), known


def varied(own: Sequence[int], others: Sequence[tuple[int, list[int]]], rng: np.random.Generator) -> list[int]:
    """A text with other choices at some of its ambiguous words."""
    row = list(own)
    for place, found in others:
        if rng.random() < CHANGED:
            row[place] = found[int(rng.integers(len(found)))]
    return row


class Scores:
    """Probabilities of texts, of any number."""

    def __init__(self, model: Transformer, known: dict[str, int]) -> None:
        self.model, self.known = model, known

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        rows = [[self.known.get(word, 1) for word in TOKENIZER.words(text)][:LONGEST] for text in texts]
        order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
        found = np.zeros((len(rows), 2))
        with torch.inference_mode():
            for start in range(0, len(order), 64):
                part = order[start : start + 64]
                found[part] = self.model(padded([rows[number] for number in part])).softmax(dim=1).numpy()
        return found


def main() -> None:
    """Train, certify, and append a row."""
    options = parsed()
    data = sgbt.load_dataset("imdb")
    if not options.encoder.is_file():
        table = sgbt.SubstitutionTable.counter_fitted()
        Encoder.fit(data.train.texts, table, data.train.labels.tolist(), distinction=0.01).to_json(options.encoder)
    encoder = read_encoder(options.encoder)
    assert isinstance(encoder, Encoder)
    taught, asked = ([data.train], data.dev) if options.split == "dev" else ([data.train, data.dev], data.test)
    texts = [cut(text) for part in taught for text in part.texts]
    labels = np.concatenate([part.labels for part in taught]).astype(np.int64)
    begun = time.process_time()
    if options.weights and options.weights.is_file():
        known, weights = torch.load(options.weights, weights_only=True)
        model = Transformer(weights["words.weight"])
        model.load_state_dict(weights)
        model.eval()
    else:
        model, known = trained(encoder, texts, labels, options.epochs)
        if options.weights:
            torch.save((known, model.state_dict()), options.weights)
            print("trained", time.process_time(), flush=True)
    training = time.process_time() - begun
    order = np.random.default_rng(0).permutation(len(asked))[: options.texts]
    test, truth = [cut(asked.texts[number]) for number in order], asked.labels[order]
    digest = hashlib.sha256(b"".join(each.numpy().tobytes() for each in model.state_dict().values())).hexdigest()
    begun = time.process_time()
    rows = certify_encoded(
        Scores(model, known),
        test,
        encoder,
        labels=truth.tolist(),
        max_queries=options.max_queries,
        slack=SLACK,
        fingerprint=digest,
    )
    found = figures(rows, time.process_time() - begun, encoder, options.max_queries)
    about = {
        "model": "transformer",
        "texts": len(test),
        "data": "imdb",
        "split": options.split,
        "threat": encoder.table.name,
        "words": LONGEST,
        "epochs": options.epochs,
        "training_cpu_seconds": round(training),
    }
    with trials(options.out, "model", "texts") as file:
        file.append({**about, **found, **made_by()})
    print({name: value for name, value in found.items() if name != "verdicts"})


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", type=Path, default=Path("encoder.json"))
    parser.add_argument("--texts", type=int)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--max-queries", type=int, default=1024)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/any-model/rows.jsonl"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
