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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.core.errors import TrainingError
from sgbt.data import Split, Tokenizer
from sgbt.models import BagOfWords, TextClassifier
from sgbt.threats import Threat, Vocabulary
from sgbt.threats.lattice import ChoiceSets
from sgbt.threats.misspelt import Misspelt
from sgbt.threats.threat import ANY, Edit
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

    def __post_init__(self) -> None:
        whole = min(self.epochs, self.batch, self.minimum_count, self.vocabulary, self.max_length) >= 1
        if not whole or not 0 <= self.clean_share <= 1 or self.learning_rate <= 0 or self.l2 < 0:
            raise TrainingError(
                expected="counts of at least 1, a positive learning rate, l2 of at least 0, clean_share from 0 to 1",
                got=str(self),
            )


def fit_bag_of_words(
    train: Split, label_names: Sequence[str], threat: Threat, *, fit: ThreatFit | None = None, seed: int = 0
) -> TextClassifier:
    """A classifier with one weight per word and class, trained on the worst case of a threat."""
    fit = fit or ThreatFit()
    tokenizer, counts = Tokenizer(), Counter[str]()
    words = [tokenizer.words(text)[: fit.max_length] for text in train.texts]
    for each in words:
        counts.update(each)
    table = next((edit.table for edit in threat.edits if edit.table is not None), None)
    vocabulary = Vocabulary.build(counts, table=table, minimum_count=fit.minimum_count, limit=fit.vocabulary)
    bag = BagOfWords(classes=len(label_names), features=(), ties=())
    bag.adopt(codes=torch.arange(len(vocabulary)), keys=torch.zeros(0, dtype=torch.int64))
    drops = [_Drops.of(edit, vocabulary) for edit in threat.edits if edit.at_most != 0]
    ids = [torch.tensor(vocabulary.encode(each), dtype=torch.int64) for each in words]
    _fit(bag, ids, torch.from_numpy(np.asarray(train.labels, dtype=np.int64)), drops, fit, seed)
    return TextClassifier(bag, vocabulary, tuple(label_names), table, fit.max_length)


@dataclass(frozen=True, eq=False)
class _Drops:
    """The outcomes of one kind of edit, word by word: outcome i, two ids, belongs to word `owner[i]`."""

    first: Tensor
    second: Tensor
    owner: Tensor
    at_most: int | None

    @staticmethod
    def of(edit: Edit, vocabulary: Vocabulary) -> _Drops:
        found = _outcomes(edit, vocabulary)
        owner = [number for number, each in enumerate(found) for _ in each]
        pairs = [pair for each in found for pair in each]
        first, second = (torch.tensor([pair[side] for pair in pairs], dtype=torch.int64) for side in (0, 1))
        return _Drops(first, second, torch.tensor(owner, dtype=torch.int64), edit.at_most)

    def worst(self, leads: Tensor) -> Tensor:
        """What the worst outcome of each word takes away from each lead, at least 0, [ids, leads]."""
        after = leads[self.first] + leads[self.second]
        least = leads.scatter_reduce(0, self.owner.unsqueeze(1).expand_as(after), after, "amin", include_self=True)
        return leads - least


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
        elif edit.table is not None:
            found[number] |= {(other, PADDING) for other in vocabulary.encode(edit.table.substitutes(word))}
        elif edit.kind == "deletions" and (edit.words == (ANY,) or word in edit.words):
            found[number].add((PADDING, PADDING))
        elif edit.kind == "duplications":
            found[number].add((number, number))
        elif edit.kind == "insertions":
            found[number] |= {(number, other) for other in vocabulary.encode(edit.words)}
    return found


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


def _fit(
    bag: BagOfWords, ids: list[Tensor], labels: Tensor, drops: Sequence[_Drops], fit: ThreatFit, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(bag.parameters(), lr=fit.learning_rate)
    steps = fit.epochs * math.ceil(len(ids) / fit.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(1 - step / steps, 0.0))
    for _ in range(fit.epochs):
        order = torch.randperm(len(ids), generator=generator)
        for rows in order.split(fit.batch):
            padded = torch.nn.utils.rnn.pad_sequence([ids[row] for row in rows.tolist()], batch_first=True)
            loss = _loss(bag, padded, labels[rows], drops, fit.clean_share)
            loss = loss + fit.l2 * bag.weight.square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                bag.weight[PADDING] = 0.0
            schedule.step()


def _loss(bag: BagOfWords, ids: Tensor, labels: Tensor, drops: Sequence[_Drops], clean_share: float) -> Tensor:
    """Cross-entropy of the clean logits and of those in the worst case."""
    scale = (ids != PADDING).sum(dim=1).clamp(min=1).to(bag.weight).rsqrt()
    logits = F.embedding(ids, bag.weight).sum(dim=1) * scale.unsqueeze(1) + bag.bias
    raised = torch.zeros_like(logits)
    for label in labels.unique().tolist():
        rows = (labels == label).nonzero().squeeze(1)
        leads = bag.weight[:, label].unsqueeze(1) - bag.weight
        lost = torch.zeros(len(rows), bag.weight.shape[1]).to(logits)
        for kind in drops:
            taken = F.embedding(ids[rows], kind.worst(leads))  # [texts, words, classes]
            most = taken.shape[1] if kind.at_most is None else min(kind.at_most, taken.shape[1])
            lost = lost + (taken.sum(dim=1) if kind.at_most is None else taken.topk(most, dim=1).values.sum(dim=1))
        raised = raised.index_add(0, rows, lost * scale[rows].unsqueeze(1))
    worst = F.cross_entropy(logits + raised, labels)
    return clean_share * F.cross_entropy(logits, labels) + (1 - clean_share) * worst
