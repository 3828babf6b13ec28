"""Recipes, a network and a linear model added: what is trained, what it reads, and what a killed run keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests import small

from sgbt.certify import certify
from sgbt.core.errors import ModelError, TrainingError
from sgbt.data import RaggedIds
from sgbt.models import Bag, BiLSTM, Sum, TextCNN, load_classifier, weights_hash
from sgbt.models.worst_case import Margins
from sgbt.training import (
    Certified,
    ClusterMeans,
    LateFusion,
    Recipe,
    Residual,
    Run,
    WarmStart,
    train,
)
from sgbt.training import fitted_parts as module
from sgbt.training.config import PRESETS
from sgbt.training.fitted_parts import FittedPart, margins_of, part_of
from sgbt.training.loop.listeners import Listeners
from sgbt.training.loop.steps import Corpus, Examples, steps_of

CLASSES = 2


CHANNELS: dict[str, tuple[str, dict[str, object]]] = {
    "grams": ("grams", {}),
    "maps": ("grams", {"ending": 2, "more_resolutions": [0.5]}),
    "words": ("linear", {"features": [], "places": True}),
}


def empty(channel: str, seed: int = 0) -> Bag:
    return Residual(*CHANNELS[channel]).empty(CLASSES, small.vectors(seed=seed))


def trained(kind: type, channel: str, folder: Path | None = None) -> Run:
    return train(
        kind(small.vectors(), dropout=0.0, trainable_embedding=True),
        small.dataset(),
        objective=Certified(ramp_epochs=0.0),
        initialiser=None if channel == "words" else ClusterMeans(),
        recipe=Residual(*CHANNELS[channel]),
        substitutions=small.TABLE,
        config=small.QUICK,
        out=folder,
    )


def examples(texts: int = 24) -> Examples:
    generator, index = np.random.default_rng(0), small.index()
    rows = [generator.integers(2, len(small.VOCABULARY), generator.integers(1, 7)) for _ in range(texts)]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    labels = generator.integers(0, CLASSES, texts)
    return Examples(RaggedIds(np.concatenate(rows), starts), labels, len(small.VOCABULARY), index)


def corpus() -> Corpus:
    return Corpus(small.VOCABULARY, dict.fromkeys(small.WORDS, 3), small.TABLE)


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("kind", [TextCNN, BiLSTM])
def test_the_run_has_both_channels_and_is_certified_as_their_sum(kind: type, channel: str, tmp_path: Path) -> None:
    run = trained(kind, channel, tmp_path / "run")
    model = run.model.model
    assert isinstance(model, Sum)
    network, added = model.parts
    assert isinstance(network, kind)
    assert added.config == empty(channel).config
    assert bool(added.weight.abs().sum() > 0)
    ids = torch.tensor([[2, 5, 9, 3]])
    assert torch.allclose(model(ids), network(ids) + added(ids))
    again = load_classifier(tmp_path / "run")
    assert weights_hash(again.model) == weights_hash(model)
    test = small.dataset().test
    proofs = list(certify(again, test))
    assert sum(proof.stays for proof in proofs) > len(test) / 2
    assert run.dev["certified"] == run.dev["score"]


def test_words_start_as_the_means_of_their_clusters() -> None:
    model = small.model_of("cnn", trainable_embedding=True)
    ClusterMeans().apply(model, corpus())
    vectors = model.embedding.weight
    good, great = (small.VOCABULARY.id_of(word) for word in ("good", "great"))
    assert torch.equal(vectors[good], vectors[great])
    assert not torch.equal(vectors[good], vectors[small.VOCABULARY.id_of("bad")])
    assert bool((vectors[0] == 0).all())


def test_the_offset_reaches_the_loss() -> None:
    """A channel that knows every label leaves nothing to lose; one that is wrong costs what it says."""
    texts, model = examples(), small.model_of("cnn", trainable_embedding=True)
    other = torch.ones(len(texts), CLASSES).scatter(1, torch.from_numpy(texts.labels).unsqueeze(1), 0.0)
    losses = {}
    for lead in (-30.0, 0.0, 30.0):
        offset = replace(texts, offset=Margins(lead * other, lead * other))
        step = next(steps_of(offset, size=24, device=torch.device("cpu"), substitutes=True, epoch=5))
        parts = Certified(beta=0.0, gamma=0.0, compactness=0.0).parts(model, step, {})
        losses[lead] = float(sum(parts.values()).detach())
    assert losses[-30.0] < 1e-6 < losses[0.0]
    assert losses[30.0] == pytest.approx(30.0, abs=3.0)


@pytest.mark.parametrize("channel", CHANNELS)
def test_late_fusion_trains_the_network_as_by_itself_and_dev_sees_the_sum(channel: str, tmp_path: Path) -> None:
    def asked(folder: str, recipe: Recipe | None = None) -> Run:
        return small.tied_cnn(tmp_path / folder, recipe)

    part = CHANNELS[channel]
    alone, fused, residual = asked("alone"), asked("fused", LateFusion(*part)), asked("residual", Residual(*part))
    assert isinstance(fused.model.model, Sum)
    assert isinstance(residual.model.model, Sum)
    assert weights_hash(fused.model.model.parts[0]) == weights_hash(alone.model.model)
    assert weights_hash(fused.model.model.parts[0]) != weights_hash(residual.model.model.parts[0])
    assert weights_hash(fused.model.model.parts[1]) == weights_hash(residual.model.model.parts[1])
    proofs = list(certify(fused.model, small.dataset().dev, tiers=["ibp"]))
    assert fused.dev["certified"] == pytest.approx(sum(proof.stays for proof in proofs) / len(proofs))


def test_leads_go_from_the_text_itself_to_its_worst_case() -> None:
    leads = Margins(torch.tensor([[0.0, -2.0]]), torch.tensor([[0.0, torch.inf]]))
    assert leads.at(0.0).tolist() == [[0.0, -2.0]]
    assert leads.at(1.0)[0, 1] == torch.inf
    assert Margins(leads.clean, torch.tensor([[0.0, 2.0]])).at(0.25).tolist() == [[0.0, -1.0]]


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_margins_of_a_train_text_are_of_a_model_that_has_not_seen_it(channel: str) -> None:
    """Labels drawn at random cannot be predicted, though a model that was fitted to them predicts most."""
    texts = examples(200)
    asked = {"kappa": 1.0, "listener": Listeners()}
    found = FittedPart.cross_fitted(empty(channel), [texts, examples(10)], corpus(), **asked)
    assert found.margins[0] is not None
    labels = torch.from_numpy(texts.labels)
    unseen = (found.margins[0].clean.gather(1, 1 - labels.unsqueeze(1)) < 0).float().mean()
    seen = (margins_of(found.model, texts).clean.gather(1, 1 - labels.unsqueeze(1)) < 0).float().mean()
    assert 0.35 < float(unseen) < 0.65
    assert float(seen) > float(unseen) + 0.05
    assert bool((found.margins[0].worst >= found.margins[0].clean - 1e-4).all())


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("channel", ["grams", "words"])
def test_the_fits_are_reported_as_one_run(channel: str, apart: bool) -> None:
    begun: list[tuple[int, int]] = []

    class Heard(Listeners):
        def epoch(self, number: int, of: int, steps: int) -> None:
            begun.append((number, of))

    model = empty(channel)
    fit = FittedPart.independent if apart else FittedPart.cross_fitted
    fit(model, [examples(), examples(9)], corpus(), kappa=1.0, listener=Heard())
    numbers, limits = zip(*begun, strict=True)
    assert list(numbers) == sorted(set(numbers))
    assert set(limits) == {(1 if apart else module.FOLDS + 1) * PRESETS[model.kind].epochs}


@pytest.mark.parametrize(
    "recipe", [Residual(*CHANNELS["grams"]), LateFusion(*CHANNELS["words"]), WarmStart()], ids=lambda each: each.name
)
def test_a_listener_that_counts_epochs_is_called_for_the_network_alone(recipe: Recipe) -> None:
    heard: dict[str, list[int]] = {"own": [], "before": []}

    class Counts(Listeners):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def epoch(self, number: int, of: int, steps: int) -> None:
            heard[self.name].append(number)

        def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
            assert number == heard[self.name][-1]

    class Both(Counts):
        def for_parts(self) -> Counts:
            return Counts("before")

    def asked(listener: Listeners) -> None:
        train(
            TextCNN(small.vectors(), pooling="mean", dropout=0.0),
            small.dataset(),
            objective=Certified(ramp_epochs=0.0),
            recipe=recipe,
            substitutions=small.TABLE,
            config=small.QUICK,
            listener=listener,
        )

    asked(Listeners(Counts("own")))
    network = heard["own"].copy()
    assert len(network) <= small.QUICK.epochs
    assert not heard["before"]
    asked(Listeners(Both("own")))
    assert heard["own"] == 2 * network
    assert len(heard["before"]) > len(network)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("channel", CHANNELS)
def test_what_was_fitted_is_kept_for_the_same_run_only(
    channel: str, apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, dev = examples(), examples(9)

    def asked(kappa: float = 1.0, channel: str = channel, seed: int = 0, apart: bool = apart) -> FittedPart:
        given = {"kappa": kappa, "independent": apart, "folder": tmp_path, "listener": Listeners()}
        return part_of(empty(channel, seed), [texts, dev], corpus(), **given)

    first = asked()
    with monkeypatch.context() as patched:
        patched.setattr(module, "fitted", None)
        kept = asked()
        with pytest.raises(TypeError):
            asked(kappa=0.5)
        with pytest.raises(TypeError):
            asked(apart=not apart)
        if channel == "words":
            with pytest.raises(TypeError):
                asked(seed=1)
        for other in CHANNELS.keys() - {channel}:
            with pytest.raises(TypeError):
                asked(channel=other)
    assert weights_hash(kept.model) == weights_hash(first.model)
    assert (first.margins[0] is None) == (kept.margins[0] is None) == apart
    for one, other in zip(first.margins[apart:], kept.margins[apart:], strict=True):
        assert torch.equal(one.clean, other.clean)
        assert torch.equal(one.worst, other.worst)
    (tmp_path / module.FILE).write_bytes(b"damaged")
    assert weights_hash(asked().model) == weights_hash(first.model)


def test_parts_that_there_are_not_are_refused() -> None:
    with pytest.raises(ModelError, match="ending a whole number"):
        Residual("grams", {"ending": -1})
    with pytest.raises(TrainingError, match="in part_options"):
        LateFusion("linear", {"place": True})
    with pytest.raises(TrainingError, match="one of linear, grams"):
        LateFusion("cnn")


@pytest.mark.parametrize("recipe", [Residual(), LateFusion(), WarmStart()], ids=lambda each: each.name)
def test_a_recipe_wants_an_objective_that_certifies_and_a_table(recipe: Recipe) -> None:
    network = TextCNN(small.vectors(), pooling="mean")
    with pytest.raises(TrainingError, match="ibp or certified"):
        train(network, small.dataset(), recipe=recipe, substitutions=small.TABLE)
    with pytest.raises(TrainingError, match="a substitution table"):
        train(network, small.dataset(), recipe=recipe)
