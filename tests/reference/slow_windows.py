"""The winning windows of words and of boxes around sets of words, window by window: the plain way."""

from __future__ import annotations

import torch
from torch import Tensor

Sets = list[list[list[Tensor]]]
"""For each text, for each of its words, the vectors that may stand there, its own first."""


def winning_windows(texts: Sets, weight: Tensor, epsilon: float) -> dict[str, Tensor]:
    """The greatest of sum_l W_l v_{t+l} over the windows of each text, [texts, filters]: of the words themselves, and
    of the lower and upper ends of boxes, drawn towards the words by `epsilon`.

    A text that is shorter than the filter is filled up with zeros.
    """
    filters, width, size = weight.shape
    found: dict[str, list[Tensor]] = {"itself": [], "least": [], "greatest": []}
    for text in texts:
        words = [torch.stack(choices) for choices in text]
        words += [weight.new_zeros(1, width)] * (size - len(words))
        windows: dict[str, list[Tensor]] = {name: [] for name in found}
        for start in range(len(words) - size + 1):
            ends = {name: weight.new_zeros(filters) for name in found}
            for offset in range(size):
                values = words[start + offset] @ weight[:, :, offset].T
                own = values[0]
                ends["itself"] = ends["itself"] + own
                ends["least"] = ends["least"] + own + epsilon * (values.amin(dim=0) - own)
                ends["greatest"] = ends["greatest"] + own + epsilon * (values.amax(dim=0) - own)
            for name, end in ends.items():
                windows[name].append(end)
        for name, each in windows.items():
            found[name].append(torch.stack(each).amax(dim=0))
    return {name: torch.stack(each) for name, each in found.items()}
