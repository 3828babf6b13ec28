"""BiLSTMs of the default size on texts of 512 to 1,000 words: every single swap against budgets of one and radii."""

from __future__ import annotations

import random

import pytest
import torch

from sgbt.certify import certify
from sgbt.models import BiLSTM, TextClassifier, WordEmbedding
from sgbt.threats import SubstitutionTable, Vocabulary

WORDS = tuple(f"w{number}" for number in range(200))
TIERS = ("ibp", "gbm", "sgbt-core", "sgbt-taylor", "crown")


def classifier_of(seed: int, drawn: random.Random) -> TextClassifier:
    """Weights so small that something is certified, and, at every third seed, as large as they begin."""
    torch.manual_seed(seed)
    model = BiLSTM(WordEmbedding(0.3 * torch.randn(len(WORDS) + 2, 16)), pooling=("last", "mean", "max")[seed % 3])
    gain = (0.1, 0.3, 1.0)[seed // 3 % 3]
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.startswith(("forwards", "backwards")):
                weight.mul_(gain)
    entries = {word: tuple(drawn.sample([other for other in WORDS if other != word], 2)) for word in WORDS[::8]}
    return TextClassifier(model.eval(), Vocabulary(WORDS), ("no", "yes"), SubstitutionTable(entries), max_length=1000)


def checked(seed: int) -> tuple[int, int]:
    """How many rows claim that one word may be replaced, and how many swaps were tried; none may contradict."""
    drawn = random.Random(seed)
    classifier, words = classifier_of(seed, drawn), [drawn.choice(WORDS) for _ in range(drawn.choice([512, 700, 1000]))]
    text, table = " ".join(words), classifier.table
    assert table is not None
    rows = [certify(classifier, [text], tiers=TIERS, max_substitutions=limit)[0] for limit in (1, None)]
    own = torch.tensor(classifier.vocabulary.encode(words))
    swapped = []
    for place, word in enumerate(words):
        for other in table.substitutes(word):
            version = own.clone()
            version[place] = classifier.vocabulary.id_of(other)
            swapped.append(version)
    with torch.no_grad():
        logits = torch.cat(
            [classifier.deciding(torch.stack(swapped[at : at + 64])) for at in range(0, len(swapped), 64)]
        )
    least = float((logits[:, rows[0].label] - logits[:, 1 - rows[0].label]).min())
    for row in rows:
        assert row.margin <= least + row.slack
        assert least > 0 or not (row.certified or (row.radius or 0) >= 1)
    return sum(row.certified or (row.radius or 0) >= 1 for row in rows), len(swapped)


def test_no_single_swap_in_a_long_text_contradicts() -> None:
    found = [checked(seed) for seed in (0, 2)]
    assert sum(claims for claims, _ in found) >= 2
    assert all(swaps > 50 for _, swaps in found)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3, 60))
def test_no_single_swap_contradicts_in_many_long_texts(seed: int) -> None:
    assert checked(seed)[1] > 50
