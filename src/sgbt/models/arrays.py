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

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from sgbt.models import bag_features, bag_of_ngrams
from sgbt.models.bag_features import FAMILIES, OF_CODES_ALONE
from sgbt.models.bag_of_words import BagOfWords
from sgbt.models.blueprint import AnyModel, Bag, Network
from sgbt.models.finite import odd_weight
from sgbt.models.places import LARGEST_EXPONENT
from sgbt.models.sum import Sum

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
    if isinstance(model, Sum):
        for name, part in zip(model.names, model.parts, strict=True):
            yield from _of_part(part, weights, f"{name}.")
    else:
        yield from _of_part(model, weights, "")


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


def _of_part(part: Network | Bag, weights: Mapping[str, Tensor], prefix: str) -> Iterator[Fault]:
    if not isinstance(part, Bag):
        if part.embedding.codes is not None:
            yield from _codes(f"{prefix}embedding.codes", weights, below=len(part.embedding.weight))
        return
    linear = isinstance(part, BagOfWords)
    yield from _codes(f"{prefix}codes", weights, below=bag_features.LARGEST if linear else bag_of_ngrams.LARGEST)
    keys = weights[f"{prefix}keys"]
    yield from _ascending(f"{prefix}keys", keys)
    known = _known_to_linear(part, keys) if isinstance(part, BagOfWords) else _known_to_grams(part, keys)
    if not bool(known.all()):
        yield f"{prefix}keys of features that the model has", f"{int(keys[~known][0])}"
    if not isinstance(part, BagOfWords):
        return
    if bool((weights[f"{prefix}weight"][:1] != 0).any()):
        yield f"zeros in the first row of {prefix}weight, which is padding", "other numbers"
    for name in (f"{prefix}places.start", f"{prefix}places.end") if part.places is not None else ():
        largest = float(weights[name].abs().amax())
        if largest > LARGEST_EXPONENT:
            yield f"numbers of at most {LARGEST_EXPONENT:g} in {name}", f"{largest:.3g}"


def _codes(name: str, weights: Mapping[str, Tensor], *, below: int) -> Iterator[Fault]:
    codes = weights[name]
    padding, words = codes[..., :1], codes[..., 1:]
    if bool((padding != 0).any()):
        yield f"code 0 for padding in {name}", str(int(padding[padding != 0][0]))
    odd = (words < 1) | (words >= below)
    if bool(odd.any()):
        yield f"codes of words from 1 to {below - 1:,} in {name}", str(int(words[odd][0]))


def _ascending(name: str, keys: Tensor) -> Iterator[Fault]:
    if bool((keys[1:] == keys[:-1]).any()):
        yield f"each of {name} once", f"{int(keys[1:][keys[1:] == keys[:-1]][0])} twice"
    if bool((keys[1:] < keys[:-1]).any()):
        yield f"{name} in ascending order", f"{int(keys[1:][keys[1:] < keys[:-1]][0])} behind a larger one"


def _known_to_linear(model: BagOfWords, keys: Tensor) -> Tensor:
    """Which keys are of a family that the model counts and, where that reads a word, of a word that it knows."""
    family, word = keys >> 3 * bag_features.BITS, keys >> 2 * bag_features.BITS & bag_features.LARGEST - 1
    known = torch.zeros_like(keys, dtype=torch.bool)
    for name in model.config.features:
        reads_word = name not in OF_CODES_ALONE
        known |= (family == FAMILIES.index(name)) & ((word < len(model.codes)) | (not reads_word))
    return known


def _known_to_grams(model: bag_of_ngrams.BagOfNgrams, keys: Tensor) -> Tensor:
    """Which keys are of a map that there is, of 1 to `longest` codes that are not zero, and of an end that counts."""
    length = torch.zeros_like(keys)
    for place in range(bag_of_ngrams.LONGEST):
        code = keys >> place * bag_of_ngrams.BITS & bag_of_ngrams.LARGEST - 1
        length += (code > 0) & (length == place)
    above = keys >> bag_of_ngrams.LONGEST * bag_of_ngrams.BITS  # the codes gone: whether it is of the end, and its map
    whole = keys & (1 << bag_of_ngrams.LONGEST * bag_of_ngrams.BITS) - 1 < 1 << length * bag_of_ngrams.BITS
    counted = whole & (length <= model.config.longest) & ((above & 1 == 0) | (model.config.ending > 0))
    return counted & (length > 0) & (keys > 0) & (above >> 1 < len(model.config.resolutions))


def _called(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")
