"""The margin of a text that was left undecided is a lower bound as well: no variant goes below it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tests.soundness.trained import sentences, table, trained

from sgbt.certify import DEFAULT_TIERS, TIERS, Specification, Verdict, certify, exhaustive, in_float64
from sgbt.certify.oracle import combinations_of
from sgbt.certify.verifier import lowest_margin
from sgbt.models import BagOfNgrams, BagOfWords, TextClassifier
from sgbt.models.bag_of_ngrams.model import BITS
from sgbt.threats import SubstitutionIndex, SubstitutionTable, Vocabulary

CASES = [
    ("cnn", "standard", "max", 2),
    ("cnn", "standard", "mean", 3),
    ("bilstm", "standard", "last", 2),
    ("bilstm", "standard", "max", 2),
    ("bilstm", "beside-words", "mean", 3),
    ("linear", "standard", "", 3),
    ("grams", "standard", "", 3),
    ("grams", "ibp", "", 2),
]


@pytest.mark.parametrize("budget", [None, 1, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_variant_goes_below_the_margin_of_an_undecided_text(case, budget) -> None:
    kind, objective, pooling, classes = case
    classifier = trained(kind, objective, pooling, classes)
    texts = sentences(20, 21, classes=classes, most=5)
    index = SubstitutionIndex.build(table(), classifier.vocabulary)
    precise, undecided = in_float64(classifier.model), 0
    for tiers in (DEFAULT_TIERS, ("ibp",), ("exact",)):
        for proof in certify(classifier, texts, tiers=tiers, max_substitutions=budget):
            if proof.verdict is not Verdict.ABSTAINED:
                continue
            found = index.for_words([classifier.tokenizer.words(texts.texts[proof.index])])
            spec = Specification.of(found, found.mask, torch.tensor([proof.label]), classes=classes, budget=budget)
            if combinations_of(spec, 0) > 2000:
                continue
            undecided += 1
            assert proof.margin <= exhaustive(precise, spec, 0).worst + 1e-9, (tiers, proof)
    assert undecided


def long_grams(words: int) -> TextClassifier:
    """Every run of the words of one long text says yes, and every run of their substitutes no."""
    names = [f"{kind}{chr(97 + number // 26)}{chr(97 + number % 26)}" for kind in "yn" for number in range(words)]
    model = BagOfNgrams(longest=4)
    runs = []
    for kind in range(2):
        codes = [2 + kind * words + number for number in range(words)]
        for length in range(1, 5):
            for start in range(words - length + 1):
                run = codes[start : start + length]
                runs.append((sum(code << BITS * place for place, code in enumerate(reversed(run))), kind))
    runs.sort()
    model.adopt(codes=torch.arange(2 + len(names)), keys=torch.tensor([key for key, _ in runs]))
    with torch.no_grad():
        model.weight[:, 1] = torch.tensor([0.5 if kind == 0 else -1.0 for _, kind in runs])
    swaps = SubstitutionTable({names[number]: (names[words + number],) for number in range(words)})
    return replace(TextClassifier(model.eval(), Vocabulary(tuple(names)), ("no", "yes"), max_length=1000), table=swaps)


@pytest.mark.parametrize("tiers", [("ibp",), ("exact",), TIERS])
def test_the_margin_of_a_long_undecided_text_counts_every_run_that_it_can_lose(tiers) -> None:
    classifier = long_grams(300)
    words = [word for word in classifier.vocabulary.words if word.startswith("y")]
    (proof,) = certify(classifier, [" ".join(words)], labels=[1], tiers=tiers)
    swapped = " ".join(f"n{word[1:]}" for word in words)
    logits = classifier.logits_of(classifier.encode([swapped]))[0]
    assert proof.verdict is Verdict.ABSTAINED
    assert proof.margin <= float(logits[1] - logits[0]) < -1000


@pytest.mark.parametrize("places", [False, True])
def test_no_text_goes_below_the_floor_of_a_linear_model(places: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    bag = BagOfWords(classes=3, features=("before", "pair"), places=places).double()
    bag.adopt(codes=torch.arange(9), keys=torch.arange(3 << 40, (3 << 40) + 50))
    with torch.no_grad():
        for weight in bag.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    floor = lowest_margin(bag, longest=4000)
    worst = int((bag.weight[:9, 0] - bag.weight[:9, 1]).argmin())
    for ids in (torch.randint(1, 9, (5, 4000), generator=generator), torch.full((1, 4000), max(worst, 1))):
        logits = bag(ids).detach()
        assert float((logits.unsqueeze(2) - logits.unsqueeze(1)).amin()) >= floor
