"""The radius of a BagOfNgrams where ambiguous words are neighbours, against every version of a text as a string."""

from __future__ import annotations

import itertools
import random

import pytest
import torch

from sgbt.certify import certify
from sgbt.models import BagOfNgrams, Sum, TextClassifier, TextCNN, WordEmbedding
from sgbt.models.bag_of_ngrams.model import BITS
from sgbt.threats import SubstitutionTable, Vocabulary

WORDS = tuple(f"w{letter}" for letter in "abcdefghijkl")


def classifier_of(seed: int, *, codes: int, classes: int = 2, beside: bool = False) -> TextClassifier:
    """Random weights for many runs of up to three codes; every word of the first half has one or two substitutes."""
    drawn = random.Random(seed)
    torch.manual_seed(seed)
    mapping = [2 + number if codes >= len(WORDS) else 2 + drawn.randrange(codes) for number in range(len(WORDS))]
    keys = set()
    for length in (1, 2, 3):
        for run in itertools.product(sorted(set(mapping)), repeat=length):
            if drawn.random() < (1.0, 0.5, 0.15)[length - 1]:
                keys.add(sum(code << BITS * place for place, code in enumerate(reversed(run))))
    model: BagOfNgrams | Sum = BagOfNgrams(classes=classes, longest=3)
    model.adopt(codes=torch.tensor([0, 1, *mapping]), keys=torch.tensor(sorted(keys)))
    with torch.no_grad():
        model.weight.normal_(std=0.4)
        model.bias.copy_(torch.tensor([3.0, 0.0, 0.5])[:classes])
    if beside:
        words = TextCNN(
            WordEmbedding(torch.randn(len(WORDS) + 2, 3) / 5), classes=classes, kernel_sizes=(2,), filters=3
        )
        model = Sum((words, model))
    half = len(WORDS) // 2
    table = {}
    for place, word in enumerate(WORDS[:half]):
        others = [WORDS[half + place]]
        if codes < len(WORDS) and drawn.random() < 0.5:
            others.append(drawn.choice([other for other in WORDS if other not in (word, *others)]))
        table[word] = tuple(others)
    labels = tuple(f"label {number}" for number in range(classes))
    return TextClassifier(model.double().eval(), Vocabulary(WORDS), labels, SubstitutionTable(table, "random"))


def true_radius(classifier: TextClassifier, words: list[str], label: int) -> int:
    """The most words that may be replaced at once, whichever, so that the label stays; -1 if it is not there at all."""
    choices = [(word, *classifier.table.substitutes(word)) for word in words]
    broken = len(words) + 1
    versions = list(itertools.product(*choices))
    logits = classifier.logits_of(classifier.encode([" ".join(version) for version in versions]))
    others = logits.clone()
    others[:, label] = -torch.inf
    for version, margin in zip(versions, (logits[:, label] - others.amax(dim=1)).tolist(), strict=True):
        if margin <= 0:
            broken = min(broken, sum(a != b for a, b in zip(version, words, strict=True)))
    return min(broken - 1, sum(len(each) > 1 for each in choices))


@pytest.mark.parametrize("classes", [2, 3])
def test_where_no_run_can_stand_twice_the_radius_is_the_true_one(classes: int) -> None:
    """Six different words in a row, all ambiguous: one cell, of which nothing was known but its worst."""
    between = 0
    for seed in range(60):
        classifier = classifier_of(seed, codes=len(WORDS), classes=classes)
        words = random.Random(seed).sample(WORDS[:6], 6)
        (row,) = certify(classifier, [" ".join(words)], labels=[0])
        truth = true_radius(classifier, words, 0)
        assert (-1 if row.radius is None else row.radius) == truth
        between += 0 < truth < 6
    assert between > 5


@pytest.mark.parametrize("beside", [False, True])
def test_no_version_within_the_radius_loses_the_label(beside: bool) -> None:
    """Words that repeat, codes that several words share, and another channel beside: never above the true radius."""
    found = []
    for seed in range(40):
        classifier = classifier_of(seed, codes=5, beside=beside)
        drawn = random.Random(seed)
        words = [drawn.choice(WORDS[:6] if drawn.random() < 0.8 else WORDS[6:]) for _ in range(7)]
        (row,) = certify(classifier, [" ".join(words)], labels=[0])
        truth = true_radius(classifier, words, 0)
        assert (-1 if row.radius is None else row.radius) <= truth
        within = [certify(classifier, [" ".join(words)], labels=[0], max_substitutions=n)[0] for n in (1, 2, 3)]
        for number, each in enumerate(within, start=1):
            assert not each.certified or number <= truth or truth == row.replaceable
            if not beside and each.certified and not row.certified:
                assert row.radius is not None
                assert row.radius >= min(number, row.replaceable)
        found.append((row.radius or 0, row.certified))
    assert sum(radius > 0 and not certified for radius, certified in found) > 2


def test_more_words_than_are_counted_first() -> None:
    """A run of forty ambiguous words each of which costs a little: the radius lies beyond the first numbers tried."""
    model = BagOfNgrams(longest=2)
    model.adopt(codes=torch.arange(4), keys=torch.tensor([2, 3, 2 << BITS | 3, 3 << BITS | 3]))
    vocabulary = Vocabulary(("good", "bad"))
    with torch.no_grad():
        model.weight[:, 0] = torch.tensor([0.0, -1.0, -1.0, -1.0])
        model.bias.copy_(torch.tensor([2.5, 0.0]))
    table = SubstitutionTable({"good": ("bad",)}, "one")
    classifier = TextClassifier(model.double().eval(), vocabulary, ("yes", "no"), table)
    (row,) = certify(classifier, ["good " * 40], labels=[0])
    # A slot is charged for each run by itself: the first word replaced makes two runs, which is all that one can cost.
    assert row.radius == 1
    assert true_radius(classifier, ["good"] * 8, 0) == 1
    with torch.no_grad():
        model.weight[:, 0] = torch.tensor([0.0, -0.1, 0.0, 0.0])
    (row,) = certify(classifier, ["good " * 40], labels=[0])
    assert row.radius == 24  # 24 slots charged with a tenth each: the bound counts the run "bad" once for each
