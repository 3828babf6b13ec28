"""The first-order bound: a Growth Bound Matrix (paper Definition 1) as a structured operator."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.core.errors import BoundError
from sgbt.core.shapes import Float

DENSE_LIMIT_BYTES = 2**30  # one gibibyte: 64 filters on four words fit, a text of 512 words does not


def require_affordable(shape: Sequence[int], like: Tensor, *, where: str) -> None:
    """Refuse to write out a tensor above `DENSE_LIMIT_BYTES`, and say how large it would be."""
    size = math.prod(shape) * like.element_size()
    if size > DENSE_LIMIT_BYTES:
        raise BoundError(
            expected=f"a dense tensor of at most {human_size(DENSE_LIMIT_BYTES)}",
            got=f"shape {tuple(shape)}, which would take {human_size(size)}",
            where=where,
            remedy="use total(), apply() and entry(), which never build it",
        )


def require_index(index: int, size: int, *, where: str) -> int:
    """An index that exists."""
    if not 0 <= index < size:
        raise BoundError(expected=f"an index from 0 to {size - 1}", got=str(index), where=where)
    return index


def require_displacement(displacement: Tensor, inputs: int, *, where: str) -> None:
    """A displacement of the operator's inputs, with any dimensions of batch in front."""
    if displacement.ndim == 0 or displacement.shape[-1] != inputs or bool(torch.isnan(displacement).any()):
        raise BoundError(
            expected=f"a displacement of shape (..., {inputs}) without NaN",
            got=f"shape {tuple(displacement.shape)}" + (" with NaN" if displacement.isnan().any() else ""),
            where=where,
        )


def human_size(size: float) -> str:
    """A number of bytes as a person reads it, in powers of 1,000."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} PB"


class GrowthBound(ABC):
    """A matrix M with |d F_i / d x_j| <= M_ij at every point of the domain it was built for (Definition 1).

    Two matrices of this kind live in one operator. The *tight* one keeps signs: terms that cancel at every point of
    the domain cancel in the bound. The *factorised* one takes absolute values factor by factor, is never smaller, and
    sums in closed form. `dense` and `entry` give the tight one unless asked otherwise; `total` and `apply` are
    contractions of the factorised one, and never build a matrix.

    `proven` is false when the domain was only observed on data: such a bound may regularise (`total`) and refuses to
    certify (`apply`, `proposition_one`).
    """

    proven: bool

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """How many outputs and how many inputs the bounded map has."""

    @abstractmethod
    def total(self) -> Float[Tensor, ""]:
        """The sum of the factorised entries: the paper's L_GBM, raw, with gradients to the layer's parameters.

        It grows with the size of the layer (thousands at initialisation); the training objective normalises it.
        """

    @abstractmethod
    def _dense(self, *, factorised: bool) -> Tensor: ...

    @abstractmethod
    def _entry(self, i: int, j: int) -> Tensor: ...

    @abstractmethod
    def _apply(self, magnitude: Tensor) -> Tensor: ...

    @abstractmethod
    def _like(self) -> Tensor:
        """A tensor of the operator's precision and device."""

    def dense(self, *, factorised: bool = False) -> Float[Tensor, "outputs inputs"]:
        """The matrix M of shape (outputs, inputs), if it is small enough to write out."""
        require_affordable(self.shape, self._like(), where="GrowthBound.dense")
        return self._dense(factorised=factorised)

    def entry(self, i: int, j: int) -> Float[Tensor, ""]:
        """The tight entry M_ij alone."""
        outputs, inputs = self.shape
        return self._entry(
            require_index(i, outputs, where="GrowthBound.entry, i"),
            require_index(j, inputs, where="GrowthBound.entry, j"),
        )

    def apply(self, delta: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch outputs"]:
        """sum_j M_ij |delta_j| for each row of a batch (..., inputs): how far each output can move.

        By the mean value theorem |F_i(x + d) - F_i(x)| <= apply(delta)_i for every d with |d| <= |delta|, as long as
        x and x + d are in the domain, which must be convex (a box is).
        """
        self.require_proven(where="GrowthBound.apply")
        require_displacement(delta, self.shape[1], where="GrowthBound.apply")
        return self._apply(delta.abs())

    def require_proven(self, *, where: str) -> None:
        """Refuse to take part in a proof when the domain was only observed."""
        if not self.proven:
            raise unproven(where)


def unproven(where: str) -> BoundError:
    """The error that a bound over an observed range raises when asked to certify."""
    return BoundError(
        expected="a bound over a proven domain (Interval)",
        got="one over an ObservedRange, which new text may leave",
        where=where,
        remedy="rebuild it from a box of sgbt.bounds.domains; an observed range may only regularise, by total()",
    )


@dataclass(frozen=True, eq=False)
class StackedGrowth(GrowthBound):
    """The growth bound of several maps of one input whose outputs are concatenated (the paper's direct sum)."""

    parts: Sequence[GrowthBound]

    def __post_init__(self) -> None:
        require_same_inputs([part.shape[-1] for part in self.parts], where="StackedGrowth")

    @property
    def proven(self) -> bool:  # type: ignore[override]
        """Whether every part is proven."""
        return all(part.proven for part in self.parts)

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs of all parts, and the inputs they share."""
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    def total(self) -> Tensor:
        """The sum of the parts' totals."""
        return torch.stack([part.total() for part in self.parts]).sum()

    def _dense(self, *, factorised: bool) -> Tensor:
        return torch.cat([part.dense(factorised=factorised) for part in self.parts])

    def _entry(self, i: int, j: int) -> Tensor:
        part, row = locate([part.shape[0] for part in self.parts], i)
        return self.parts[part].entry(row, j)

    def _apply(self, magnitude: Tensor) -> Tensor:
        return torch.cat([part.apply(magnitude) for part in self.parts], dim=-1)

    def _like(self) -> Tensor:
        return self.parts[0]._like()


def require_same_inputs(inputs: Sequence[int], *, where: str) -> None:
    """Maps that are concatenated read one and the same input."""
    if len(set(inputs)) != 1:
        raise BoundError(
            expected="one or more bounds on the same inputs", got=f"input sizes {list(inputs)}", where=where
        )


def locate(sizes: Sequence[int], index: int) -> tuple[int, int]:
    """Which part a row of a concatenation belongs to, and which row of that part it is."""
    for part, size in enumerate(sizes):
        if index < size:
            return part, index
        index -= size
    raise IndexError(index)
