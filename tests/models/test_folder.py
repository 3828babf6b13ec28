"""A classifier as a folder: what comes back, and one clear sentence for everything that can be wrong with it."""

from __future__ import annotations

import gzip
import json
import pickle
import resource
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from tests import small

from sgbt.core.errors import ModelError, SgbtError
from sgbt.models import BagOfWords, TextClassifier, folder, load_classifier, save_classifier, weights_hash
from sgbt.threats import SubstitutionTable, Vocabulary

CODES = torch.tensor([0, 1] + [2 + number // 2 for number in range(len(small.WORDS))])
MODELS = {
    "cnn": lambda: small.model_of("cnn", classes=2),
    "cnn-codes": lambda: small.model_of("cnn", codes=CODES, trainable_embedding=True),
    "bilstm": lambda: small.model_of("bilstm", projection=3),
    "two": lambda: small.two_channel("bilstm"),
    "linear": lambda: linear(),
}
TEXTS = ["the film was good", "an awful film", "unheard words only", ""]


def linear() -> BagOfWords:
    """A weight per word, drawn at random."""
    made = BagOfWords(features=())
    made.adopt(codes=CODES, keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        made.weight[1:] = torch.randn(len(made.weight) - 1, 2, generator=torch.Generator().manual_seed(0))
    return made


def classifier(name: str = "cnn", *, table: SubstitutionTable | None = small.TABLE) -> TextClassifier:
    return TextClassifier(MODELS[name](), small.VOCABULARY, ("no", "yes"), table, max_length=9)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_classifier(classifier(), tmp_path / "model", training={"note": 1})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("table", [small.TABLE, None])
def test_what_is_saved_comes_back_bit_for_bit(name: str, table: SubstitutionTable | None, tmp_path: Path) -> None:
    given = classifier(name, table=table)
    found = load_classifier(save_classifier(given, tmp_path / "model"))
    assert weights_hash(found.model) == weights_hash(given.model)
    for key, value in given.model.state_dict().items():
        assert torch.equal(value, found.model.state_dict()[key])
    assert found.table == table
    assert (found.vocabulary, found.label_names, found.max_length) == (given.vocabulary, ("no", "yes"), 9)
    assert found.tokenizer == given.tokenizer
    before, after = given.predict(TEXTS), found.predict(TEXTS)
    assert before.labels == after.labels
    assert np.array_equal(before.probabilities, after.probabilities)
    assert not found.model.training


def test_a_model_in_float64_comes_back_in_float64(tmp_path: Path) -> None:
    given = classifier()
    given.model.double()
    found = load_classifier(save_classifier(given, tmp_path / "model"))
    assert weights_hash(found.model) == weights_hash(given.model)
    assert {weight.dtype for weight in found.model.parameters()} == {torch.float64}


def test_predictions_are_rows_of_probabilities_in_the_order_of_the_texts() -> None:
    model = classifier()
    found = model.predict(TEXTS * 3, batch_size=2)
    assert found.probabilities.shape == (12, 2)
    assert np.allclose(found.probabilities.sum(axis=1), 1)
    assert np.allclose(found.probabilities[:4], found.probabilities[4:8], atol=1e-6)
    assert model.predict([]).labels == ()
    assert model.predict([]).probabilities.shape == (0, 2)
    with pytest.raises(ModelError, match="a list of texts"):
        model.predict("one text")


def refused(path: Path, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence) as caught:
        load_classifier(path)
    assert "\n" not in str(caught.value)


def edit(path: Path, **changes: object) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | changes))


def test_a_linear_model_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Its options name how far training spread weights, which later versions do in another way."""
    given = classifier("linear")
    path = save_classifier(given, tmp_path / "model")
    plan = json.loads((path / "config.json").read_text())["model"]
    earlier = {name: option for name, option in plan["options"].items() if name != "ties"} | {"hops": 2}
    edit(path, model=plan | {"options": earlier})
    assert weights_hash(load_classifier(path).model) == weights_hash(given.model)


def test_a_folder_from_a_newer_version_is_refused(saved: Path) -> None:
    edit(saved, format=2, sgbt="9.9")
    refused(saved, r"format 1 or older, got format 2, written by sgbt 9\.9.*upgrade sgbt")


@pytest.mark.parametrize("name", [folder.CONFIG, folder.WEIGHTS, folder.VOCABULARY, folder.TABLE])
def test_a_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    refused(saved, f"the file {name}, got none")


def test_nothing_there_and_a_file_in_place_of_the_folder(tmp_path: Path, saved: Path) -> None:
    refused(tmp_path / "nowhere", "the folder of a trained model")
    refused(saved / folder.CONFIG, "the folder of a trained model")


@pytest.mark.parametrize("kept", [0, 4, 100, -1])
def test_truncated_weights(saved: Path, kept: int) -> None:
    content = (saved / folder.WEIGHTS).read_bytes()
    (saved / folder.WEIGHTS).write_bytes(content[:kept])
    refused(saved, "a whole safetensors file")


def test_a_pickle_in_place_of_the_weights_is_never_opened(saved: Path, tmp_path: Path) -> None:
    witness = tmp_path / "executed"

    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (witness,)

    for name in (folder.WEIGHTS, folder.CONFIG, folder.VOCABULARY):
        broken = save_classifier(classifier(), tmp_path / name)
        (broken / name).write_bytes(pickle.dumps(Bomb()))
        refused(broken, "expected")
    torch.save({"weight": torch.zeros(2)}, saved / folder.WEIGHTS)
    refused(saved, "a whole safetensors file")
    assert not witness.exists()


def test_weights_of_another_shape_another_name_or_another_value(saved: Path) -> None:
    weights = safetensors.torch.load_file(saved / folder.WEIGHTS)
    for changed, sentence in (
        (weights | {"head.bias": torch.zeros(5)}, r"head.bias of shape \(2,\), got \(5,\)"),
        ({key: value for key, value in weights.items() if key != "head.bias"}, "a difference at head.bias"),
        (weights | {"extra": torch.zeros(1)}, "a difference at extra"),
        (weights | {"head.bias": weights["head.bias"] + 1}, "the weights with hash"),
    ):
        safetensors.torch.save_file(changed, saved / folder.WEIGHTS)
        refused(saved, sentence)


def test_a_changed_table_and_a_changed_vocabulary(saved: Path) -> None:
    SubstitutionTable({"good": ("bad",)}).to_json(saved / folder.TABLE)
    refused(saved, "the substitution table with hash")
    (saved / folder.TABLE).write_bytes(gzip.compress(b"{broken"))
    refused(saved, "expected")
    small.TABLE.to_json(saved / folder.TABLE)
    Vocabulary(small.WORDS[::-1]).save(
        saved / folder.VOCABULARY
    )  # same size, other numbers: every answer would be wrong
    refused(saved, "the vocabulary with hash")
    (saved / folder.VOCABULARY).write_text("[]")
    refused(saved, "a vocabulary that Vocabulary.save wrote")


def test_a_vocabulary_of_another_size_in_a_folder_that_does_not_name_its_hash(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text())
    del config["vocabulary"]
    (saved / "config.json").write_text(json.dumps(config))
    load_classifier(saved)
    Vocabulary(small.WORDS[:4]).save(saved / folder.VOCABULARY)
    refused(saved, "one word for each row of the model")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", '{"model_type": "bert"}', '{"format": "x"}', '{"format": null}', '{"format": 1}', "\udcff"],
)
def test_a_config_that_somebody_else_wrote(saved: Path, content: str) -> None:
    (saved / "config.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    refused(saved, "config.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"kind": "transformer"}},
        {"model": {"kind": "cnn", "rows": -4, "width": 3, "encoded": None, "options": {}}},
        {"model": {"kind": "cnn", "rows": 4, "width": 3, "encoded": None, "options": {"colour": 1}}},
        {"model": {"kind": "cnn", "rows": 4, "width": 3, "encoded": None, "options": {"kernel_sizes": ["a"]}}},
        {"model": []},
        {"label_names": "yes"},
        {"label_names": ["one"]},
        {"max_length": "long"},
        {"tokenizer": "(["},
        {"tokenizer": None},
        {"weights": 7},
        {"substitutions": 3},
    ],
)
def test_a_config_with_a_fault(saved: Path, changes: dict) -> None:
    edit(saved, **changes)
    refused(saved, "expected")


@pytest.mark.parametrize(("name", "option"), [("cnn", "filters"), ("bilstm", "hidden")])
def test_sizes_that_the_weights_do_not_have_take_no_memory(name: str, option: str, tmp_path: Path) -> None:
    path = save_classifier(classifier(name), tmp_path / "model")
    plan = json.loads((path / "config.json").read_text())["model"]
    size = {"filters": 3_000_000, "hidden": 4_000}[option]  # some hundred megabytes of drawn weights
    edit(path, model=plan | {"options": plan["options"] | {option: size}})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(path, "of shape")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_an_interrupted_save_leaves_no_config_that_claims_completeness(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("save_tensors", "identity_of"):
        save_classifier(classifier(), saved)
        with monkeypatch.context() as patched:
            patched.setattr(folder, step, stopped)
            with pytest.raises(KeyboardInterrupt):
                save_classifier(classifier(), saved)
        refused(saved, "the file config.json, got none")


def test_a_folder_that_cannot_be_written_is_one_sentence(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", denied)
    with pytest.raises(SgbtError, match="permission denied"):
        save_classifier(classifier(), saved)
