"""certified: interval worst-case training, growth-bound penalties and synonym compactness, each switchable.

The objective itself is `IBP` + beta L_GBM + gamma L_SGBT + the width of synonym sets in a trainable embedding
(`sgbt.training.closeness`), with word dropout. Its other options choose, by the names that grids and configuration
files use, what else makes up a training: the start of the weights (`sgbt.training.initialisers`), parameter sharing
(`sgbt.training.ties`) and the recipe (`sgbt.training.recipes`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from sgbt.core.errors import TrainingError
from sgbt.models import BagOfNgramsConfig, BagOfWordsConfig, Network
from sgbt.training.closeness import KINDS, closeness
from sgbt.training.ibp import IBP
from sgbt.training.initialisers import average_in_clusters, start_in_clusters
from sgbt.training.objective import Corpus, Objective, Parts, Reference, Step, check_range
from sgbt.training.penalties import PENALTIES, Normaliser
from sgbt.training.recipes import LateFusion, Recipe, Residual, WarmStart, recipe_of
from sgbt.training.word_dropout import with_words_dropped


@dataclass(frozen=True)
class Certified(IBP):
    """IBP + beta L_GBM + gamma L_SGBT + synonym compactness."""

    name: ClassVar[str] = "certified"
    of_weights_alone: ClassVar[frozenset[str]] = PENALTIES
    of_networks: ClassVar[tuple[str, ...]] = (
        "beta",
        "gamma",
        "drawn_together",
        "code_channel",
        "bag_channel",
        "from_bag",
        "ties",
    )
    """Options that mean nothing for a linear model, which has no loose bound and no embedding."""

    beta: float = 0.01
    gamma: float = 0.01
    drawn_together: float = 0.1
    """Weight of synonym compactness."""
    closeness: str = "interval"
    """How compactness is measured."""
    code_channel: bool = False
    """Recipe: a `BagOfNgrams` is added to the network; words start as cluster means."""
    channel_ending: int = 0
    """The option `ending` of that BagOfNgrams."""
    channel_resolutions: tuple[float, ...] = ()
    """Its option `more_resolutions`."""
    bag_channel: bool = False
    """Recipe: a `BagOfWords` of single words with positional weights is added to the network."""
    apart: bool = False
    """Whether the two are trained independently (late fusion) rather than the network on the residual."""
    weighed: bool = False
    """Whether late fusion chooses the ensemble weight on dev."""
    from_communities: bool = False
    """Initialiser: every word starts as the mean of its synonym cluster, where boxes are narrow."""
    ties: tuple[float, ...] = ()
    """Parameter sharing: resolutions of the clusters whose words are tied; the whole table is then read, and every word
    starts as the mean of its cluster."""
    from_bag: bool = False
    """Recipe: the network starts as a BagOfWords that is fitted first."""
    normalisation: str = "initial"
    domain: str = "proven"
    word_dropout: float = 0.0
    """The share of words that training reads as unknown."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.closeness not in KINDS:
            raise TrainingError(expected=f"one of {', '.join(KINDS)}", got=repr(self.closeness), where="closeness")
        self.normaliser  # noqa: B018 - building it checks the options
        for option in ("beta", "gamma", "drawn_together"):
            check_range(option, getattr(self, option), 0)
        check_range("word_dropout", self.word_dropout, 0, 1)
        for option in ("channel_resolutions", "ties"):
            if isinstance(given := getattr(self, option), list):  # JSON and TOML have lists
                object.__setattr__(self, option, tuple(given))
        listed = self.ties if isinstance(self.ties, tuple) else (None,)
        if not all(type(each) in (int, float) and 0 < each < math.inf for each in listed):
            raise TrainingError(
                expected="ties as a list of numbers above 0, all finite", got=repr(self.ties), where="the objective"
            )
        self.recipe  # noqa: B018 - building it checks the options

    @property
    def recipe(self) -> Recipe:
        """The recipe that the options choose; options that contradict each other are refused."""
        chosen = [option for option in ("from_bag", "code_channel", "bag_channel") if getattr(self, option)]
        if len(chosen) > 1:
            raise _refused("one of from_bag, code_channel, bag_channel", " and ".join(chosen), "keep one")
        if (self.channel_ending or self.channel_resolutions) and not self.code_channel:
            raise _refused("code_channel with channel_ending or channel_resolutions", "none", "set code_channel")
        if self.apart and not (self.code_channel or self.bag_channel):
            raise _refused("code_channel or bag_channel with apart", "neither", "set one")
        if self.weighed and not self.apart:
            raise _refused(
                "apart with weighed",
                "a network that is trained on the residual, whose weight is one",
                "set apart, or leave weighed out",
            )
        if not chosen:
            return Recipe()
        if self.from_bag:
            return WarmStart()
        part: BagOfNgramsConfig | BagOfWordsConfig = BagOfWordsConfig(features=(), places=True)
        if self.code_channel:
            part = BagOfNgramsConfig(ending=self.channel_ending, more_resolutions=self.channel_resolutions)
        return LateFusion(part, weighted=self.weighed) if self.apart else Residual(part)

    @property
    def tied_at(self) -> tuple[float, ...]:
        """Resolutions of the clusters whose words share parameters."""
        return self.ties

    def for_linear_model(self) -> Objective:
        """As for IBP; options of networks are refused when they were set."""
        plain = Certified()
        for name in self.of_networks:
            if getattr(self, name) not in (getattr(plain, name), 0):
                raise TrainingError(
                    expected="an objective certified without growth penalties, ties or channels for a linear model",
                    got=f"{name} = {getattr(self, name)}",
                    remedy="leave it out: the worst case of a linear model is exact",
                )
        return super().for_linear_model()

    @property
    def normaliser(self) -> Normaliser:
        """How the penalties are scaled, and where they hold."""
        return Normaliser(self.normalisation, self.domain)

    def prepare(self, model: Network, corpus: Corpus) -> Network:
        """Let every word start as the mean of its cluster, where that is chosen."""
        if self.ties:
            start_in_clusters(model, corpus)
        elif self.code_channel or self.from_communities:
            average_in_clusters(model, corpus)
        return super().prepare(model, corpus)

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
        if self.drawn_together and (model.embedding.weight.requires_grad or model.embedding.projection):
            parts["drawn_together"] = self.drawn_together * closeness(model, step, self.closeness)
        return parts


def _refused(expected: str, got: str, remedy: str) -> TrainingError:
    return TrainingError(expected=expected, got=got, where="the objective", remedy=remedy)


@recipe_of.register
def _of_certified(objective: Certified) -> Recipe:
    return objective.recipe
