"""Every array of every kind of model, corrupted: library and checker refuse the folder in one sentence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from tests.soundness.worlds import KINDS, classifier_of
from torch import Tensor

from sgbt.attacks import attack
from sgbt.certify import certify
from sgbt.certify.checker import Checker
from sgbt.core.errors import ModelError
from sgbt.models import TextClassifier, load_classifier, save_classifier

Weights = dict[str, Tensor]


def seal(folder: Path, weights: Weights) -> None:
    """Write other weights, and name them in config.json: all hashes agree, so that only the arrays can be refused."""
    safetensors.torch.save_file(
        {name: each.contiguous() for name, each in weights.items()}, folder / "model.safetensors"
    )
    config = json.loads((folder / "config.json").read_bytes())
    whole = hashlib.sha256()
    for name, each in sorted(weights.items()):
        whole.update(f"{name} {tuple(each.shape)} {each.dtype}\n".encode())
        whole.update(each.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    config["weights"] = config["identity_parts"]["weights"] = whole.hexdigest()
    written = json.dumps(config["identity_parts"], sort_keys=True, separators=(",", ":"))
    config["identity"] = "id1-" + hashlib.sha256(written.encode()).hexdigest()
    (folder / "config.json").write_text(json.dumps(config))


def saved(kind: str, folder: Path) -> Weights:
    save_classifier(classifier_of(kind, 3), folder)
    return safetensors.torch.load_file(folder / "model.safetensors")


NEVER_READ = ("keys of features", "zeros in the first row", "at most 100")
"""What the library refuses because sgbt never writes it; whoever reads it reads the same, so the checker may."""


def refused_by_both(folder: Path, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence) as caught:
        load_classifier(folder)
    assert "\n" not in str(caught.value)
    if any(part in sentence for part in NEVER_READ):
        return
    with pytest.raises(ValueError, match="expected") as found:
        Checker(folder, None)
    assert "\n" not in str(found.value)


def put(name: str, place: object, value: float) -> Callable[[Weights], Weights]:
    def changed(weights: Weights) -> Weights:
        array = weights[name].clone()
        array[place] = value  # type: ignore[index]
        return weights | {name: array}

    return changed


def swapped(weights: Weights) -> Weights:
    """The same model with two keys and their weights the other way round."""
    order = torch.arange(len(weights["keys"]))
    order[[1, 2]] = order[[2, 1]]
    behind = len(weights["weight"]) - len(order)
    rows = torch.cat([torch.arange(behind), behind + order])
    return weights | {"keys": weights["keys"][order], "weight": weights["weight"][rows]}


def doubled(weights: Weights) -> Weights:
    keys = weights["keys"].clone()
    keys[1] = keys[2]
    return weights | {"keys": keys}


def of_another_word(weights: Weights) -> Weights:
    """The last feature that reads a word reads one that there is not."""
    last = int((weights["keys"] >> 60 <= 2).sum()) - 1
    return put("keys", last, 2 << 60 | 5000 << 40)(weights)


def of_kind(name: str, kind: torch.dtype) -> Callable[[Weights], Weights]:
    return lambda weights: weights | {name: weights[name].to(kind)}


CORRUPTED: dict[str, tuple[str, Callable[[Weights], Weights], str]] = {
    "codes beyond the rows": (
        "cnn max codes",
        put("embedding.codes", 5, 12),
        "from 1 to 11 in embedding.codes, got 12",
    ),
    "a code below 0": ("bilstm max codes", put("embedding.codes", 5, -1), "from 1 to 11 in embedding.codes, got -1"),
    "a word read as padding": (
        "cnn mean codes",
        put("embedding.codes", 5, 0),
        "from 1 to 11 in embedding.codes, got 0",
    ),
    "padding read as a word": ("cnn mean codes", put("embedding.codes", 0, 3), "code 0 for padding in embedding.codes"),
    "codes of a channel": ("two cnn codes", put("codes.embedding.codes", 5, 99), "in codes.embedding.codes, got 99"),
    "codes that are not whole": (
        "cnn max codes",
        of_kind("embedding.codes", torch.float32),
        "int64 in embedding.codes",
    ),
    "codes in int32": ("linear features", of_kind("codes", torch.int32), "int64 in codes, got int32"),
    "linear: a code too large": ("linear features", put("codes", 5, 1 << 20), "from 1 to 1,048,575 in codes"),
    "linear: a code of zero": ("linear features", put("codes", 5, 0), "from 1 to 1,048,575 in codes, got 0"),
    "linear: padding": ("linear features", put("codes", 0, 2), "code 0 for padding in codes, got 2"),
    "linear: a key twice": ("linear features", doubled, "each of keys once"),
    "linear: unsorted keys": ("linear features", swapped, "keys in ascending order"),
    "linear: a key below 0": ("linear features", put("keys", 0, -5), "keys of features that the model has, got -5"),
    "linear: a family too many": ("linear features", put("keys", -1, 7 << 60), "keys of features that the model has"),
    "linear: a word too many": ("linear features", of_another_word, "keys of features that the model has"),
    "linear: padding weighs": ("linear", put("weight", (0, 1), 0.5), "zeros in the first row of weight"),
    "linear: places": ("linear places", put("places.end", 2, 900.0), "at most 100 in places.end, got 900"),
    "grams: a key twice": ("grams", doubled, "each of keys once"),
    "grams: unsorted keys": ("grams", swapped, "keys in ascending order"),
    "grams: a key below 0": ("grams", put("keys", 0, -5), "keys of features that the model has, got -5"),
    "grams: the key 0": ("grams", put("keys", 0, 0), "keys of features that the model has, got 0"),
    "grams: a code too large": ("grams", put("codes", 5, 1 << 15), "from 1 to 32,767 in codes, got 32768"),
    "grams: a code of zero": ("grams", put("codes", 5, 0), "from 1 to 32,767 in codes, got 0"),
    "grams: padding": ("grams", put("codes", 0, 1), "code 0 for padding in codes"),
    "grams: another end": ("grams", put("keys", -1, 1 << 60 | 2), "keys of features that the model has"),
    "grams: another map": ("grams maps", put("keys", -1, 2 << 61 | 2), "keys of features that the model has"),
    "grams: a hole in a run": ("grams maps", put("keys", -1, 1 << 61 | 7 << 45), "keys of features that the model has"),
    "grams: a code of a map": ("grams maps", put("codes", (1, 4), 1 << 15), "from 1 to 32,767 in codes"),
    "grams beside": ("two cnn grams", put("codes.keys", 0, -1), "codes.keys of features that the model has"),
    "a NaN": ("cnn max tanh", put("head.weight", (0, 0), float("nan")), "finite numbers in head.weight, got a NaN"),
    "an infinity": ("bilstm last", put("embedding.weight", (4, 0), float("inf")), "finite numbers in embedding.weight"),
    "float8": ("cnn max tanh", of_kind("head.bias", torch.float8_e4m3fn), "in head.bias, got float8_e4m3fn"),
    "the other float8": ("grams", of_kind("weight", torch.float8_e5m2), "in weight, got float8_e5m2"),
    "two precisions": ("cnn max tanh", of_kind("head.bias", torch.float16), "weights of one precision"),
    "whole weights": ("linear", of_kind("bias", torch.int64), "in bias, got int64"),
    "weights true or false": ("linear", of_kind("bias", torch.bool), "in bias, got bool"),
}


@pytest.mark.parametrize("name", CORRUPTED)
def test_a_corrupted_array_is_one_sentence(name: str, tmp_path: Path) -> None:
    kind, corrupt, sentence = CORRUPTED[name]
    weights = saved(kind, tmp_path)
    seal(tmp_path, weights)
    load_classifier(tmp_path)  # what is not corrupted is read by both
    Checker(tmp_path, None)
    seal(tmp_path, corrupt(weights))
    refused_by_both(tmp_path, sentence)


def test_what_cannot_be_loaded_is_not_saved(tmp_path: Path) -> None:
    given = classifier_of("grams", 3)
    assert isinstance(given, TextClassifier)
    with torch.no_grad():
        given.model.keys[1] = given.model.keys[2]  # type: ignore[index,operator,union-attr]
    with pytest.raises(ModelError, match="each of keys once"):
        save_classifier(given, tmp_path / "model")
    assert not (tmp_path / "model").exists()


CHANGED_CONFIG = {
    "words twice": lambda config, words: (config, [words[1], *words[1:]]),
    "a word too many": lambda config, words: (config, [*words, "another"]),
    "a word too few": lambda config, words: (config, words[:-1]),
    "labels alike": lambda config, words: (config | {"label_names": ["a"] * len(config["label_names"])}, words),
    "a label too many": lambda config, words: (config | {"label_names": [*config["label_names"], "b"]}, words),
    "a label too few": lambda config, words: (config | {"label_names": config["label_names"][1:]}, words),
}


@pytest.mark.parametrize(
    "kind", ["cnn max tanh", "bilstm last", "cnn max codes", "linear features", "grams", "grams maps"]
)
@pytest.mark.parametrize("name", CHANGED_CONFIG)
def test_words_and_labels_that_do_not_fit_are_one_sentence(name: str, kind: str, tmp_path: Path) -> None:
    weights = saved(kind, tmp_path)
    document = json.loads((tmp_path / "vocabulary.json").read_bytes())
    config, words = CHANGED_CONFIG[name](json.loads((tmp_path / "config.json").read_bytes()), document["words"])
    document |= {"words": words, "hash": hashlib.sha256("\n".join(("sgbt vocabulary 1", *words)).encode()).hexdigest()}
    (tmp_path / "vocabulary.json").write_text(json.dumps(document))
    labels = json.dumps(config["label_names"], sort_keys=True, separators=(",", ":"))
    config["vocabulary"] = config["identity_parts"]["vocabulary"] = document["hash"]
    config["identity_parts"]["label_names"] = hashlib.sha256(labels.encode()).hexdigest()
    (tmp_path / "config.json").write_text(json.dumps(config))
    seal(tmp_path, weights)
    refused_by_both(tmp_path, "distinct|one word for each row|one name for each class")


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_is_read_exactly(kind: str, tmp_path: Path) -> None:
    """As half precision is: stored as it is, decided in float64, checked by the checker, and open to attacks."""
    given = classifier_of(kind, 4)
    given.model.bfloat16()
    found = load_classifier(save_classifier(given, tmp_path))
    assert {weight.dtype for weight in found.model.parameters()} == {torch.bfloat16}
    texts = ["ba do fum", "ga ko lum ma na", ""]
    precise = classifier_of(kind, 4)
    precise.model.bfloat16().double()
    assert found.predict(texts).labels == precise.predict(texts).labels
    own = Checker(tmp_path, None)
    proofs = certify(found, texts, tiers=("ibp",))
    for proof, other in zip(proofs, certify(precise, texts, tiers=("ibp",)), strict=True):
        assert proof.margin == pytest.approx(other.margin, rel=0, abs=1e-12)
        assert not own.check(proof.to_row(), texts[proof.index])[0]
    assert len(attack(found, texts, found.table, method="greedy")) == len(texts)
