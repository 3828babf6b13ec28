"""certified: interval worst-case training, growth-bound penalties and synonym compactness, each switchable.

IBP + beta L_GBM + gamma L_SGBT + compactness x (how far the words of each synonym set lie apart in a trainable
embedding), with word dropout. What else makes up a training (initialiser, sharing, recipe) is chosen beside the
objective (`sgbt.training.method`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.core.errors import TrainingError
from sgbt.core.renamed import renamed
from sgbt.models import Network
from sgbt.models.word_sets import WordSets
from sgbt.threats import UNKNOWN, Substitutions
from sgbt.training.loop.steps import Step
from sgbt.training.objectives.growth import PENALTIES, Normaliser
from sgbt.training.objectives.ibp import IBP
from sgbt.training.objectives.objective import Objective, Parts, Reference, check_range

MEASURES = ("interval", "triplet")


@renamed(drawn_together="compactness", closeness="compactness_measure")
@dataclass(frozen=True)
class Certified(IBP):
    """IBP + beta L_GBM + gamma L_SGBT + synonym compactness."""

    name: ClassVar[str] = "certified"
    of_weights_alone: ClassVar[frozenset[str]] = PENALTIES
    of_networks: ClassVar[tuple[str, ...]] = ("beta", "gamma", "compactness")
    """Options that mean nothing for a linear model, which has no loose bound and no embedding."""

    beta: float = 0.01
    gamma: float = 0.01
    compactness: float = 0.1
    """Weight of synonym compactness."""
    compactness_measure: str = "interval"
    """How it is measured (`spread_of_synonyms`)."""
    normalisation: str = "initial"
    domain: str = "proven"
    word_dropout: float = 0.0
    """The share of words that training reads as unknown."""

    def __new__(cls, *given: Any, **options: Any) -> Any:
        """With options of earlier versions that are no part of the loss, the `TrainingMethod` that they describe."""
        if options:
            from sgbt.training.method import MOVED, method_of  # which is made of objectives

            if MOVED.keys() & options.keys():
                return method_of(cls.name, options)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compactness_measure not in MEASURES:
            raise TrainingError(
                expected=f"one of {', '.join(MEASURES)}",
                got=repr(self.compactness_measure),
                where="compactness_measure",
            )
        self.normaliser  # noqa: B018 - building it checks the options
        for option in ("beta", "gamma", "compactness"):
            check_range(option, getattr(self, option), 0)
        check_range("word_dropout", self.word_dropout, 0, 1)

    def for_linear_model(self) -> Objective:
        """As for IBP; options of networks are refused when they were set."""
        plain = Certified()
        for name in self.of_networks:
            if getattr(self, name) not in (getattr(plain, name), 0):
                raise TrainingError(
                    expected="an objective certified without penalties for a linear model",
                    got=f"{name} = {getattr(self, name)}",
                    remedy="leave it out: the worst case of a linear model is exact",
                )
        return super().for_linear_model()

    @property
    def normaliser(self) -> Normaliser:
        """How the penalties are scaled, and where they hold."""
        return Normaliser(self.normalisation, self.domain)

    def start(self, model: Network, step: Step | None = None) -> dict[str, float]:
        """The penalties' totals at initialisation."""
        if not self.beta and not self.gamma:
            return {}
        return self.normaliser.start(model, step, curved=bool(self.gamma))

    def parts(self, model: Network, step: Step, reference: Reference) -> Parts:
        """All parts that are switched on."""
        step = with_words_dropped(step, self.word_dropout)
        parts = super().parts(model, step, reference)
        if self.beta or self.gamma:
            parts |= self.normaliser.parts(model, step, reference, beta=self.beta, gamma=self.gamma)
        if self.compactness and (model.embedding.weight.requires_grad or model.embedding.projection):
            parts["compactness"] = self.compactness * spread_of_synonyms(model, step, self.compactness_measure)
        return parts


def spread_of_synonyms(model: Network, step: Step, measure: str) -> Tensor:
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
    if measure == "interval":
        taken = F.embedding(choice, vectors)
        upper = taken.masked_fill(~allowed, -torch.inf).amax(dim=1)
        return (upper - taken.masked_fill(~allowed, torch.inf).amin(dim=1)).mean()
    anchor, others = F.embedding(choice[:, 0], vectors), F.embedding(choice[:, 1:], vectors)
    strangers = anchor.roll(1, dims=0)  # sets are sorted by word, so the neighbour is an arbitrary other word
    near = (others - anchor.unsqueeze(1)).norm(dim=-1)
    far = (strangers - anchor).norm(dim=-1, keepdim=True)
    return F.relu(near - far + 1.0)[sets.allowed[several][:, 1:]].mean()


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
