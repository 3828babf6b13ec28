"""Sum: logits, bounds, folders and identity follow from the parts and their weights; old folders of two parts load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from tests import small
from tests.soundness.cases import random_grams, random_words

from sgbt.certify import certify
from sgbt.core.errors import ModelError
from sgbt.models import (
    BagOfWords,
    Sum,
    TextClassifier,
    load_classifier,
    save_classifier,
    weights_hash,
    worst_case_logits,
)
from sgbt.models.blueprint import blueprint

IDS = torch.tensor([[2, 3, 4, 0], [5, 0, 0, 0], [7, 8, 9, 2]])


def bag(seed: int = 0) -> BagOfWords:
    model = BagOfWords(features=())
    model.adopt(codes=torch.arange(len(small.VOCABULARY)), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        model.weight[1:] = torch.randn(len(model.weight) - 1, 2, generator=torch.Generator().manual_seed(seed))
    return model.eval()


def three(weights: tuple[float, ...] | None = (0.25, 1.0, 3.7)) -> Sum:
    return Sum((small.model_of("cnn"), bag(), small.model_of("bilstm", seed=2)), weights).eval()


def classifier(model: Any) -> TextClassifier:
    return TextClassifier(model, small.VOCABULARY, ("no", "yes"), small.TABLE, max_length=9)


def test_logits_are_the_weighted_sum_of_those_of_the_parts() -> None:
    model = three()
    cnn, words, lstm = (part(IDS).double() for part in model.parts)
    assert model.weights == (0.25, 1.0, 3.7)
    assert torch.allclose(model(IDS), 0.25 * cnn + words + 3.7 * lstm, rtol=0, atol=1e-14)
    assert torch.equal(three(None)(IDS), cnn.float() + words + lstm.float())


def test_a_part_of_weight_zero_adds_nothing_even_where_it_is_not_finite() -> None:
    model = three((1.0, 2.0, 0.0))
    with torch.no_grad():
        model.parts[2].head.bias.fill_(torch.nan)  # type: ignore[union-attr]
    assert torch.allclose(model(IDS), model.parts[0](IDS) + 2.0 * model.parts[1](IDS))


def test_a_sum_among_the_parts_is_replaced_by_its_own() -> None:
    inner = three()
    model = Sum((bag(1), inner), (2.0, 0.5))
    assert model.parts[1:] == inner.parts
    assert model.weights == (2.0, 0.125, 0.5, 1.85)
    assert torch.allclose(model(IDS), 2 * model.parts[0](IDS) + inner(IDS) / 2)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ((1.0, -0.5, 1.0), "weights from 0 to 1,000,000, got -0.5"),
        ((1.0, float("nan"), 1.0), "got nan"),
        ((1.0, float("inf"), 1.0), "got inf"),
        ((1.0, True, 1.0), "got True"),
        ((1.0, "2", 1.0), "got '2'"),
        ((1.0, 2.0), "a weight for each of 3 parts, got 2 weights"),
        ((0.0, 0, 0.0), "a weight above 0"),
    ],
)
def test_weights_for_which_bounds_do_not_add_up_are_refused(weights: Any, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence) as caught:
        three(weights)
    assert "\n" not in str(caught.value)


def test_parts_that_cannot_be_added_are_refused() -> None:
    model = small.model_of("cnn")
    for parts, sentence in (
        ((), "from 1 to 64 parts"),
        ((model, model), "one of them twice"),
        ((model, small.model_of("cnn", classes=3)), "the same number of classes, got 2 and 3"),
        ((model, "a model"), "models as the parts, got str"),
    ):
        with pytest.raises(ModelError, match=sentence):
            Sum(parts)


@pytest.mark.parametrize("weights", [None, (0.25, 1.0, 3.7), (0.0, 1.0, 2.0)])
def test_a_sum_comes_back_from_its_folder_bit_for_bit(weights: Any, tmp_path: Path) -> None:
    given = classifier(three(weights))
    found = load_classifier(save_classifier(given, tmp_path / "model"))
    assert isinstance(found.model, Sum)
    assert found.model.weights == three(weights).weights
    assert found.identity == given.identity
    assert torch.equal(found.deciding(IDS), given.deciding(IDS))
    config = json.loads((tmp_path / "model" / "config.json").read_bytes())["model"]
    assert config["kind"] == "sum"
    assert config["weights"] == list(three(weights).weights)
    assert [part["kind"] for part in config["parts"]] == ["cnn", "linear", "bilstm"]
    stored = safetensors.torch.load_file(tmp_path / "model" / "model.safetensors")
    assert {name.split(".")[0] for name in stored} == {"0", "1", "2"}


def test_weights_are_part_of_the_identity() -> None:
    found = {classifier(three(weights)).identity for weights in (None, (1.0, 1.0, 2.0), (1.0, 1.0, 2.0 + 1e-15))}
    assert len(found) == 3


def test_a_folder_whose_weights_were_changed_is_refused(tmp_path: Path) -> None:
    folder = save_classifier(classifier(three()), tmp_path / "model")
    config = json.loads((folder / "config.json").read_bytes())
    for weights, sentence in (
        ([0.25, 1.0, 3.8], "the model that the identity"),
        ([0.25, -1.0, 3.7], "weights from 0"),
        ([0.25, 1.0], "a weight for each of 3 parts"),
        ("0.5", "no list"),
        (None, "no list"),
    ):
        (folder / "config.json").write_text(json.dumps(config | {"model": config["model"] | {"weights": weights}}))
        with pytest.raises(ModelError, match=sentence) as caught:
            load_classifier(folder)
        assert "\n" not in str(caught.value)


def old_folder(folder: Path) -> tuple[Path, Any, Any]:
    """A folder as the first versions wrote one of two channels, made without `Sum` and `save_classifier`."""
    words, codes = small.model_of("bilstm"), bag()
    folder.mkdir()
    small.VOCABULARY.save(folder / "vocabulary.json")
    small.TABLE.to_json(folder / "substitutions.json.gz")
    tensors = {
        f"{name}.{key}": value.contiguous()
        for name, part in (("words", words), ("codes", codes))
        for key, value in part.state_dict().items()
    }
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    given = TextClassifier(words, small.VOCABULARY, ("no", "yes"), small.TABLE, max_length=9)
    config = {
        "format": 1,
        "sgbt": "0.1.0",
        "model": {"kind": "two-channel", "words": blueprint(words), "codes": blueprint(codes)},
        "weights": "",
        "label_names": ["no", "yes"],
        "max_length": 9,
        "tokenizer": given.tokenizer.pattern,
        "substitutions": small.TABLE.hash,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder, words, codes


def test_an_old_folder_of_two_channels_loads_and_answers_as_before(tmp_path: Path) -> None:
    folder, words, codes = old_folder(tmp_path / "old")
    stored = safetensors.torch.load_file(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_bytes())
    config["weights"] = weights_hash(Sum((words, codes)))
    (folder / "config.json").write_text(json.dumps(config))
    found = load_classifier(folder)
    assert isinstance(found.model, Sum)
    assert found.model.plain
    assert torch.equal(found.model(IDS), words(IDS) + codes(IDS))
    assert found.model.state_dict().keys() == stored.keys()
    assert json.loads(json.dumps(blueprint(found.model))) == config["model"]
    again = save_classifier(found, tmp_path / "again")
    assert json.loads((again / "config.json").read_bytes())["model"] == config["model"]
    assert load_classifier(again).identity == found.identity


def test_the_worst_case_is_that_of_the_parts_times_their_weights() -> None:
    model = three()
    choices = small.index().for_words(small.random_texts(4, 5, seed=1))
    labels = torch.tensor([0, 1, 0, 1])
    given = (choices.ids, choices.allowed, choices.mask, labels)
    own = [weight * worst_case_logits(part, *given) for weight, part in zip(model.weights, model.parts, strict=True)]
    assert torch.allclose(worst_case_logits(model, *given), sum(own[1:], start=own[0]))
    for text, label in enumerate(labels.tolist()):
        logits = model(small.all_variants(choices, text))
        worst = (logits - logits[:, label : label + 1]).amax(dim=0)
        assert bool((worst <= worst_case_logits(model, *given)[text] + 1e-5).all())


def test_no_certified_text_has_a_version_of_another_label() -> None:
    """Weighted sums of up to four parts, every version of every text."""
    certified = 0
    for seed in range(4):
        parts = [small.model_of("cnn", seed=seed), bag(seed), small.model_of("bilstm", seed=seed), bag(seed + 9)]
        found = classifier(Sum(parts[seed % 2 :], (0.2, 1.5, 0.7, 2.0)[seed % 2 :]).eval())
        texts = small.random_texts(12, 6, seed=seed)
        for text, row in zip(texts, certify(found, [" ".join(text) for text in texts]), strict=True):
            versions = small.all_variants(small.index().for_words([text]), 0)
            logits = found.deciding(versions)
            others = logits.clone()
            others[:, row.label] = -torch.inf
            least = float((logits[:, row.label] - others.amax(dim=1)).amin())
            assert row.margin <= least + row.slack
            certified += row.verdict == "certified"
    assert certified > 5


def test_sums_of_linear_models_alone_are_models_too() -> None:
    model = Sum((random_words(1, classes=3), random_grams(1, classes=3)), (2.0, 0.5)).eval()
    assert torch.allclose(model(IDS), 2 * model.parts[0](IDS) + 0.5 * model.parts[1](IDS))
