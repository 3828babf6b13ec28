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


def test_words_that_count_once_are_not_moved_by_doubling() -> None:
    """The same threat moves a bag that counts; the margin proven for one that does not is the clean one, exactly."""
    threat = Threat.duplications(at_most=6)
    once = fit_bag_of_words(TRAIN, ("bad", "good"), threat, fit=replace(FIT, once=True))
    for row, logits in zip(
        certify_against(once, TEST, threat), once.logits_of(once.encode(list(TEST.texts))), strict=True
    ):
        assert row.margin == pytest.approx(abs(float(logits[0] - logits[1])))
    assert once.predict(["great great film"]).probabilities == pytest.approx(once.predict(["great film"]).probabilities)
    counted = fit_bag_of_words(TRAIN, ("bad", "good"), threat, fit=FIT)
    rows, logits = certify_against(counted, TEST, threat), counted.logits_of(counted.encode(list(TEST.texts))).numpy()
    assert all(row.margin < abs(own[0] - own[1]) for row, own in zip(rows, logits.tolist(), strict=True))


def test_substitutes_of_one_cluster_have_one_weight() -> None:
    """So that no number of substitutions within clusters moves the margin."""
    table = SubstitutionTable(
        {one: tuple(other for other in same if other != one) for same in (GOOD, BAD) for one in same}
    )
    threat = Threat.substitutions(table) | Threat.deletions(["the", "that"], at_most=2)
    for once in (False, True):
        fit = replace(FIT, once=once, clusters=1.0, label_weight=1.0)
        model = fit_bag_of_words(TRAIN, ("bad", "good"), threat, fit=fit)
        words = model.predict([" ".join([each, "film"]) for each in GOOD]).probabilities
        assert words == pytest.approx(np.repeat(words[:1], len(GOOD), axis=0))
        assert ThreatSummary.of(certify_against(model, TEST, threat)).certified.value == 1.0


def test_worst_cases_of_shared_weights_have_gradients() -> None:
    """The loss on the worst case alone moves the weights of clusters, and those of words that count once."""
    table = SubstitutionTable({"great": ("lovely",), "awful": ("boring",)})
    threat = Threat.substitutions(table) | Threat.typos(1)
    for once in (False, True):
        fit = replace(FIT, once=once, clusters=1.0, clean_share=0.0, epochs=1)
        model = fit_bag_of_words(TRAIN, ("bad", "good"), threat, fit=fit)
        assert float(model.model.weight.detach().abs().sum()) > 0
