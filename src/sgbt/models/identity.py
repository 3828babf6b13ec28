"""The identity of a classifier: one hash over everything that decides an answer.

Model folders, certificates and attack rows name their model by it; docs/reference/model-folder.md says how it is
computed. What decides no answer is outside: the substitution table, which has a hash of its own, and the note on
training.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import torch

from sgbt.models.blueprint import blueprint

if TYPE_CHECKING:
    from sgbt.models import AnyModel
    from sgbt.models.classifier import TextClassifier

PREFIX = "id1-"
"""How every identity begins: no hash of weights does."""


class Naming(StrEnum):
    """What the name of a model in a row says of a classifier."""

    EXACT = "exact"
    """It is the identity of the classifier."""
    WEIGHTS = "weights"
    """It is the hash of its weights, as rows of earlier versions have it: how they are used is not covered."""
    OTHER = "other"
    """It is the name of another model."""


@dataclass(frozen=True)
class Identity:
    """The SHA-256 of each part that decides an answer, by the name that the part has in config.json.

    `model` is the blueprint: the kind of model, its sizes and all its options.
    """

    parts: Mapping[str, str]

    @property
    def hash(self) -> str:
        """One name for all parts: `id1-` and 64 hexadecimal digits."""
        return PREFIX + sha256_of(dict(self.parts))

    def named_by(self, name: str) -> Naming:
        """Whether a row with this `model_hash` is about the classifier that has this identity."""
        if name == self.hash:
            return Naming.EXACT
        return Naming.WEIGHTS if name == self.parts["weights"] else Naming.OTHER


def identity_of(classifier: TextClassifier) -> Identity:
    """The identity of a classifier as it is now; all its weights are read for it."""
    return Identity(
        {
            "model": sha256_of(blueprint(classifier.model)),
            "weights": weights_hash(classifier.model),
            "vocabulary": classifier.vocabulary.hash,
            "tokenizer": sha256_of(classifier.tokenizer.pattern),
            "max_length": sha256_of(classifier.max_length),
            "label_names": sha256_of(classifier.label_names),
        }
    )


def weights_of(model: AnyModel) -> dict[str, torch.Tensor]:
    """Copies of all weights and buffers, on the CPU."""
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in model.state_dict().items()}


def weights_hash(model: AnyModel) -> str:
    """The SHA-256 of all weights by name, in the order of the names.

    It says nothing of what is computed with them: what names a classifier is its identity (`Identity`).
    """
    whole = hashlib.sha256()
    for name, tensor in sorted(weights_of(model).items()):
        whole.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        whole.update(tensor.flatten().view(torch.uint8).numpy().tobytes())  # numpy knows no bfloat16
    return whole.hexdigest()


def covers_weights_alone(name: str) -> bool:
    """Whether the name of a model is one that earlier versions gave: the hash of its weights and of nothing else."""
    return not name.startswith(PREFIX)


def sha256_of(value: object) -> str:
    """The SHA-256 of a JSON value in its one canonical writing: sorted names, no spaces, ASCII alone."""
    written = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(written.encode()).hexdigest()
