from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sgbt.certify.edits import ThreatSummary, certify_against
from sgbt.core.errors import TrainingError
from sgbt.data import Split
from sgbt.embeddings import EmbeddingTable
from sgbt.threats import SubstitutionTable, Threat
from sgbt.training.threat_bag import ThreatFit, fit_bag_of_words

GOOD = ("great", "lovely", "moving", "funny")
BAD = ("awful", "boring", "stupid", "clumsy")


def drawn(size: int, seed: int) -> Split:
    """Texts of one class say several words of that class, the first of them always."""
    drawn = np.random.default_rng(seed)
    labels = drawn.integers(2, size=size)
    texts = [
        " ".join(["the film was", (BAD, GOOD)[label][0], *drawn.choice((BAD, GOOD)[label], 3), "and that is all"])
        for label in labels
    ]
    return Split("drawn", tuple(texts), labels)


TRAIN, TEST = drawn(300, 0), drawn(30, 1)
FIT = ThreatFit(epochs=12, batch=64, minimum_count=1, learning_rate=0.05)


def certified(trained_for: Threat, proven_for: Threat) -> tuple[float, float]:
    model = fit_bag_of_words(TRAIN, ("bad", "good"), trained_for, fit=FIT)
    found = ThreatSummary.of(certify_against(model, TEST, proven_for))
    return found.clean.value, found.certified.value


@pytest.mark.parametrize(
    "threat",
    [
        Threat.typos(1),
        Threat.deletions("any", at_most=2),
        Threat.insertions(["awful", "great"], at_most=1),
        Threat.duplications(at_most=2) | Threat.deletions("any", at_most=1),
        Threat.substitutions(SubstitutionTable({"great": ("all",), "awful": ("all",)})) | Threat.typos(1),
    ],
)
def test_training_on_the_worst_case_certifies(threat: Threat) -> None:
    clean, proven = certified(threat, threat)
    assert clean == 1.0
    assert proven >= 0.8


def test_the_worst_case_is_what_is_trained_on() -> None:
    """With all weight on one word that an error can hide, clean training certifies less."""
    threat = Threat.insertions(["awful", "great"], at_most=3)
    robust, plain = certified(threat, threat), certified(threat.within(total=0), threat)
    assert robust[0] == plain[0] == 1.0
    assert robust[1] >= plain[1]


def test_the_same_seed_gives_the_same_weights() -> None:
    one, two = (fit_bag_of_words(TRAIN, ("bad", "good"), Threat.typos(1), fit=FIT, seed=3) for _ in range(2))
    assert one.identity == two.identity


def test_words_that_train_lacks_learn_from_words_used_like_them() -> None:
    """The unseen word has the vector of a word that speaks for a class, so it speaks for that class as well."""
    listed = ("great", "awful", "splendid")
    near = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.1]], dtype=np.float32)
    table = SubstitutionTable({"great": ("splendid",)})  # brings the word into the vocabulary
    threat = Threat.substitutions(table, at_most=1)
    fit = replace(FIT, vectors=True)
    vectors = EmbeddingTable(listed, near, name="small")
    with_vectors = fit_bag_of_words(TRAIN, ("bad", "good"), threat, fit=fit, vectors=vectors)
    assert with_vectors.predict(["splendid"]).probabilities[0, 1] > 0.5
    with pytest.raises(TrainingError, match="one without the other"):
        fit_bag_of_words(TRAIN, ("bad", "good"), threat, fit=fit)


def test_odd_options_are_refused() -> None:
    with pytest.raises(TrainingError, match="counts of at least 1"):
        ThreatFit(epochs=0)
