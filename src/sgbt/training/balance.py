"""Classes of very different sizes: a sentence that says so, and weights in the loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

UNBALANCED = 4
"""From how many times as many texts as the rarest class the most frequent one has, classes are called unbalanced."""


def class_weights(labels: np.ndarray, classes: int) -> Tensor | None:
    """The weight of every class in the loss, the root of how rare it is; None where classes are balanced."""
    counts = np.bincount(labels, minlength=classes).clip(min=1)
    if counts.max() < UNBALANCED * counts.min():
        return None
    weights = np.sqrt(counts.mean() / counts)
    return torch.from_numpy(weights / weights.mean()).float()


def unbalanced(labels: np.ndarray, names: Sequence[str]) -> str | None:
    """One sentence about classes of very different sizes; None where they are alike."""
    if class_weights(labels, len(names)) is None:
        return None
    counts = np.bincount(labels, minlength=len(names))
    least, most = int(counts.argmin()), int(counts.argmax())
    fewest, largest = f"{counts[least]:,} texts of {names[least]!r}", f"{counts[most]:,} of {names[most]!r}"
    return f"classes are unbalanced, from {fewest} to {largest}"
