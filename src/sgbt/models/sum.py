"""Sum: models whose logits are added, each with a weight; what holds of the parts, added, holds of the sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from sgbt.core.errors import ModelError
from sgbt.core.registry import COMBINATIONS
from sgbt.data import RaggedIds
from sgbt.models.arrays import Fault, check_arrays
from sgbt.models.blueprint import blueprint, build, parts_of, read_blueprint
from sgbt.models.deciding import decides_in, has_own_forward, logits_unpadded
from sgbt.models.shapes import Allowed, Choices, Ids, Labels, Logits, Mask
from sgbt.models.worst_case import worst_case_logits

if TYPE_CHECKING:
    from sgbt.models import Bag, Network

MOST_PARTS = 64
"""Float32 holds the sum of so many logits each of which is far from overflowing (`sgbt.certify.rounding`)."""

LARGEST_WEIGHT = 1e6


class Sum(nn.Module):
    """Logits = the sum over all parts of weight * logits of the part; weights are one unless they are given.

    Bounds of the parts, times their weights, add up to a bound of the sum, because no weight is negative: a part that
    reads synonym clusters alone is the same for every substitution within them, and costs a certificate nothing. With
    all weights one, logits are added in the precision that they have; else weights are applied in float64.

    A sum among the parts is replaced by its own parts. Two parts of weight one are called "words" and "codes", and are
    stored as kind "two-channel", as earlier versions did: their folders and the names of their models remain valid.
    """

    kind = "sum"

    def __init__(self, parts: Iterable[Any], weights: Iterable[float] | None = None) -> None:
        super().__init__()
        given = tuple(parts)
        factors = (1.0,) * len(given) if weights is None else _checked(weights, len(given))
        flat: list[tuple[Any, float]] = []
        for part, factor in zip(given, factors, strict=True):
            inner = zip(part.parts, part.weights, strict=True) if isinstance(part, Sum) else [(part, 1.0)]
            flat += [(own, factor * weight) for own, weight in inner]
        _check_parts([part for part, _ in flat])
        self._weights = tuple(weight for _, weight in flat)
        names: Iterable[str] = map(str, range(len(flat)))
        if len(flat) == 2 and self.plain:
            self.kind, names = "two-channel", ("words", "codes")
        self._names = tuple(names)
        for name, (part, _) in zip(self._names, flat, strict=True):
            self.add_module(name, part)

    @property
    def parts(self) -> tuple[Network | Bag, ...]:
        """The models whose logits are added."""
        return tuple(self._modules[name] for name in self._names)  # type: ignore[misc]

    @property
    def weights(self) -> tuple[float, ...]:
        """What the logits of each part are multiplied by."""
        return self._weights

    @property
    def names(self) -> tuple[str, ...]:
        """How the names of each part's arrays begin, the dot left out."""
        return self._names

    @property
    def plain(self) -> bool:
        """Whether every weight is one."""
        return all(weight == 1 for weight in self._weights)

    @property
    def terms(self) -> list[tuple[float, Network | Bag]]:
        """The parts that count, each behind its weight: a part of weight 0 adds nothing."""
        return [(weight, part) for weight, part in zip(self._weights, self.parts, strict=True) if weight]

    def forward(self, ids: Ids, mask: Mask | None = None) -> Logits:
        """Logits of token ids [texts, words]."""
        weighted: list[Tensor]
        if self.plain:
            weighted = [part(ids, mask) for part in self.parts]
        else:
            weighted = [weight * part(ids, mask).double() for weight, part in self.terms]
        return sum(weighted[1:], start=weighted[0])


@logits_unpadded.register
def _unpadded(model: Sum, texts: RaggedIds) -> Tensor | None:
    if has_own_forward(model, Sum):
        return None
    total: Tensor | None = None
    for weight, part in model.terms:
        logits = logits_unpadded(part, texts)
        if logits is None:
            return None
        total = weight * logits if total is None else total + weight * logits
    return total


def _checked(weights: Iterable[float], parts: int) -> tuple[float, ...]:
    found = tuple(weights)
    if len(found) != parts:
        raise ModelError(expected=f"a weight for each of {parts} parts", got=f"{len(found)} weights", where="a Sum")
    for weight in found:
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not 0 <= weight <= LARGEST_WEIGHT:  # a NaN is refused as well
            raise ModelError(
                expected=f"weights from 0 to {LARGEST_WEIGHT:,.0f}",
                got=repr(weight)[:60],
                where="a Sum",
                remedy="bounds of parts add up only where no weight is negative",
            )
    if not any(found):
        raise ModelError(expected="a weight above 0", got="only zeros", where="a Sum")
    return tuple(map(float, found))


def _check_parts(parts: list[Any]) -> None:
    if not 0 < len(parts) <= MOST_PARTS:
        raise ModelError(expected=f"from 1 to {MOST_PARTS} parts", got=str(len(parts)), where="a Sum")
    if odd := [part for part in parts if not isinstance(part, nn.Module)]:
        raise ModelError(expected="models as the parts", got=type(odd[0]).__name__, where="a Sum")
    if len({id(part) for part in parts}) < len(parts):
        raise ModelError(
            expected="parts that are different models",
            got="one of them twice",
            where="a Sum",
            remedy="raise its weight",
        )
    if len(classes := {part.config.classes for part in parts}) > 1:
        raise ModelError(
            expected="parts with the same number of classes", got=" and ".join(map(str, sorted(classes))), where="a Sum"
        )


@parts_of.register
def _parts(model: Sum) -> tuple[Any, ...]:
    return model.parts


@decides_in.register
def _decides_in(model: Sum) -> torch.dtype:
    return torch.float64 if torch.float64 in map(decides_in, model.parts) else torch.float32


@blueprint.register
def _blueprint(model: Sum) -> dict[str, Any]:
    plans = [blueprint(part) for part in model.parts]
    if model.kind != Sum.kind:
        return {"kind": model.kind, **dict(zip(model.names, plans, strict=True))}
    return {"kind": model.kind, "weights": list(model.weights), "parts": plans}


@read_blueprint.register(Sum)
def _empty(kind: type[Sum], plan: dict[str, Any]) -> Sum:
    if plan["kind"] == Sum.kind:
        plans, weights = plan["parts"], plan["weights"]
    else:
        plans, weights = [plan["words"], plan["codes"]], [1.0, 1.0]
    if type(weights) is not list or type(plans) is not list:
        raise TypeError("weights or parts that are no list")
    if any(each["kind"] in COMBINATIONS for each in plans):
        raise TypeError("a sum among the parts of a sum")
    made = kind(map(build, plans), weights)
    if made.kind != plan["kind"]:
        raise TypeError("two parts of weight one that are not written as two-channel")
    return made


@check_arrays.register
def _check_arrays(model: Sum, weights: Mapping[str, Tensor], prefix: str) -> Iterator[Fault]:
    for name, part in zip(model.names, model.parts, strict=True):
        yield from check_arrays(part, weights, f"{prefix}{name}.")


@worst_case_logits.register
def _worst_case(
    model: Sum, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels, *, epsilon: float = 1.0
) -> Logits:
    return sum(  # no weight is negative, so bounds of the parts add up to a bound of the sum
        (weight * worst_case_logits(part, ids, allowed, mask, labels, epsilon=epsilon) for weight, part in model.terms),
        start=torch.zeros((), device=ids.device),
    )
