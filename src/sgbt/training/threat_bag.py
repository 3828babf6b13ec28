"""A bag of words fitted to the worst case of a threat.

What an edit does to a bag of words is nearly a matter of the word it meets: each distinct word has outcomes (another
word, "unknown", two halves, nothing), the least over them is found once per distinct word, and the worst case of a text
is its clean margin minus the largest drops of its words, as many as the budget allows, or all of them where there
is none. That leaves out how edits meet (a join of two words, two errors in one) and the number of words; proofs do not
(`sgbt.certify.edits`). The loss is the cross-entropy of the logits so lowered, and of the clean ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.core.errors import TrainingError
from sgbt.data import Split, Tokenizer
from sgbt.embeddings import EmbeddingTable
from sgbt.models import BagOfWords, TextClassifier
from sgbt.threats import Threat, Vocabulary
from sgbt.threats.edit_kinds import rewrites
from sgbt.threats.lattice import ChoiceSets
from sgbt.threats.misspelt import Misspelt
from sgbt.threats.threat import Edit
from sgbt.threats.vocabulary import PADDING, UNKNOWN

Outcome = tuple[int, int]
"""The ids that stand in the place of a word, `PADDING` for none."""


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

    def __post_init__(self) -> None:
        whole = min(self.epochs, self.batch, self.minimum_count, self.vocabulary, self.max_length) >= 1
        if not whole or not 0 <= self.clean_share <= 1 or self.learning_rate <= 0 or self.l2 < 0:
            raise TrainingError(
                expected="counts of at least 1, a positive learning rate, l2 of at least 0, clean_share from 0 to 1",
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
    bag = BagOfWords(classes=len(label_names), features=(), ties=())
    bag.adopt(codes=torch.arange(len(vocabulary)), keys=torch.zeros(0, dtype=torch.int64))
    drops = [Drops.of(edit, vocabulary) for edit in threat.edits if edit.at_most != 0]
    ids = [torch.tensor(vocabulary.encode(each), dtype=torch.int64) for each in words]
    known = None if vectors is None else _directions(vectors, vocabulary)
    _fit(bag, ids, torch.from_numpy(np.asarray(train.labels, dtype=np.int64)), drops, fit, known, seed)
    return TextClassifier(bag, vocabulary, tuple(label_names), table, fit.max_length)


@dataclass(frozen=True, eq=False)
class Drops:
    """The outcomes of one kind of edit, word by word: outcome i, two ids, belongs to word `owner[i]`."""

    first: Tensor
    second: Tensor
    owner: Tensor
    at_most: int | None

    @staticmethod
    def of(edit: Edit, vocabulary: Vocabulary) -> Drops:
        """Of all words of a vocabulary."""
        found = _outcomes(edit, vocabulary)
        owner = [number for number, each in enumerate(found) for _ in each]
        pairs = [pair for each in found for pair in each]
        first, second = (torch.tensor([pair[side] for pair in pairs], dtype=torch.int64) for side in (0, 1))
        return Drops(first, second, torch.tensor(owner, dtype=torch.int64), edit.at_most)

    def worst(self, leads: Tensor) -> Tensor:
        """What the worst outcome of each word takes away from each lead, at least 0, [ids, leads]."""
        after = leads[self.first] + leads[self.second]
        least = leads.scatter_reduce(0, self.owner.unsqueeze(1).expand_as(after), after, "amin", include_self=True)
        return leads - least

    def taken(self, leads: Tensor) -> Tensor:
        """The same where the edit is made: below 0 where that helps, and minus infinity where it cannot be made."""
        after = leads[self.first] + leads[self.second]
        none = torch.full_like(leads, torch.inf)
        return leads - none.scatter_reduce(0, self.owner.unsqueeze(1).expand_as(after), after, "amin")


def _outcomes(edit: Edit, vocabulary: Vocabulary) -> list[set[Outcome]]:
    names = ("", "", *vocabulary.words)
    found: list[set[Outcome]] = [set() for _ in names]
    sets = ChoiceSets()
    misspelt = Misspelt(vocabulary, sets) if edit.kind == "typos" else None
    for number, word in enumerate(names):
        if number == PADDING:
            continue
        if misspelt is not None:
            found[number] |= _typos_of(word, misspelt, sets, vocabulary)
        elif edit.kind == "insertions":
            found[number] |= {(number, other) for other in vocabulary.encode(edit.words)}
        elif word:
            found[number] |= set(_written(edit, word, vocabulary))
    return found


def _written(edit: Edit, word: str, vocabulary: Vocabulary) -> Iterator[Outcome]:
    """What an edit makes of a word alone, of up to two words."""
    for taken, choices in rewrites(edit, (word,), 0):
        if taken == 1 and len(choices) <= 2:
            ids = [vocabulary.encode(each) for each in choices]
            yield from product(*ids, *([[PADDING]] * (2 - len(ids))))


def _typos_of(word: str, misspelt: Misspelt, sets: ChoiceSets, vocabulary: Vocabulary) -> set[Outcome]:
    """One error within a word: another word, an unknown one, or two halves with or without the character between."""
    found = {(number, PADDING) for _, _, each in misspelt.changed(word, 1) for number in sets[each]} if word else set()
    found.add((UNKNOWN, PADDING))
    for at in range(1, len(word)):
        left = vocabulary.id_of(word[:at])
        found.add((left, vocabulary.id_of(word[at:])))
        if at + 1 < len(word):
            found.add((left, vocabulary.id_of(word[at + 1 :])))
    return found


def _directions(vectors: EmbeddingTable, vocabulary: Vocabulary) -> Tensor:
    """The vector of every id, at length 1; zero where there is none."""
    found = torch.zeros(len(vocabulary), vectors.width)
    for number, word in enumerate(vocabulary.words, start=2):
        if word in vectors:
            found[number] = torch.from_numpy(vectors.vector(word).copy())
    return F.normalize(found, dim=1)


def _alike(lengths: Tensor, size: int, generator: torch.Generator) -> list[Tensor]:
    """Texts of like length together, and the batches in any order: little of a batch is padding then."""
    noisy = lengths.log() + 0.1 * torch.randn(len(lengths), generator=generator)
    batches = noisy.argsort().split(size)
    return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]


def _fit(
    bag: BagOfWords,
    ids: list[Tensor],
    labels: Tensor,
    drops: Sequence[Drops],
    fit: ThreatFit,
    known: Tensor | None,
    seed: int,
) -> None:
    generator = torch.Generator().manual_seed(seed)
    own, bias = bag.weight, bag.bias
    shared = None if known is None else torch.zeros(known.shape[1], own.shape[1], requires_grad=True)
    groups = [{"params": [own, bias], "lr": fit.learning_rate}]
    if shared is not None:
        groups.append({"params": [shared], "lr": fit.learning_rate / 2})
    optimiser = torch.optim.Adam(groups)
    lengths = torch.tensor([float(max(len(each), 1)) for each in ids])
    steps = fit.epochs * math.ceil(len(ids) / fit.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(1 - step / steps, 0.0))
    for _ in range(fit.epochs):
        for rows in _alike(lengths, fit.batch, generator):
            padded = torch.nn.utils.rnn.pad_sequence([ids[row] for row in rows.tolist()], batch_first=True)
            weight = own if known is None or shared is None else own + known @ shared
            loss = _loss(weight, bias, padded, labels[rows], drops, fit.clean_share) + fit.l2 * own.square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                own[PADDING] = 0.0
            schedule.step()
    if known is not None and shared is not None:
        with torch.no_grad():
            own.add_(known @ shared)


def _loss(
    weight: Tensor, bias: Tensor, ids: Tensor, labels: Tensor, drops: Sequence[Drops], clean_share: float
) -> Tensor:
    """Cross-entropy of the clean logits and of those in the worst case."""
    scale = (ids != PADDING).sum(dim=1).clamp(min=1).to(weight).rsqrt()
    logits = F.embedding(ids, weight).sum(dim=1) * scale.unsqueeze(1) + bias
    raised = torch.zeros_like(logits)
    for label in labels.unique().tolist():
        rows = (labels == label).nonzero().squeeze(1)
        leads = weight[:, label].unsqueeze(1) - weight
        lost = torch.zeros(len(rows), weight.shape[1]).to(logits)
        for kind in drops:
            taken = F.embedding(ids[rows], kind.worst(leads))  # [texts, words, classes]
            most = taken.shape[1] if kind.at_most is None else min(kind.at_most, taken.shape[1])
            lost = lost + (taken.sum(dim=1) if kind.at_most is None else taken.topk(most, dim=1).values.sum(dim=1))
        raised = raised.index_add(0, rows, lost * scale[rows].unsqueeze(1))
    worst = F.cross_entropy(logits + raised, labels)
    return clean_share * F.cross_entropy(logits, labels) + (1 - clean_share) * worst
