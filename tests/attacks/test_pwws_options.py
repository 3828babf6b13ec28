"""PWWS with a tagger: only synonyms of the part of speech that a word has in its text are tried; and its order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sgbt.attacks import PWWS, PartsOfSpeech, attack
from sgbt.attacks.search.pwws import Order
from sgbt.core.errors import AttackError
from sgbt.threats import SubstitutionTable, WordNet

WORDNET = WordNet(
    senses={"n": {"play": (1,), "drama": (1,)}, "v": {"play": (2,), "act": (2,)}, "a": {}, "r": {}},
    members={"n": {1: ("play", "drama")}, "v": {2: ("play", "act")}, "a": {}, "r": {}},
    opposites={"n": (), "v": (), "a": (), "r": ()},
    irregular={"n": {}, "v": {}, "a": {}, "r": {}},
)
TABLE = SubstitutionTable({"play": ("act", "drama")})
WEIGHTS = {"play": 1.0, "act": -2.0, "drama": -1.0}


def sentiment(texts: Sequence[str]) -> np.ndarray:
    score = np.array([sum(WEIGHTS.get(word, 0.0) for word in text.split()) for text in texts])
    positive = 1 / (1 + np.exp(-score))
    return np.stack([1 - positive, positive], axis=1)


def tagged(*tags: str) -> PartsOfSpeech:
    return PartsOfSpeech(lambda words: tags, "by hand", WORDNET)


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        (("DT", "NN"), "a drama"),
        (("DET", "NOUN"), "a drama"),
        (("DT", "VBZ"), "a act"),
        (("DT", "NNP"), "a drama"),
        (("DT", "CD"), None),
        (("DT", "JJ"), None),
    ],
)
def test_only_synonyms_of_the_tagged_part_of_speech_are_tried(tags: tuple[str, ...], found: str | None) -> None:
    (row,) = attack(sentiment, ["a play"], TABLE, method=PWWS(parts_of_speech=tagged(*tags)))
    assert (row.perturbed if row.status == "success" else None) == found
    assert row.queries == (0 if found is None else 1 + 2 + 1 + 1)  # the text, two masks, one synonym, one swap made


def test_without_a_tagger_all_parts_of_speech_are_tried() -> None:
    (row,) = attack(sentiment, ["a play"], TABLE, method="pwws")
    assert row.perturbed == "a act"


def test_a_tagger_that_miscounts_is_told() -> None:
    with pytest.raises(AttackError, match="one part of speech for each of 2 words"):
        attack(sentiment, ["a play"], TABLE, method=PWWS(parts_of_speech=tagged("NN")))


def test_the_order_is_that_of_all_saliencies() -> None:
    """Ties and losses included; and where few words lead, few saliencies are asked for."""
    rng = np.random.default_rng(0)
    for count in (1, 2, 7, 40):
        for _ in range(50):
            drops = np.round(rng.normal(size=count) * rng.choice([0.01, 0.3], size=count), int(rng.integers(1, 6)))
            masked = np.round(rng.random(count), int(rng.integers(1, 6)))
            saliency = 0.9 - masked
            weights = np.exp(saliency) / np.exp(saliency).sum()
            expected = sorted(range(count), key=lambda place: -weights[place] * drops[place])
            order, known = Order(np.arange(count), drops), 0
            for first in (1, 3, 8, 50):
                wanted = order.unsure(first)
                order.learn(wanted, masked[wanted])
                known += len(wanted)
                assert order.first(first).tolist() == expected[:first]
            assert known <= count
    steep = Order(np.arange(40), 4.0 ** -np.arange(40))
    assert steep.unsure(8).tolist() == list(range(8))
