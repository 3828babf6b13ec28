"""What every array of a model must be, so that whoever reads a folder reads the same model.

| array | what it must be |
|---|---|
| all weights | finite numbers of one precision: float64, float32, float16 or bfloat16 |
| codes, keys | int64 |
| embedding.codes | 0 for padding alone; for every other id, the number of a row of embedding.weight |
| codes of a BagOfWords or BagOfNgrams | 0 for padding alone; below 2^20, or 2^15 |
| keys | each once, ascending, and of a feature that the model has |
| weight of a BagOfWords | zeros in the first row, which stands for features without a weight |
| places.start, places.end | from -100 to 100, so that no factor overflows or vanishes |

Names, shapes and the number of words and classes are compared before (`sgbt.models.folder`, `TextClassifier`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from sgbt.models import AnyModel

PRECISIONS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
"""What weights may be stored in; float64 holds each of them exactly."""

Fault = tuple[str, str]
"""What is expected of an array, and what there is."""


def fault_in_arrays(model: AnyModel, weights: Mapping[str, Tensor]) -> Fault | None:
    """The first thing about the weights of a model that is not as it must be; None if all is.

    They have the names and shapes of the model, which may itself be without memory ("meta").
    """
    return next(_faults(model, weights), None)


def _faults(model: AnyModel, weights: Mapping[str, Tensor]) -> Iterator[Fault]:
    yield from _kinds(model, weights)
    if (odd := odd_weight(weights)) is not None:
        yield f"finite numbers in {odd[0]}", odd[1]
    yield from check_arrays(model, weights, "")


@singledispatch
def check_arrays(model: Any, weights: Mapping[str, Tensor], prefix: str) -> Iterator[Fault]:
    """What is wrong with the arrays of a kind of model, whose names begin with `prefix`; registered beside each kind.

    By default, with the codes of an embedding.
    """
    if getattr(model, "embedding", None) is not None and model.embedding.codes is not None:
        yield from faults_of_codes(f"{prefix}embedding.codes", weights, below=len(model.embedding.weight))


def _kinds(model: AnyModel, weights: Mapping[str, Tensor]) -> Iterator[Fault]:
    """That numbers are stored as what they are, and all weights in the same precision."""
    precisions: dict[torch.dtype, str] = {}
    for name, own in model.state_dict().items():
        given = weights[name].dtype
        if not own.is_floating_point():
            if given is not torch.int64:
                yield f"int64 in {name}", _called(given)
        elif given not in PRECISIONS:
            yield f"{', '.join(map(_called, PRECISIONS))} in {name}", _called(given)
        else:
            precisions.setdefault(given, name)
    if len(precisions) > 1:
        yield "weights of one precision", ", ".join(f"{_called(kind)} in {name}" for kind, name in precisions.items())


def faults_of_codes(name: str, weights: Mapping[str, Tensor], *, below: int) -> Iterator[Fault]:
    """That padding has code 0, and every word one from 1 on and below a limit."""
    codes = weights[name]
    padding, words = codes[..., :1], codes[..., 1:]
    if bool((padding != 0).any()):
        yield f"code 0 for padding in {name}", str(int(padding[padding != 0][0]))
    odd = (words < 1) | (words >= below)
    if bool(odd.any()):
        yield f"codes of words from 1 to {below - 1:,} in {name}", str(int(words[odd][0]))


def faults_of_keys(name: str, keys: Tensor, known: Tensor) -> Iterator[Fault]:
    """That keys stand once each, in ascending order, and are of features that the model has."""
    if bool((keys[1:] == keys[:-1]).any()):
        yield f"each of {name} once", f"{int(keys[1:][keys[1:] == keys[:-1]][0])} twice"
    if bool((keys[1:] < keys[:-1]).any()):
        yield f"{name} in ascending order", f"{int(keys[1:][keys[1:] < keys[:-1]][0])} behind a larger one"
    if not bool(known.all()):
        yield f"{name} of features that the model has", f"{int(keys[~known][0])}"


def odd_weight(weights: Mapping[str, Tensor], *, most: float = math.inf) -> tuple[str, str] | None:
    """The first tensor with a NaN, an infinity or a number above `most` in size, and what that is; None if none has."""
    for name, tensor in weights.items():
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        low, high = (float(end) for end in tensor.detach().aminmax())
        if math.isnan(low) or math.isnan(high):
            return name, "a NaN"
        size = max(-low, high)
        if size == math.inf or size > most:
            return name, "an infinity" if size == math.inf else f"{size:.3g}"
    return None


def _called(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")
