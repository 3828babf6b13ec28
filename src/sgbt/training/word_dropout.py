"""Word dropout: in training, some words are read as the unknown word, so that no single word is relied upon."""

from __future__ import annotations

from dataclasses import replace

import torch

from sgbt.threats import Substitutions
from sgbt.threats.vocabulary import UNKNOWN
from sgbt.training.objective import Step


def with_words_dropped(step: Step, share: float) -> Step:
    """The batch with each real word unknown with probability `share`; an unknown word has no substitutes here.

    Drawn from torch's own generator, which the loop seeds for every step: a resumed run drops the same words.
    """
    if not share:
        return step
    dropped = (torch.rand(step.ids.shape, device=step.ids.device) < share) & step.mask
    choices = step.choices
    allowed = choices.allowed.clone()
    allowed[..., 1:] &= ~dropped.unsqueeze(-1)
    ids = choices.ids.masked_fill(dropped.unsqueeze(-1), UNKNOWN)
    return replace(step, ids=step.ids.masked_fill(dropped, UNKNOWN), substitutions=Substitutions(ids, allowed))
