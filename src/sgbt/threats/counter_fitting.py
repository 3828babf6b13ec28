"""Counter-fitting (Mrksic et al. 2016): move word vectors so that synonyms draw together and antonyms apart.

The three terms of the paper, for unit vectors and cosine distance d: antonyms closer than `antonym_margin` repel;
synonyms farther than `synonym_margin` attract; and words that were within `neighbourhood` of each other before attract
again when they drift farther apart than they were (vector space preservation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgbt.core.errors import LexiconError
from sgbt.threats.neighbours import pairs_within


@dataclass(frozen=True, slots=True)
class CounterFitting:
    """The hyper-parameters, with the published values: margins delta and gamma, radius rho, weights k1, k2, k3."""

    antonym_margin: float = 1.0
    synonym_margin: float = 0.0
    neighbourhood: float = 0.2
    antonym_weight: float = 0.1
    synonym_weight: float = 0.1
    preservation_weight: float = 0.1
    steps: int = 20

    def __post_init__(self) -> None:
        for name in ("antonym_margin", "synonym_margin", "neighbourhood"):
            value = getattr(self, name)
            if not 0 <= value <= 2:
                raise LexiconError(expected=f"a cosine distance between 0 and 2 for {name}", got=str(value))
        for name in ("antonym_weight", "synonym_weight", "preservation_weight", "steps"):
            value = getattr(self, name)
            if not value >= 0:
                raise LexiconError(expected=f"{name} of at least 0", got=str(value))

    def fit(
        self, vectors: NDArray[np.float32], *, synonyms: NDArray[np.int64], antonyms: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Unit vectors moved by `steps` of gradient descent.

        Input: vectors [n, width], scaled to length one first; pairs of rows [pairs, 2], each unordered pair once.
        In a step every word moves by the mean of what its active pairs ask for, as in the authors' program, and returns
        to length one. A pair that is both synonym and antonym counts as antonym.
        """
        points = torch.from_numpy(np.array(vectors, dtype=np.float32))
        points /= points.norm(dim=1, keepdim=True).clamp_min(1e-12)
        repel = _both_ways(antonyms)
        attract = _without(_both_ways(synonyms), repel, len(points))
        keep = torch.empty((0, 2), dtype=torch.int64)
        if self.preservation_weight > 0:
            close = pairs_within(points.numpy(), cosine_distance=self.neighbourhood)
            keep = _without(_both_ways(close), repel, len(points))
        original = _cosine_distance(points, keep)
        for _ in range(self.steps):
            shift, active = torch.zeros_like(points), torch.zeros(len(points))
            for pairs, weight, apart in (
                (repel, self.antonym_weight, None),
                (attract, -self.synonym_weight, self.synonym_margin),
                (keep, -self.preservation_weight, original),
            ):
                gaps = _cosine_distance(points, pairs)
                acting = pairs[gaps < self.antonym_margin if apart is None else gaps > apart + _ROUNDING]
                _accumulate(shift, active, points, acting, weight)
            points += shift / active.clamp_min(1)[:, None]
            points /= points.norm(dim=1, keepdim=True).clamp_min(1e-12)
        return points.numpy()


_CHUNK = 1 << 15
_ROUNDING = 1e-6
"""Distances in single precision are right to about this. A step has a fixed size, so without the slack rounding alone
would draw pairs together that did not move at all."""


def _cosine_distance(points: Tensor, pairs: Tensor) -> Tensor:
    """1 - x.y for every pair, a chunk of pairs at a time."""
    parts = [1 - (points[part[:, 0]] * points[part[:, 1]]).sum(1) for part in pairs.split(_CHUNK)]
    return torch.cat(parts) if parts else torch.empty(0)


def _accumulate(shift: Tensor, active: Tensor, points: Tensor, pairs: Tensor, weight: float) -> None:
    """Add `weight` times the gradient of d(x, y) for x, which on the sphere is (x.y) x - y, to every x of the pairs."""
    for part in pairs.split(_CHUNK):
        x, y = points[part[:, 0]], points[part[:, 1]]
        shift.index_add_(0, part[:, 0], ((x * y).sum(1, keepdim=True) * x - y) * weight)
        active.index_add_(0, part[:, 0], torch.ones(len(part)))


def _both_ways(pairs: NDArray[np.int64]) -> Tensor:
    """Each unordered pair once in either direction, in a fixed order."""
    both = np.concatenate([pairs, pairs[:, ::-1]]) if len(pairs) else np.empty((0, 2), dtype=np.int64)
    return torch.from_numpy(np.unique(both[both[:, 0] != both[:, 1]], axis=0).reshape(-1, 2))


def _without(pairs: Tensor, others: Tensor, count: int) -> Tensor:
    """The pairs that are not among `others`."""
    return pairs[~torch.isin(pairs[:, 0] * count + pairs[:, 1], others[:, 0] * count + others[:, 1])]
