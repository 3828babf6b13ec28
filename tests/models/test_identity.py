"""The identity of a classifier: everything that decides an answer is in it, and a folder that was edited says so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors
import torch
from tests import small

from sgbt.core.errors import ModelError
from sgbt.data import Tokenizer
from sgbt.models import (
    AnyModel,
    BagOfNgrams,
    BagOfWords,
    Naming,
    Sum,
    TextClassifier,
    identity_of,
    load_classifier,
    save_classifier,
    weights_hash,
)
from sgbt.threats import SubstitutionTable, Vocabulary


def model_of(kind: str, **options: Any) -> AnyModel:
    """A model of any kind that reads the small vocabulary."""
    if kind == "two-channel":
        return Sum((small.model_of("cnn"), small.model_of("bilstm")))
    if kind in ("cnn", "bilstm"):
        return small.model_of(kind, **options)
    bag = BagOfWords() if kind == "linear" else BagOfNgrams()
    bag.adopt(codes=torch.arange(len(small.VOCABULARY)), keys=torch.arange(3))
    return bag


def steady(kind: str = "cnn", **options: Any) -> TextClassifier:
    """A classifier whose weights are written down by a rule, so that its identity is the same everywhere."""
    model = model_of(kind, **options)
    with torch.no_grad():
        for _, tensor in sorted(model.state_dict().items()):
            tensor.copy_(torch.arange(tensor.numel()).view(tensor.shape) / 64 - 1)
    return TextClassifier(model, small.VOCABULARY, ("no", "yes"), small.TABLE, max_length=9)


def other_weights(given: TextClassifier) -> TextClassifier:
    with torch.no_grad():
        given.model.head.bias[0] += 1  # type: ignore[union-attr]
    return given


OTHERS: dict[str, tuple[str, Callable[[], TextClassifier]]] = {
    "pooling": ("model", lambda: steady(pooling="mean")),
    "activation": ("model", lambda: steady(activation="relu")),
    "weights": ("weights", lambda: other_weights(steady())),
    "vocabulary": ("vocabulary", lambda: replace(steady(), vocabulary=Vocabulary(small.WORDS[::-1]))),
    "tokenizer": ("tokenizer", lambda: replace(steady(), tokenizer=Tokenizer(r"\S+"))),
    "max_length": ("max_length", lambda: replace(steady(), max_length=10)),
    "label_names": ("label_names", lambda: replace(steady(), label_names=("yes", "no"))),
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_classifier(steady(), tmp_path / "model", training={"note": 1})


def edited(path: Path, **changes: object) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | changes))


@pytest.mark.parametrize("changed", OTHERS)
def test_whatever_decides_an_answer_decides_the_identity(changed: str) -> None:
    part, make = OTHERS[changed]
    own, other = identity_of(steady()), identity_of(make())
    assert own == identity_of(steady())
    assert own.hash != other.hash
    assert {name for name in own.parts if own.parts[name] != other.parts[name]} == {part}


def test_what_decides_no_answer_is_not_in_the_identity(tmp_path: Path) -> None:
    own = steady()
    assert replace(own, table=None).identity == own.identity
    assert replace(own, table=SubstitutionTable({"good": ("bad",)})).identity == own.identity
    folder = save_classifier(own, tmp_path / "model", training={"seed": 1})
    edited(folder, training={"seed": 2})
    assert load_classifier(folder).identity == own.identity


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("cnn", "id1-39c8c9829a8208f6c40f373ebb98f3bbb710103a9c92b2ccba1efb4b32132323"),
        ("bilstm", "id1-3fc306dcfb24f9e1edb088a71336ee932ba7b1e14774d025351932e329d5768a"),
        ("linear", "id1-b1a6378af8f7e0130cd08ef110db0b904c399a877d0ac54635101642d06a7277"),
        ("grams", "id1-c8ada0f7483fe554b41671567f39f857ba5e0c6dd0e0c322bc7af961cd9bbfa4"),
        ("two-channel", "id1-872cb412834c59d995ff5b50f1621f6d7e5ec4c2f0081befc21dc99f16bb0d87"),
    ],
)
def test_the_identity_of_a_known_model_never_changes(kind: str, expected: str) -> None:
    """A new option of a model has to be left out of the identity where it has its default: folders exist."""
    assert steady(kind).identity == expected


def test_another_program_can_find_the_identity_from_the_files(saved: Path) -> None:
    """As docs/reference/model-folder.md says it, with nothing of sgbt."""

    def canonical(value: object) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()

    def sha256(content: bytes) -> str:
        return hashlib.sha256(content).hexdigest()

    config = json.loads((saved / "config.json").read_bytes())
    words = json.loads((saved / "vocabulary.json").read_bytes())["words"]
    weights = hashlib.sha256()
    with safetensors.safe_open(saved / "model.safetensors", framework="numpy") as file:
        for name in sorted(file.keys()):
            array = file.get_tensor(name)
            kind = {"float32": "torch.float32", "float64": "torch.float64", "int64": "torch.int64"}[array.dtype.name]
            weights.update(f"{name} {array.shape} {kind}\n".encode() + array.tobytes())
    parts = {name: sha256(canonical(config[name])) for name in ("model", "tokenizer", "max_length", "label_names")}
    parts |= {
        "weights": weights.hexdigest(),
        "vocabulary": sha256("\n".join(("sgbt vocabulary 1", *words)).encode()),
    }
    assert config["identity_parts"] == parts
    assert config["identity"] == "id1-" + sha256(canonical(parts)) == steady().identity


def test_an_identity_is_never_a_hash_of_weights() -> None:
    own = steady()
    assert own.identity.startswith("id1-")
    assert len(own.identity) == 4 + 64
    assert identity_of(own).named_by(own.identity) is Naming.EXACT
    assert identity_of(own).named_by(weights_hash(own.model)) is Naming.WEIGHTS
    assert identity_of(own).named_by(weights_hash(steady("bilstm").model)) is Naming.OTHER
    assert identity_of(own).named_by(steady("bilstm").identity) is Naming.OTHER
    assert identity_of(own).named_by("id1-" + weights_hash(own.model)) is Naming.OTHER


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"label_names": ["yes", "no"]}, "label_names"),
        ({"max_length": 10}, "max_length"),
        ({"tokenizer": r"\S+"}, "tokenizer"),
        ({"pooling": "mean"}, "model"),
        ({"activation": "relu"}, "model"),
    ],
)
def test_an_edited_folder_is_refused_and_the_part_is_named(saved: Path, changes: dict[str, Any], part: str) -> None:
    if part == "model":
        plan = json.loads((saved / "config.json").read_text())["model"]
        changes = {"model": plan | {"options": plan["options"] | changes}}
    edited(saved, **changes)
    with pytest.raises(ModelError, match=f"the {part} that the identity in config.json covers") as caught:
        load_classifier(saved)
    assert "\n" not in str(caught.value)
    edited(saved, identity_parts=None)  # without the parts, that something differs is known, not what
    with pytest.raises(ModelError, match="identity"):
        load_classifier(saved)


def test_a_folder_edited_with_its_identity_is_another_model(saved: Path) -> None:
    before = load_classifier(saved).identity
    twin = identity_of(replace(load_classifier(saved), label_names=("yes", "no")))
    edited(saved, label_names=["yes", "no"], identity=twin.hash, identity_parts=dict(twin.parts))
    assert load_classifier(saved).identity == twin.hash != before


def test_an_identity_of_something_else_is_refused(saved: Path) -> None:
    for wrong in (7, "", "id1-" + 64 * "0", None, weights_hash(steady().model)):
        edited(saved, identity=wrong)
        with pytest.raises(ModelError, match="identity"):
            load_classifier(saved)


def test_a_folder_of_an_earlier_version_loads_without_an_identity(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text())
    del config["identity"], config["identity_parts"]
    (saved / "config.json").write_text(json.dumps(config))
    assert load_classifier(saved).identity == steady().identity


def test_a_folder_whose_identity_was_taken_out_is_refused(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text())
    del config["identity"]
    (saved / "config.json").write_text(json.dumps(config | {"label_names": config["label_names"][::-1]}))
    with pytest.raises(ModelError, match=r"an identity in config\.json"):
        load_classifier(saved)


@pytest.mark.parametrize("kind", ["cnn", "bilstm", "two"])
def test_an_identity_survives_saving_and_other_precisions_have_another(kind: str, tmp_path: Path) -> None:
    model = small.two_channel("cnn") if kind == "two" else small.model_of(kind)
    own = TextClassifier(model, small.VOCABULARY, ("no", "yes"))
    first = own.identity
    assert load_classifier(save_classifier(own, tmp_path / "model")).identity == first
    own.model.double()
    assert own.identity != first


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"max_length": -5}, "max_length"),
        ({"max_length": 0}, "max_length"),
        ({"max_length": True}, "max_length"),
        ({"max_length": 9.0}, "max_length"),
        ({"max_length": None}, "max_length"),
        ({"label_names": ["no", 3]}, "label"),
        ({"label_names": ["no", ""]}, "label"),
        ({"label_names": ["no", "no"]}, "label"),
        ({"label_names": ["no", None]}, "label"),
        ({"label_names": ["no", ["yes"]]}, "label"),
        ({"label_names": ["no", "yes", "perhaps"]}, "one name for each class"),
        ({"label_names": "no"}, "label"),
        ({"tokenizer": 3}, "tokenizer"),
        ({"tokenizer": "a{99999999999}"}, "regular expression"),
        ({"tokenizer": "(?:" * 5000 + "a" + ")" * 5000}, "regular expression"),
        ({"vocabulary": 3}, "vocabulary"),
        ({"training": 3}, "training"),
        ({"format": True}, "config.json"),
        ({"format": 0}, "config.json"),
        ({"format": 1.5}, "config.json"),
        ({"identity_parts": 3}, "identity_parts"),
    ],
)
def test_a_config_with_a_value_of_the_wrong_kind_is_one_sentence(
    saved: Path, changes: dict[str, Any], sentence: str
) -> None:
    edited(saved, **changes)
    with pytest.raises(ModelError, match=sentence) as caught:
        load_classifier(saved)
    assert "\n" not in str(caught.value)
    config = json.loads((saved / "config.json").read_text())
    config.pop("identity")  # nor does an earlier version's folder get further
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError):
        load_classifier(saved)


@pytest.mark.parametrize(
    "options",
    [
        {"filters": True},
        {"filters": 5.0},
        {"filters": "5"},
        {"kernel_sizes": [1, 2, True]},
        {"kernel_sizes": "123"},
        {"classes": 2.0},
        {"dropout": "0"},
        {"dropout": None},
        {"projection": 0},
        {"projection": True},
        {"trainable_embedding": 1},
        {"pooling": ["max"]},
        {"activation": {"tanh": 1}},
    ],
)
def test_an_option_of_the_wrong_kind_is_one_sentence(saved: Path, options: dict[str, Any]) -> None:
    config = json.loads((saved / "config.json").read_text())
    config["model"]["options"] |= options
    config.pop("identity")
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError) as caught:
        load_classifier(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sizes", [{"rows": 20.0}, {"rows": True}, {"width": "6"}, {"rows": 10**30}, {"width": -1}])
def test_a_size_of_the_wrong_kind_is_one_sentence(saved: Path, sizes: dict[str, Any]) -> None:
    config = json.loads((saved / "config.json").read_text())
    config["model"] |= sizes
    config.pop("identity")
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError) as caught:
        load_classifier(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"max_length": -5}, "max_length"),
        ({"max_length": True}, "max_length"),
        ({"max_length": 2.0}, "max_length"),
        ({"label_names": ("no",)}, "one name for each class"),
        ({"label_names": ("no", "no")}, "label names"),
        ({"label_names": ("no", "")}, "label names"),
        ({"label_names": ("no", 1)}, "label names"),
        ({"label_names": "ny"}, "label names"),
        ({"tokenizer": r"\w+"}, "a Tokenizer"),
        ({"vocabulary": ("a", "b")}, "a Vocabulary"),
        ({"vocabulary": Vocabulary(small.WORDS[:4])}, "one word for each row"),
    ],
)
def test_a_classifier_of_invalid_values_cannot_be_built(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        replace(steady(), **changes)


def test_label_names_given_as_a_list_are_a_tuple() -> None:
    own = replace(steady(), label_names=["no", "yes"])  # type: ignore[arg-type]
    assert own.label_names == ("no", "yes")
    assert own.identity == steady().identity
