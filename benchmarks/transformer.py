"""A small transformer on encoded IMDB: trained here, then certified as any callable is, by enumeration.

Run: python benchmarks/transformer.py [--encoder FILE] [--texts N] [--epochs N] [--split dev] [--out FILE]. Without the
file of an encoder, one is fitted to the train split, with distinction 0.03, and written to encoder.json. Two layers of
self-attention over a review's first 16 and last 144 words, before as after substitution. A place is given by its word
(a vector of GloVe reduced to fewer numbers, and one number more) and by the pair that it ends; these numbers begin as
the weights of a linear model of words and pairs, fitted first, and the head begins by adding them up. All of it is then
trained on the train split, each text with random cluster choices at its ambiguous words, and with those that raise the
loss, to first order. Choices were made on dev; the last epoch counts. Without --texts all reviews of the split are
certified, else a random sample (seed 0). With --weights FILE the trained weights are kept, and read where they are
there.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse
import torch
from _rows import made_by, trials
from any_model import figures
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

import sgbt
from sgbt.certify.black_box import Encoder, certify_encoded, read_encoder

FIRST, LAST, WIDTH, HEADS, HIDDEN, VECTORS = 16, 144, 32, 2, 64, 100
LONGEST = FIRST + LAST
AT_LEAST, BATCH, RATE, CHANGED, DROPPED, LINEAR = 5, 32, 1e-3, 0.3, 0.2, 1.0
PAIR = 8
"""Numbers of a pair of words; the first begins as its linear weight."""
SLACK = 1e-4
"""Probabilities are in float32 here; a batch's other texts move them by far less."""
TOKENIZER = sgbt.Tokenizer()


class Transformer(nn.Module):
    """Words, pairs and places; two layers of self-attention; the sum over the root of the length, and the maximum."""

    def __init__(self, words: Tensor, pairs: Tensor) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(words, freeze=False, padding_idx=0)
        self.pairs = nn.Embedding.from_pretrained(pairs, freeze=False, padding_idx=0)
        self.drop = nn.Dropout(DROPPED)
        self.into = nn.Linear(words.shape[1] + pairs.shape[1], WIDTH)
        self.places = nn.Parameter(torch.randn(LONGEST, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=DROPPED, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(2 * WIDTH, 2)
        with torch.no_grad():  # the first state begins as the sum of linear weights, and nothing else reaches the head
            self.into.weight[0] = 0
            self.into.weight[0, [words.shape[1] - 1, words.shape[1]]] = 1
            self.into.bias[0] = 0
            self.places[:, 0] = 0
            for each in self.layers.layers:
                assert isinstance(each, nn.TransformerEncoderLayer)
                each.self_attn.out_proj.weight[0], each.self_attn.out_proj.bias[0] = 0, 0
                each.linear2.weight[0], each.linear2.bias[0] = 0, 0
            self.head.weight.mul_(0.05)
            self.head.weight[:, 0] = torch.tensor([-0.5, 0.5])

    def embedded(self, ids: Tensor) -> Tensor:
        """What is known of every place of [texts, 2, places]: its word, and the pair that it ends."""
        return torch.cat([self.words(ids[:, 0]), self.pairs(ids[:, 1])], dim=2)

    def forward(self, ids: Tensor, known: Tensor | None = None) -> Tensor:
        """Logits of texts as ids, 0 behind their end; `known` in place of `embedded(ids)`."""
        absent = ids[:, 0] == 0
        absent[:, 0] = False
        known = self.drop(self.embedded(ids) if known is None else known)
        states = self.layers(self.into(known) + self.places[: ids.shape[2]], src_key_padding_mask=absent)
        total = states.masked_fill(absent.unsqueeze(2), 0).sum(dim=1) / (~absent).sum(dim=1, keepdim=True).sqrt()
        greatest = states.masked_fill(absent.unsqueeze(2), -1e4).max(dim=1).values
        return self.head(torch.cat([total, greatest], dim=1))


@dataclass
class Vocabulary:
    """Numbers of words and of pairs; 0 is padding, 1 what is not known."""

    words: dict[str, int]
    pairs: dict[str, int]

    @staticmethod
    def of(texts: Sequence[Sequence[str]]) -> Vocabulary:
        """Those that train has often enough, the most frequent first."""
        found = []
        for grams in (texts, map(pairs_of, texts)):
            counts = Counter(gram for row in grams for gram in row)
            often = sorted((gram for gram, count in counts.items() if count >= AT_LEAST), key=lambda g: (-counts[g], g))
            found.append({gram: place for place, gram in enumerate(often, start=2)})
        return Vocabulary(*found)

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """A text as numbers, [2, places]."""
        own = [self.words.get(word, 1) for word in words]
        return np.array([own, [self.pairs.get(pair, 1) for pair in pairs_of(words)]], dtype=np.int64)


def pairs_of(words: Sequence[str]) -> list[str]:
    """Every word with the one before it."""
    return [f"{before} {word}" for before, word in zip(["", *words], words, strict=False)]


def cut(text: str) -> str:
    """The first and the last words of a text."""
    tokens = TOKENIZER.tokenize(text)
    if len(tokens) <= LONGEST:
        return text
    return f"{text[: tokens.ends[FIRST - 1]]} {text[tokens.starts[-LAST] :]}"


def vectors_of(words: Sequence[str]) -> np.ndarray:
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
    return rows


def linear_weights(rows: Sequence[np.ndarray], labels: np.ndarray, vocabulary: Vocabulary) -> list[np.ndarray]:
    """A weight for every word and pair: logistic regression on how often a text has them, over its length's root."""
    sizes = [len(vocabulary.words) + 2, len(vocabulary.pairs) + 2]
    flat = np.concatenate([row + np.array([[0], [sizes[0]]]) for row in rows], axis=1)
    lengths = np.array([row.shape[1] for row in rows])
    texts, values = np.repeat(np.arange(len(rows)), lengths), np.repeat(lengths**-0.5, lengths)
    cells = (np.tile(values, 2), (np.tile(texts, 2), flat.ravel()))
    counts = scipy.sparse.csr_matrix(cells, shape=(len(rows), sum(sizes)))
    weights = LogisticRegression(C=LINEAR, solver="liblinear").fit(counts, labels).coef_[0].copy()
    weights[[0, 1, sizes[0], sizes[0] + 1]] = 0
    return [weights[: sizes[0]], weights[sizes[0] :]]


def padded(rows: Sequence[np.ndarray]) -> Tensor:
    """Ids as one tensor [texts, 2, places]."""
    ids = torch.zeros(len(rows), 2, max(1, *(row.shape[1] for row in rows)), dtype=torch.int64)
    for row, given in zip(ids, rows, strict=True):
        row[:, : given.shape[1]] = torch.from_numpy(given)
    return ids


@dataclass(frozen=True)
class Chosen:
    """A text of train: its words, and at ambiguous places what an adversary can write there."""

    words: tuple[str, ...]
    others: tuple[tuple[int, tuple[str, ...]], ...]

    def varied(self, rng: np.random.Generator) -> list[str]:
        """With random choices at some places."""
        words = list(self.words)
        for place, found in self.others:
            if rng.random() < CHANGED:
                words[place] = found[int(rng.integers(len(found)))]
        return words

    def worst(self, vocabulary: Vocabulary, model: Transformer, slopes: np.ndarray) -> list[str]:
        """With the choice at each place that raises the loss most, to first order, and where one does."""
        words = list(self.words)
        for place, found in self.others:
            options = [self.words[place], *found]
            after = self.words[place + 1] if place + 1 < len(words) else None
            before = words[place - 1] if place else ""
            own = [vocabulary.words.get(word, 1) for word in options]
            pair = [vocabulary.pairs.get(f"{before} {word}", 1) for word in options]
            with torch.no_grad():
                gain = torch.cat([model.words.weight[own], model.pairs.weight[pair]], dim=1).numpy() @ slopes[place]
                if after is not None:
                    next_ = [vocabulary.pairs.get(f"{word} {after}", 1) for word in options]
                    gain += model.pairs.weight[next_].numpy() @ slopes[place + 1, -PAIR:]
            words[place] = options[int(gain.argmax())]
        return words


def trained(encoder: Encoder, texts: Sequence[str], labels: np.ndarray, epochs: int) -> tuple[Transformer, Vocabulary]:
    """The transformer and its vocabulary, from training texts that are cut already."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    read = [encoder.read(text) for text in texts]
    chosen = [
        Chosen(
            tuple(piece.lower() for piece in each.pieces),
            tuple((place, tuple(word.lower() for word in found)) for place, found in each.others.items()),
        )
        for each in read
    ]
    vocabulary = Vocabulary.of([each.words for each in chosen])
    seen = [each.words for each in chosen] + [each.varied(rng) for each in chosen]
    weights = linear_weights(list(map(vocabulary.ids, seen)), np.tile(labels, 2), vocabulary)
    print("linear", time.process_time(), flush=True)
    words = np.column_stack([vectors_of(list(vocabulary.words)), weights[0]])
    pairs = np.column_stack([weights[1], rng.normal(scale=0.1, size=(len(weights[1]), PAIR - 1))])
    pairs[0] = 0
    model = Transformer(*(torch.tensor(each, dtype=torch.float32) for each in (words, pairs)))
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=1e-2)
    steps = len(texts) // BATCH + 1
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps * epochs, pct_start=0.1)
    lengths = np.array([len(each.words) for each in chosen])
    for epoch in range(epochs):
        order = np.argsort(lengths + rng.uniform(0, 40, len(lengths)), kind="stable")  # alike lengths together
        batches = np.array_split(order, steps)
        losses = []
        for done, number in enumerate(rng.permutation(steps)):
            batch, truth = [chosen[each] for each in batches[number]], torch.from_numpy(labels[batches[number]])
            losses.append(step(model, vocabulary, batch, truth, rng))
            optimiser.step()
            rates.step()
            if done % 100 == 99:
                print(done, "of", steps, "losses", np.mean(losses[-100:], axis=0), time.process_time(), flush=True)
        print("epoch", epoch, "losses", np.mean(losses[-200:], axis=0), time.process_time(), flush=True)
    return model.eval(), vocabulary


def step(
    model: Transformer, vocabulary: Vocabulary, batch: Sequence[Chosen], truth: Tensor, rng: np.random.Generator
) -> tuple[float, float]:
    """Leave the gradient of two losses, on random choices and on those that are worst there; the losses."""
    model.zero_grad()
    drawn = [Chosen(tuple(each.varied(rng)), each.others) for each in batch]
    ids = padded([vocabulary.ids(each.words) for each in drawn])
    known = model.embedded(ids)
    known.retain_grad()
    first = nn.functional.cross_entropy(model(ids, known), truth)
    (0.5 * first).backward()
    assert known.grad is not None
    slopes = known.grad.numpy()
    worst = [each.worst(vocabulary, model, slopes[row]) for row, each in enumerate(drawn)]
    second = nn.functional.cross_entropy(model(padded(list(map(vocabulary.ids, worst)))), truth)
    (0.5 * second).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return float(first.detach()), float(second.detach())


class Scores:
    """Probabilities of texts, of any number."""

    def __init__(self, model: Transformer, vocabulary: Vocabulary) -> None:
        self.model, self.vocabulary = model, vocabulary

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        rows = [self.vocabulary.ids(TOKENIZER.words(text)[:LONGEST]) for text in texts]
        order = sorted(range(len(rows)), key=lambda number: rows[number].shape[1])
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
        Encoder.fit(data.train.texts, table, data.train.labels.tolist(), distinction=0.03).to_json(options.encoder)
    encoder = read_encoder(options.encoder)
    assert isinstance(encoder, Encoder)
    asked = data.dev if options.split == "dev" else data.test
    texts, labels = [cut(text) for text in data.train.texts], data.train.labels.astype(np.int64)
    begun = time.process_time()
    if options.weights and options.weights.is_file():
        words, pairs, weights, training = torch.load(options.weights, weights_only=True)
        vocabulary = Vocabulary(words, pairs)
        model = Transformer(weights["words.weight"], weights["pairs.weight"])
        model.load_state_dict(weights)
        model.eval()
    else:
        model, vocabulary = trained(encoder, texts, labels, options.epochs)
        training = time.process_time() - begun
        if options.weights:
            torch.save((vocabulary.words, vocabulary.pairs, model.state_dict(), training), options.weights)
    order = np.random.default_rng(0).permutation(len(asked))[: options.texts]
    test, truth = [cut(asked.texts[number]) for number in order], asked.labels[order]
    digest = hashlib.sha256(b"".join(each.numpy().tobytes() for each in model.state_dict().values())).hexdigest()
    begun = time.process_time()
    rows = certify_encoded(
        Scores(model, vocabulary),
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
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--max-queries", type=int, default=1024)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/any-model/rows.jsonl"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
