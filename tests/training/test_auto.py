"""auto: it chooses by dev, says why, proves what it says, and calibration moves no label."""

import json

import numpy as np
import pytest
import torch
from tests.training.test_linear import TABLE, reviews

import sgbt
from sgbt.certify import certify
from sgbt.core.errors import TrainingError
from sgbt.data import Split, TextDataset
from sgbt.models import BagOfWords, load_classifier
from sgbt.models.folder import training_note
from sgbt.training.balance import class_weights, unbalanced
from sgbt.training.calibration import best_scale, scale
from sgbt.training.size_settings import SizeSettings


@pytest.mark.parametrize("classes", [2, 3])
def test_auto_learns_says_why_and_is_kept_with_its_identity(tmp_path, classes):
    data = reviews(classes=classes)
    run = sgbt.train("auto", data, substitutions=TABLE, out=tmp_path / "run")
    assert run.dev["accuracy"] > 0.9
    assert 0.7 < run.dev["certified"] <= run.dev["accuracy"]
    model, settings, probabilities = run.about["auto"]["reasons"]
    assert model.startswith("model: ")
    assert "most of dev (others: " in model
    assert "n-grams over synonym clusters" in model
    assert f"{len(data.train)} texts of" in settings
    assert f"{classes} classes" in settings
    assert "temperature" in probabilities
    assert training_note(tmp_path / "run")["auto"]["reasons"] == [model, settings, probabilities]
    kept = load_classifier(tmp_path / "run")
    assert kept.identity == run.model.identity
    assert np.array_equal(kept.predict(data.test.texts).probabilities, run.model.predict(data.test.texts).probabilities)
    assert json.loads((tmp_path / "run" / "log.jsonl").read_text().splitlines()[-1])["dev"]


def test_what_auto_says_of_dev_is_what_certificates_say():
    data = reviews(texts=240)
    run = sgbt.train("auto", data, substitutions=TABLE)
    proofs = certify(run.model, data.dev)
    proven = sum(proof.predicted == proof.label and proof.margin > proof.slack for proof in proofs)
    assert run.dev["certified"] <= proven / len(data.dev) + 1e-9
    told = run.about["auto"]["dev_by_class"]["classes"]
    assert sum(each["certified"] for each in told) == round(run.dev["certified"] * len(data.dev))


def test_a_temperature_scales_every_margin_alike_and_moves_no_label():
    data = reviews(texts=200)
    run = sgbt.train("auto", data, substitutions=TABLE)
    before, proofs = run.model.predict(data.test.texts), certify(run.model, data.test)
    identity = run.model.identity
    scale(run.model.model, 0.25)
    assert run.model.identity != identity
    after, again = run.model.predict(data.test.texts), certify(run.model, data.test)
    assert after.labels == before.labels
    assert [proof.verdict for proof in again] == [proof.verdict for proof in proofs]
    for old, new in zip(proofs, again, strict=True):
        assert new.margin == pytest.approx(old.margin / 4, rel=1e-4, abs=1e-6)


def test_the_best_scale_has_the_least_cross_entropy_and_is_finite_where_all_is_right():
    generator = torch.Generator().manual_seed(0)
    logits = 5 * torch.randn(200, 3, generator=generator)
    labels = torch.multinomial((logits / 4).softmax(dim=1), 1, generator=generator).squeeze(1)
    best = best_scale(logits, labels)
    assert 0.15 < best < 0.4  # the labels were drawn at temperature 4
    loss = {factor: float(torch.nn.functional.cross_entropy(factor * logits, labels)) for factor in (0.5, 1.0, 2.0)}
    assert float(torch.nn.functional.cross_entropy(best * logits, labels)) < min(loss.values())
    assert 0.9 < best_scale(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]), torch.tensor([0, 1])) < 100
    assert best_scale(torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64)) == 1


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf")])
def test_a_factor_that_would_turn_labels_is_refused(factor):
    with pytest.raises(sgbt.SgbtError, match="a factor above 0"):
        scale(BagOfWords(classes=2), factor)


def test_rare_classes_weigh_more_and_it_is_said():
    labels = np.array([0] * 90 + [1] * 10)
    weights = class_weights(labels, 2)
    assert weights is not None
    assert float(weights[1] / weights[0]) == pytest.approx(3.0)
    assert unbalanced(labels, ("good", "bad")) == ("classes are unbalanced, from 10 texts of 'bad' to 90 of 'good'")
    assert class_weights(np.array([0, 0, 0, 1]), 2) is None
    data = reviews(texts=300)
    kept = np.concatenate([np.flatnonzero(data.train.labels == 0), np.flatnonzero(data.train.labels == 1)[:10]])
    few = TextDataset("few", data.label_names, data.train.take(kept), data.dev, data.test)
    run = sgbt.train("auto", few, substitutions=TABLE)
    assert "rare ones weigh more" in run.about["auto"]["reasons"][1]
    assert len(run.about["auto"]["class_weights"]) == 2


def test_without_dev_or_table_there_is_a_model_all_the_same():
    data = reviews()
    bare = TextDataset("bare", data.label_names, data.train, Split("dev", (), np.zeros(0, np.int64)), data.test)
    run = sgbt.train("auto", bare, substitutions=TABLE)
    assert run.dev == {}
    model, _, probabilities = run.about["auto"]["reasons"]
    assert model == "model: n-grams over synonym clusters - the one taken where there is no dev to choose by"
    assert "no dev" in probabilities
    assert len(run.about["auto"]["tried"]) == 1
    plain = sgbt.training.train_auto(data, table=None)
    assert plain.model.table is None
    assert plain.dev["accuracy"] > 0.9


def test_settings_follow_the_size():
    assert SizeSettings.of(100_000, 2) == SizeSettings(4, 2, 3.0, several=True)
    assert SizeSettings.of(5_000_000, 2) == SizeSettings(4, 2, 3.0, several=False)
    assert SizeSettings.of(2_800_000, 20) == SizeSettings(2, 3, 0.5, several=False)


def test_what_auto_cannot_use_is_refused():
    with pytest.raises(TrainingError, match='"auto" with its own settings'):
        sgbt.train("auto", reviews(), substitutions=TABLE, objective=sgbt.IBP())
    with pytest.raises(TrainingError, match='a model or "auto"'):
        sgbt.train("grams", reviews(), substitutions=TABLE)
