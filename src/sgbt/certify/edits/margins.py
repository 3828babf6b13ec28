"""The least margins that a threat leaves to a model: one function for each kind of model, found by dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbt.core.errors import CertificateError
from sgbt.models.sum import Sum
from sgbt.threats.lattice import Lattice

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@singledispatch
def least_margins(model: Any, lattices: Sequence[Lattice], labels: Ints, max_length: int) -> Floats:
    """Lower bounds of label's logit minus each other logit, ascending, over all paths, [texts, rivals]; in float64.

    The lattices are of one `LatticeMaker`, the model is in float64 and reads the first `max_length` words of a text. A
    bound that is not finite proves nothing. A new kind of model registers its own here:
    `@sgbt.certify.least_margins.register`.
    """
    raise CertificateError(
        expected="a model with a proof for such threats",
        got=type(model).__name__,
        where="a threat beyond substitutions",
        remedy="certify it against substitutions alone, or register sgbt.certify.least_margins for it",
    )


@least_margins.register
def _of_sum(model: Sum, lattices: Sequence[Lattice], labels: Ints, max_length: int) -> Floats:
    """No weight is negative, so the parts' bounds add up; each part takes its own worst path."""
    total: Floats = np.sum(
        [weight * least_margins(part, lattices, labels, max_length) for weight, part in model.terms], axis=0
    )
    return total


def rivals_of(labels: Ints, classes: int) -> Ints:
    """The classes other than the label, ascending, [texts, classes - 1]."""
    others = np.arange(classes - 1)
    found: Ints = others + (others >= labels[:, None])
    return found
