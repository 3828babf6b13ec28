"""Drawing substitutes together in a trainable embedding, so that the sets a certificate must cover are small."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.core.errors import TrainingError
from sgbt.models import Network
from sgbt.models.worst_case import WordSets
from sgbt.training.objective import Step

KINDS = ("interval", "triplet")


def closeness(model: Network, step: Step, kind: str) -> Tensor:
    """How far the words of each allowed set lie apart, the mean over the batch's sets that have more than one word.

    `interval`: the mean width of the box around the set, which is what interval propagation sees. `triplet`: the hinge
    that wants every substitute nearer to its word than another word of the batch is, by a margin of one.
    """
    choices = step.choices
    codes = model.embedding.encode(choices.ids.masked_fill(~step.mask.unsqueeze(-1), 0))
    sets = WordSets.of(codes, choices.allowed)
    several = sets.allowed.sum(dim=1) > 1
    if not bool(several.any()):
        return model.embedding.weight.sum() * 0.0
    vectors = model.embedding(sets.words)
    choice, allowed = sets.choices[several], sets.allowed[several].unsqueeze(-1)
    if kind == "interval":
        taken = F.embedding(choice, vectors)
        upper = taken.masked_fill(~allowed, -torch.inf).amax(dim=1)
        return (upper - taken.masked_fill(~allowed, torch.inf).amin(dim=1)).mean()
    if kind == "triplet":
        anchor, others = F.embedding(choice[:, 0], vectors), F.embedding(choice[:, 1:], vectors)
        strangers = anchor.roll(1, dims=0)  # sets are sorted by word, so the neighbour is an arbitrary other word
        near = (others - anchor.unsqueeze(1)).norm(dim=-1)
        far = (strangers - anchor).norm(dim=-1, keepdim=True)
        return F.relu(near - far + 1.0)[sets.allowed[several][:, 1:]].mean()
    raise TrainingError(expected=f"one of {', '.join(KINDS)}", got=repr(kind), where="the option closeness")
