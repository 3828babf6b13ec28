"""The least margins that a threat leaves to a model: one function for each kind of model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from sgbt.certify.edits.worst_path import Floats, Ints, least_sums
from sgbt.core.errors import CertificateError
from sgbt.models import BagOfWords
from sgbt.models.sum import Sum
from sgbt.threats.lattice import ChoiceSets, Lattice


@singledispatch
def least_margins(model: Any, lattices: Sequence[Lattice], labels: Ints, max_length: int) -> Floats:
    """Lower bounds of label's logit minus each other logit, ascending, over all paths, [texts, rivals]; in float64."""
    raise CertificateError(
        expected="a bag of words, or a sum of such",
        got=type(model).__name__,
        where="a threat beyond substitutions",
        remedy="certify it against substitutions alone",
    )


@least_margins.register
def _of_bag(model: BagOfWords, lattices: Sequence[Lattice], labels: Ints, max_length: int) -> Floats:
    if model.config.features or model.places is not None:
        raise CertificateError(
            expected="a bag of words without features of neighbours and without positional weights",
            got="one with them",
            where="a threat beyond substitutions",
            remedy="train it with features = [] and places = false",
        )
    weight = model.weight.detach().double().cpu().numpy().copy()
    weight[0] = 0.0  # padding is no word
    bias = model.bias.detach().double().cpu().numpy()
    classes = len(bias)
    rivals = rivals_of(labels, classes)
    table = _least_of_sets(lattices[0].sets, weight)
    found = least_sums(lattices, table, labels[:, None] * classes + rivals, max_length)
    words = np.minimum(found.first[:, None] + np.arange(found.sums.shape[1]), max_length)
    scaled = found.sums / np.sqrt(np.maximum(words, 1))[:, :, None]
    margins: Floats = scaled.min(axis=1) + bias[labels][:, None] - bias[rivals]
    return margins


@least_margins.register
def _of_sum(model: Sum, lattices: Sequence[Lattice], labels: Ints, max_length: int) -> Floats:
    parts = [least_margins(part, lattices, labels, max_length) for part in model.parts]
    weights = [float(weight) for weight in model.weights]
    if min(weights) < 0:
        raise CertificateError(expected="ensemble weights of at least 0", got=str(min(weights)))
    total: Floats = np.sum([weight * part for weight, part in zip(weights, parts, strict=True)], axis=0)
    return total


def rivals_of(labels: Ints, classes: int) -> Ints:
    """The classes other than the label, ascending, [texts, classes - 1]."""
    others = np.arange(classes - 1)
    found: Ints = others + (others >= labels[:, None])
    return found


def _least_of_sets(sets: ChoiceSets, weight: Floats) -> Floats:
    """For every set, the least of weight[label] - weight[rival] over its words, [sets, classes * classes]."""
    ids, starts = sets.flat()
    if not len(starts):
        return np.zeros((1, weight.shape[1] ** 2))
    classes = weight.shape[1]
    least = np.empty((len(starts), classes * classes))
    for label in range(classes):
        for rival in range(classes):
            least[:, label * classes + rival] = np.minimum.reduceat((weight[:, label] - weight[:, rival])[ids], starts)
    return least
