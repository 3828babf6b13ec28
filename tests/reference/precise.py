"""A BiLSTM in arithmetic of fifty digits: written down from its definition, one number at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
from mpmath import mpf

DIGITS = 50
Vector = list[Any]


def _numbers(tensor: Any) -> Any:
    return (
        [[mpf(each) for each in row] for row in tensor]
        if isinstance(tensor[0], list)
        else [mpf(each) for each in tensor]
    )


def _affine(weight: list[Vector], vector: Vector, bias: Vector) -> Vector:
    return [
        mpmath.fsum(w * x for w, x in zip(row, vector, strict=True)) + b for row, b in zip(weight, bias, strict=True)
    ]


def _sigmoid(z: Any) -> Any:
    return 1 / (1 + mpmath.exp(-z))


def _vectors(model: Any, ids: Sequence[int]) -> list[Vector]:
    vectors = [_numbers(model.embedding.weight[word].tolist()) for word in ids]
    layer = model.embedding.projection
    if layer is None:
        return vectors
    weight, bias = _numbers(layer.weight.tolist()), _numbers(layer.bias.tolist())
    return [_affine(weight, vector, bias) for vector in vectors]


def _read(lstm: Any, vectors: list[Vector]) -> list[Vector]:
    size = lstm.hidden_size
    inwards, recurrent = _numbers(lstm.weight_ih_l0.tolist()), _numbers(lstm.weight_hh_l0.tolist())
    first, second = _numbers(lstm.bias_ih_l0.tolist()), _numbers(lstm.bias_hh_l0.tolist())
    hidden, cell, states = [mpf(0)] * size, [mpf(0)] * size, []
    for vector in vectors:
        parts = zip(_affine(inwards, vector, first), _affine(recurrent, hidden, second), strict=True)
        gates = [one + other for one, other in parts]
        i, f, g, o = (gates[part * size : (part + 1) * size] for part in range(4))
        cell = [_sigmoid(f[u]) * cell[u] + _sigmoid(i[u]) * mpmath.tanh(g[u]) for u in range(size)]
        hidden = [_sigmoid(o[u]) * mpmath.tanh(cell[u]) for u in range(size)]
        states.append(hidden)
    return states


def bilstm_states(model: Any, ids: Sequence[int]) -> tuple[list[Vector], list[Vector]]:
    """The hidden states of both directions, each in its reading order."""
    with mpmath.workdps(DIGITS):
        vectors = _vectors(model, ids)
        return _read(model.forwards, vectors), _read(model.backwards, vectors[::-1])


def bilstm_margins(model: Any, texts: Sequence[Sequence[int]]) -> list[Vector]:
    """For two classes: (logit of a class - the other's) of every text, for each class."""
    found = []
    with mpmath.workdps(DIGITS):
        weight, bias = _numbers(model.head.weight.tolist()), _numbers(model.head.bias.tolist())
        for ids in texts:
            features: Vector = []
            for states in bilstm_states(model, ids):
                columns = list(zip(*states, strict=True))
                pooled = {"last": lambda c: c[-1], "max": max, "mean": lambda c: mpmath.fsum(c) / len(c)}
                features += [pooled[model.config.pooling](column) for column in columns]
            logits = _affine(weight, features, bias)
            found.append([logits[0] - logits[1], logits[1] - logits[0]])
    return found
