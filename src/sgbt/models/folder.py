"""A trained classifier as a folder: safe to load, complete without its training data, and never half-written."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import safetensors
import safetensors.torch
import torch

from sgbt.core.documents import read_json_object
from sgbt.core.errors import DataError, LexiconError, ModelError
from sgbt.core.files import atomic_write
from sgbt.data import Tokenizer
from sgbt.models.arrays import fault_in_arrays
from sgbt.models.blueprint import blueprint, build
from sgbt.models.classifier import TextClassifier
from sgbt.models.identity import Identity, identity_of, weights_of
from sgbt.threats import SubstitutionTable, Vocabulary
from sgbt.version import __version__

if TYPE_CHECKING:
    from sgbt.models import AnyModel

FORMAT = 1
CONFIG, WEIGHTS, VOCABULARY, TABLE = "config.json", "model.safetensors", "vocabulary.json", "substitutions.json.gz"

_CONFIG = "a config.json that sgbt wrote"

FIELDS: dict[str, tuple[type, ...]] = {
    "model": (dict,),
    "weights": (str,),
    "label_names": (list,),
    "max_length": (int,),
    "tokenizer": (str,),
    "substitutions": (str, type(None)),
}
"""What config.json must have, and of which kind."""

LATER_FIELDS: dict[str, tuple[type, ...]] = {
    "vocabulary": (str,),
    "training": (dict,),
    "identity": (str,),
    "identity_parts": (dict,),
}
"""What folders of earlier versions do not all have."""


def save_classifier(classifier: TextClassifier, folder: str | Path, *, training: dict[str, Any] | None = None) -> Path:
    """Write the classifier; `config.json` comes last, so a folder that has one is complete.

    `training` is kept as a note on how the model came about; nothing reads it back.
    """
    folder, weights = Path(folder), weights_of(classifier.model)
    _refuse_odd_arrays(classifier.model, weights, "the model to be saved")
    _forget(folder / CONFIG)
    classifier.vocabulary.save(folder / VOCABULARY)
    if classifier.table is not None:
        classifier.table.to_json(folder / TABLE)
    save_tensors(weights, folder / WEIGHTS)
    identity = identity_of(classifier)
    config = {
        "format": FORMAT,
        "sgbt": __version__,
        "identity": identity.hash,
        "identity_parts": dict(identity.parts),
        "model": blueprint(classifier.model),
        "weights": identity.parts["weights"],
        "vocabulary": identity.parts["vocabulary"],
        "label_names": classifier.label_names,
        "max_length": classifier.max_length,
        "tokenizer": classifier.tokenizer.pattern,
        "substitutions": None if classifier.table is None else classifier.table.hash,
        "training": training or {},
    }
    with atomic_write(folder / CONFIG) as stream:
        stream.write(json.dumps(config, indent=1, ensure_ascii=False).encode())
    return folder


def load_classifier(folder: str | Path) -> TextClassifier:
    """Read what `save_classifier` wrote. Nothing in the folder is ever executed or unpickled."""
    folder = Path(folder)
    config = _read_config(folder)
    vocabulary, table = _read_words(folder, config)
    with _as_model_error():
        tokenizer = Tokenizer(config["tokenizer"])
        tokenizer.words("")  # a pattern that cannot be used shows itself now
    model = _filled(config["model"], _present(folder / WEIGHTS))
    try:
        classifier = TextClassifier(
            model=model.eval(),
            vocabulary=vocabulary,
            label_names=tuple(config["label_names"]),
            table=table,
            max_length=config["max_length"],
            tokenizer=tokenizer,
        )
    except ModelError as problem:
        raise ModelError(
            expected=problem.expected, got=problem.got, where=str(folder), remedy="copy the whole folder again"
        ) from problem
    _check_identity(identity_of(classifier), config, folder)
    if table is not None:
        table.require_read_by(tokenizer)
    return classifier


def _check_identity(own: Identity, config: dict[str, Any], folder: Path) -> None:
    """That the folder holds the model that was saved there; one of an earlier version names its weights alone."""
    _agree("the weights", config["weights"], own.parts["weights"], folder)
    if "identity" not in config and "identity_parts" not in config:
        return
    if "identity" not in config:
        raise ModelError(expected="an identity in config.json", got="its parts alone", where=str(folder))
    stored = config.get("identity_parts", {})
    for name, found in own.parts.items():
        if stored.get(name, found) != found:
            raise ModelError(
                expected=f"the {name} that the identity in config.json covers",
                got="another",
                where=str(folder),
                remedy="it was changed after it was saved: copy the whole folder again, or save the changed model anew",
            )
    if config["identity"] != own.hash:
        raise ModelError(
            expected=f"the model with identity {config['identity'][:12]}, as config.json says",
            got=own.hash[:12],
            where=str(folder),
            remedy="copy the whole folder again",
        )


def training_note(folder: Path) -> dict[str, Any]:
    """What `save_classifier` was given as `training`; nothing where a folder has none."""
    config = read_json_object(folder / CONFIG, kind=ModelError, expected="a config.json that sgbt wrote", finite=False)
    note = config.get("training")
    if not isinstance(note, dict | None):
        raise ModelError(expected="training in config.json as sgbt writes it", got="something else", where=str(folder))
    return note or {}


def _read_words(folder: Path, config: dict[str, Any]) -> tuple[Vocabulary, SubstitutionTable | None]:
    table = None
    with _as_model_error():
        vocabulary = Vocabulary.load(_present(folder / VOCABULARY))
        if config["substitutions"] is not None:
            table = SubstitutionTable.from_json(_present(folder / TABLE))
    if "vocabulary" in config:
        _agree("the vocabulary", config["vocabulary"], vocabulary.hash, folder)
    if table is not None:
        _agree("the substitution table", config["substitutions"], table.hash, folder)
    return vocabulary, table


def save_tensors(tensors: dict[str, torch.Tensor], path: Path) -> None:
    """Write named tensors in the safetensors format; all or nothing."""
    with atomic_write(path) as stream:
        stream.write(safetensors.torch.save(tensors))


def load_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read named tensors, or say in one sentence why that cannot be."""
    try:
        return safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError) as problem:
        raise ModelError(
            expected="a whole safetensors file",
            got=f"one that cannot be read ({problem})",
            where=str(path),
            remedy="train again",
        ) from problem


@contextlib.contextmanager
def _as_model_error() -> Iterator[None]:
    """What is wrong with a part is, to whoever loads the folder, wrong with the model."""
    try:
        yield
    except (LexiconError, DataError) as problem:
        raise ModelError(
            expected=problem.expected, got=problem.got, where=problem.where, remedy="copy the whole folder again"
        ) from problem


def _read_config(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise ModelError(
            expected="the folder of a trained model", got="nothing there", where=str(folder), remedy="see: sgbt train"
        )
    try:
        config = read_json_object(_present(folder / CONFIG), kind=ModelError, expected=_CONFIG, finite=False)
        version = config["format"]
        if type(version) is not int or version < 1:
            raise ValueError(version)
    except (ValueError, KeyError, TypeError) as problem:
        raise ModelError(expected=_CONFIG, got="something else", where=str(folder)) from problem
    if version > FORMAT:
        raise ModelError(
            expected=f"a model folder of format {FORMAT} or older",
            got=f"format {version}, written by sgbt {config.get('sgbt', '?')}",
            where=str(folder),
            remedy="upgrade sgbt",
        )
    for name, kinds in (FIELDS | {name: LATER_FIELDS[name] for name in LATER_FIELDS if name in config}).items():
        if name not in config or type(config[name]) not in kinds:  # true is no whole number
            got = "none" if name not in config else repr(config[name])[:60]
            raise ModelError(expected=f"{name} in config.json as sgbt writes it", got=got, where=str(folder))
    return config


def _present(path: Path) -> Path:
    if not path.is_file():
        raise ModelError(
            expected=f"the file {path.name}",
            got="none",
            where=str(path.parent),
            remedy="finish training, or copy the whole folder",
        )
    return path


def _forget(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        raise ModelError(
            expected="a folder to write to",
            got=(problem.strerror or str(problem)).lower(),
            where=str(path.parent),
            remedy="choose another folder",
        ) from problem


def _agree(what: str, expected: str, actual: str, folder: Path) -> None:
    if expected != actual:
        raise ModelError(
            expected=f"{what} with hash {expected[:12]}",
            got=f"hash {actual[:12]}",
            where=str(folder),
            remedy="copy the whole folder again",
        )


def _filled(plan: dict[str, Any], path: Path) -> AnyModel:
    """The model of a blueprint with the weights of a file; memory is taken only when both agree on every size."""
    stored = load_tensors(path)
    with torch.device("meta"):
        empty = build(plan)
    expected = empty.state_dict()
    if set(stored) != set(expected):
        odd = sorted(set(stored) ^ set(expected))
        raise ModelError(
            expected="the weights that config.json describes", got=f"a difference at {odd[0]}", where=str(path)
        )
    for name, tensor in stored.items():
        if tensor.shape != expected[name].shape:
            raise ModelError(
                expected=f"{name} of shape {tuple(expected[name].shape)}", got=str(tuple(tensor.shape)), where=str(path)
            )
    _refuse_odd_arrays(empty, stored, str(path))
    model = build(plan)
    model.to(next(tensor.dtype for tensor in stored.values() if tensor.is_floating_point()))  # as it was saved
    model.load_state_dict(stored)
    return model


def _refuse_odd_arrays(model: AnyModel, weights: dict[str, torch.Tensor], where: str) -> None:
    if (fault := fault_in_arrays(model, weights)) is not None:
        raise ModelError(expected=fault[0], got=fault[1], where=where, remedy="train again")
