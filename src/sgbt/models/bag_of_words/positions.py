"""How much a word counts by where it stands: a factor for its distance from each end of the text.

Reviews say what they think in their first words and, above all, in their last. No substitution moves a word, so such
factors are the same for every version of a text: with them a worst case is as exact as without.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

EDGES = (5, 10, 20, 40, 80, 160, 320)
"""Distances from an end of the text, in words, at which another factor begins."""
NEARNESSES = len(EDGES) + 1
ZONES = NEARNESSES**2
"""A zone is a pair: how near the beginning, how near the end."""
LARGEST_EXPONENT = 100.0
"""Numbers of a stored model stay within it: then the squares of factors neither overflow nor vanish in float64."""


class Places(nn.Module):
    """The factor of a word is exp(start[nearness to the beginning] + end[nearness to the end]), divided by the root of
    the sum of their squares over the text. Zeros are where they start: then it is 1 / sqrt(n) for each of n words.

    So factors say what counts more than what, and not how large a logit is; and they add up to sqrt(n) at most.
    """

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(NEARNESSES))
        self.end = nn.Parameter(torch.zeros(NEARNESSES))

    def reset_parameters(self) -> None:
        """All places count the same."""
        nn.init.zeros_(self.start)
        nn.init.zeros_(self.end)

    def by_zone(self) -> Tensor:
        """How much a word of each zone counts, before the division; in float64, [ZONES]."""
        return (self.start.double().unsqueeze(1) + self.end.double()).exp().flatten()

    def factors_of(self, words: Tensor) -> Tensor:
        """The factor of each zone in texts that have so many words in them, [texts, ZONES]."""
        own = self.by_zone()
        squares = words.double() @ own**2
        return own / torch.where(squares > 0, squares, 1.0).sqrt().unsqueeze(1)  # one without words adds nothing

    def forward(self, mask: Tensor) -> Tensor:
        """The factor of every position of [texts, words], zero where there is no word."""
        position, length = mask.cumsum(dim=1) - 1, mask.sum(dim=1, keepdim=True)
        zones = zone_of(position.clamp(min=0), length.clamp(min=1))
        counts = mask.new_zeros(len(mask), ZONES, dtype=torch.float64).scatter_add(1, zones, mask.double())
        return self.factors_of(counts).gather(1, zones) * mask


def zone_of(position: Tensor, length: Tensor) -> Tensor:
    """The zone of words that stand at such positions of texts of such lengths."""
    edges = torch.tensor(EDGES, device=position.device)
    nearness = [torch.bucketize(far, edges, right=True) for far in (position, length - 1 - position)]
    return nearness[0] * NEARNESSES + nearness[1]
