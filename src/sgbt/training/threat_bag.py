"""A bag of words fitted to the worst case of a threat.

The worst case of a text is its clean margin minus the largest drops of its words (`sgbt.training.drops`), as many as
the budget allows, or all of them where there is none. That leaves out how edits meet (a join of two words, two errors
in one) and the number of words; proofs do not (`sgbt.certify.edits`). The loss is the cross-entropy of the logits so
lowered, and of the clean ones.

With `once` a text has a word or has it not, which doubling it does not change: a bag of n-grams of one word. With
`clusters` substitutes share a weight (`sgbt.threats.labelled_communities`): a first fit without them says what labels a
word speaks for, seldom words too where vectors have a say, and clusters keep words of different labels apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.core.errors import TrainingError
from sgbt.data import Split, Tokenizer
from sgbt.embeddings import EmbeddingTable
from sgbt.models import BagOfNgrams, BagOfWords, TextClassifier
from sgbt.models.bag_of_ngrams.model import LARGEST
from sgbt.threats import SubstitutionTable, Threat, Vocabulary
from sgbt.threats.labelled_communities import labelled_codes
from sgbt.threats.vocabulary import PADDING, UNKNOWN
from sgbt.training.drops import Drops

SHARPNESS = 3.0
"""By how much the weights of a first fit are multiplied before they are read as logits of a word's labels."""


@dataclass(frozen=True)
class ThreatFit:
    """How a bag of words is fitted: passes over train, texts per step, and weights of the loss."""

    epochs: int = 6
    batch: int = 2048
    learning_rate: float = 0.02
    l2: float = 1e-5
    clean_share: float = 0.3
    minimum_count: int = 3
    vocabulary: int = 60_000
    max_length: int = 512
    vectors: bool = False
    """Whether word vectors have a say in what a word weighs: a linear function of them is learnt beside each word's own
    weights, and added to these in the end, so that words that train has seldom learn from words used like them."""
    once: bool = False
    """Whether a word counts once however often a text has it, and the number of words does not count."""
    clusters: float = 0.0
    """At which resolution substitutes are divided into clusters that have one weight each; zero: words
    have their own."""
    label_weight: float = 2.0
    """How much clusters keep words apart that speak for different labels."""

    def __post_init__(self) -> None:
        whole = min(self.epochs, self.batch, self.minimum_count, self.vocabulary, self.max_length) >= 1
        least = min(self.l2, self.clusters, self.label_weight)
        if not whole or not 0 <= self.clean_share <= 1 or self.learning_rate <= 0 or least < 0:
            raise TrainingError(
                expected="counts of at least 1, a positive learning rate, l2, clusters and label_weight of at least 0,"
                " clean_share from 0 to 1",
                got=str(self),
            )


def fit_bag_of_words(
    train: Split,
    label_names: Sequence[str],
    threat: Threat,
    *,
    fit: ThreatFit | None = None,
    vectors: EmbeddingTable | None = None,
    seed: int = 0,
) -> TextClassifier:
    """A classifier with one weight per word and class, trained on the worst case of a threat.

    `vectors` are read where the fit asks for them, and are no part of what is trained.
    """
    fit = fit or ThreatFit()
    if fit.vectors != (vectors is not None):
        raise TrainingError(
            expected="word vectors, and a fit that asks for them", got="one without the other", where="the threat"
        )
    tokenizer, counts = Tokenizer(), Counter[str]()
    words = [tokenizer.words(text)[: fit.max_length] for text in train.texts]
    for each in words:
        counts.update(each)
    table = next((edit.table for edit in threat.edits if edit.table is not None), None)
    vocabulary = Vocabulary.build(counts, table=table, minimum_count=fit.minimum_count, limit=fit.vocabulary)
    labels = torch.from_numpy(np.asarray(train.labels, dtype=np.int64))
    ids = [torch.tensor(vocabulary.encode(each), dtype=torch.int64) for each in words]
    edits = [Drops.of(edit, vocabulary) for edit in threat.edits if edit.at_most != 0]

    def fitted(codes: Tensor) -> tuple[Tensor, Tensor]:
        read = [_distinct(each, codes) for each in ids] if fit.once else ids
        drops = [_of_codes(each, codes, fit) for each in edits]
        known = None if vectors is None else _directions(vectors, vocabulary, codes, counts)
        return _fit(read, labels, len(label_names), codes, drops, fit, known, seed)

    codes = _readable(torch.arange(len(vocabulary)), fit)
    if table is not None and fit.clusters:
        codes = _readable(_clusters(fitted(codes)[0][codes], vocabulary, table, counts, fit), fit)
    weight, bias = fitted(codes)
    bag = _once(weight, codes) if fit.once else _bag(weight[codes])
    with torch.no_grad():
        bag.bias.copy_(bias)
    return TextClassifier(bag, vocabulary, tuple(label_names), table, fit.max_length)


def _readable(codes: Tensor, fit: ThreatFit) -> Tensor:
    """A bag of n-grams reads codes from `LARGEST` on as unknown."""
    return codes.masked_fill(codes >= LARGEST, UNKNOWN) if fit.once else codes


def _clusters(
    weight: Tensor, vocabulary: Vocabulary, table: SubstitutionTable, counts: Mapping[str, int], fit: ThreatFit
) -> Tensor:
    """The code of every id: that of its cluster, by the links between words and their weights, [ids, classes]."""
    often = torch.tensor([0.0, 0.0, *(counts.get(word, 0) + 1.0 for word in vocabulary.words)])
    by_label = (often[:, None] * torch.softmax(SHARPNESS * weight, dim=1)).double().numpy()
    given = {"resolution": fit.clusters, "label_weight": fit.label_weight}
    return torch.from_numpy(labelled_codes(vocabulary, table, counts, by_label, **given))


def _of_codes(drops: Drops, codes: Tensor, fit: ThreatFit) -> Drops:
    """With codes in the place of ids, but for owners; where words count once, one that comes twice comes once."""
    first, second = codes[drops.first], codes[drops.second]
    return replace(drops, first=first, second=second.masked_fill(first == second, PADDING) if fit.once else second)


def _distinct(ids: Tensor, codes: Tensor) -> Tensor:
    """The first word of every code."""
    _, which = codes[ids].unique(return_inverse=True)
    first = torch.full((int(which.max()) + 1 if len(ids) else 0,), len(ids))
    return ids[first.scatter_reduce(0, which, torch.arange(len(ids)), "amin").sort().values]


def _bag(weight: Tensor) -> BagOfWords:
    bag = BagOfWords(classes=weight.shape[1], features=(), ties=())
    bag.adopt(codes=torch.arange(len(weight)), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        bag.weight.copy_(weight)
    return bag


def _once(weight: Tensor, codes: Tensor) -> BagOfNgrams:
    bag = BagOfNgrams(classes=weight.shape[1], longest=1)
    bag.adopt(codes=codes, keys=torch.arange(UNKNOWN, len(weight)))
    with torch.no_grad():
        bag.weight.copy_(weight[UNKNOWN:])
    return bag


def _directions(vectors: EmbeddingTable, vocabulary: Vocabulary, codes: Tensor, counts: Mapping[str, int]) -> Tensor:
    """The vector of every code at length 1, the mean of its words, weighed by their counts; zero where none has one."""
    found = torch.zeros(len(vocabulary), vectors.width)
    for number, word in enumerate(vocabulary.words, start=2):
        if word in vectors:
            found[number] = torch.from_numpy(vectors.vector(word).copy()) * max(counts.get(word, 0), 1)
    return F.normalize(torch.zeros(int(codes.max()) + 1, vectors.width).index_add(0, codes, found), dim=1)


def _alike(lengths: Tensor, size: int, generator: torch.Generator) -> list[Tensor]:
    """Texts of like length together, and the batches in any order: little of a batch is padding then."""
    noisy = lengths.log() + 0.1 * torch.randn(len(lengths), generator=generator)
    batches = noisy.argsort().split(size)
    return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]


def _fit(
    ids: list[Tensor],
    labels: Tensor,
    classes: int,
    codes: Tensor,
    drops: Sequence[Drops],
    fit: ThreatFit,
    known: Tensor | None,
    seed: int,
) -> tuple[Tensor, Tensor]:
    """The weights of codes, and the bias."""
    generator = torch.Generator().manual_seed(seed)
    own, bias = torch.zeros(int(codes.max()) + 1, classes), torch.zeros(classes)
    shared = None if known is None else torch.zeros(known.shape[1], classes)
    groups = [{"params": [own.requires_grad_(), bias.requires_grad_()], "lr": fit.learning_rate}]
    if shared is not None:
        groups.append({"params": [shared.requires_grad_()], "lr": fit.learning_rate / 2})
    optimiser = torch.optim.Adam(groups)
    lengths = torch.tensor([float(max(len(each), 1)) for each in ids])
    steps = fit.epochs * math.ceil(len(ids) / fit.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(1 - step / steps, 0.0))
    for _ in range(fit.epochs):
        for rows in _alike(lengths, fit.batch, generator):
            padded = torch.nn.utils.rnn.pad_sequence([ids[row] for row in rows.tolist()], batch_first=True)
            weight = own if known is None or shared is None else own + known @ shared
            loss = _loss(weight, bias, padded, codes, labels[rows], drops, fit) + fit.l2 * own.square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                own[PADDING] = 0.0
            schedule.step()
    with torch.no_grad():
        return (own if known is None or shared is None else own + known @ shared).detach(), bias.detach()


def _loss(
    weight: Tensor, bias: Tensor, ids: Tensor, codes: Tensor, labels: Tensor, drops: Sequence[Drops], fit: ThreatFit
) -> Tensor:
    """Cross-entropy of the clean logits and of those in the worst case."""
    words = (ids != PADDING).sum(dim=1)
    scale = torch.ones(len(ids)) if fit.once else words.clamp(min=1).to(weight).rsqrt()
    logits = F.embedding(codes[ids], weight).sum(dim=1) * scale.unsqueeze(1) + bias
    raised = torch.zeros_like(logits)
    for label in labels.unique().tolist():
        rows = (labels == label).nonzero().squeeze(1)
        leads = weight[:, label].unsqueeze(1) - weight
        lost = torch.zeros(len(rows), weight.shape[1]).to(logits)
        for kind in drops:
            taken = F.embedding(ids[rows], kind.worst(leads, codes))  # [texts, words, classes]
            most = taken.shape[1] if kind.at_most is None else min(kind.at_most, taken.shape[1])
            lost = lost + (taken.sum(dim=1) if kind.at_most is None else taken.topk(most, dim=1).values.sum(dim=1))
        raised = raised.index_add(0, rows, lost * scale[rows].unsqueeze(1))
    worst = F.cross_entropy(logits + raised, labels)
    return fit.clean_share * F.cross_entropy(logits, labels) + (1 - fit.clean_share) * worst
