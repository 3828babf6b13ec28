"""certified: the road to the highest certified accuracy, every part switchable.

Interval worst-case training (`IBP`) plus the growth-bound penalties plus substitutes drawn together in a trainable
embedding, or tied in it (`sgbt.training.tied_words`). A network can learn beside a linear model, of codes that
substitutions hardly touch or of single words (`sgbt.training.beside`), or begin as one (`sgbt.training.from_bag`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from sgbt.embeddings import EmbeddingTable
from sgbt.errors import TrainingError
from sgbt.lexicon.codes import code_matrix, community_codes
from sgbt.models import Bag, GramBag, LinearBag, Network
from sgbt.training.closeness import KINDS, closeness
from sgbt.training.ibp import IBP
from sgbt.training.objective import Corpus, Parts, Reference, Step, check_range
from sgbt.training.penalties import PENALTIES, Normaliser
from sgbt.training.tied_words import RESOLUTION, start_in_communities
from sgbt.training.word_dropout import with_words_dropped


@dataclass(frozen=True)
class Certified(IBP):
    """IBP + beta L_GBM + gamma L_SGBT + substitutes drawn together (+ a linear channel beside the network)."""

    name: ClassVar[str] = "certified"
    of_weights_alone: ClassVar[frozenset[str]] = PENALTIES

    beta: float = 0.01
    gamma: float = 0.01
    drawn_together: float = 0.1
    closeness: str = "interval"
    code_channel: bool = False
    """Whether the words learn beside a `GramBag`, and from communities."""
    channel_ending: int = 0
    """The option `ending` of that GramBag."""
    channel_resolutions: tuple[float, ...] = ()
    """Its option `more_resolutions`."""
    bag_channel: bool = False
    """Whether the words learn beside a `LinearBag` of single words that count by their places."""
    apart: bool = False
    """Whether the network learns as though no channel stood beside it; their logits are added all the same."""
    weighed: bool = False
    """Whether those logits are added by the weight that serves dev best (`sgbt.training.weighing`)."""
    from_communities: bool = False
    """Whether every word starts as the mean of its community: boxes are narrow there."""
    ties: tuple[float, ...] = ()
    """Resolutions of the communities whose words learn together (`sgbt.training.tied_words`); the whole table is then
    read, and every word starts as the mean of its community."""
    from_bag: bool = False
    """Whether a LinearBag of words alone is fitted first, and the network begins as that (`sgbt.training.from_bag`)."""
    normalisation: str = "initial"
    domain: str = "proven"
    word_dropout: float = 0.0
    """The share of words that training reads as unknown."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.closeness not in KINDS:
            raise TrainingError(wanted=f"one of {', '.join(KINDS)}", got=repr(self.closeness), where="closeness")
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
                wanted="ties as a list of numbers above 0, all finite", got=repr(self.ties), where="the objective"
            )
        chosen = [option for option in ("from_bag", "code_channel", "bag_channel") if getattr(self, option)]
        if len(chosen) > 1:
            raise TrainingError(
                wanted="one of from_bag, code_channel, bag_channel", got=" and ".join(chosen), where="the objective"
            )
        if (self.channel_ending or self.channel_resolutions) and not self.code_channel:
            raise TrainingError(
                wanted="code_channel with channel_ending or channel_resolutions",
                got="none",
                where="the objective",
                remedy="set code_channel",
            )
        if self.apart and not (self.code_channel or self.bag_channel):
            raise TrainingError(
                wanted="code_channel or bag_channel with apart", got="neither", where="the objective", remedy="set one"
            )
        if self.weighed and not self.apart:
            raise TrainingError(
                wanted="apart with weighed",
                got="a network that learns what its channel leaves, which has its weight already",
                where="the objective",
                remedy="set apart, or leave weighed out",
            )
        self.channel(2, None)  # building it checks the options

    @property
    def fits_first(self) -> bool:
        """Whether a linear model is fitted before the network."""
        return self.code_channel or self.bag_channel or self.from_bag

    def channel(self, classes: int, vectors: EmbeddingTable | None) -> Bag | None:
        """The linear model beside the network, still to be fitted; None where there is none."""
        if self.code_channel:
            return GramBag(classes=classes, ending=self.channel_ending, more_resolutions=self.channel_resolutions)
        return LinearBag(classes=classes, features=(), places=True, vectors=vectors) if self.bag_channel else None

    @property
    def normaliser(self) -> Normaliser:
        """How the penalties are scaled, and where they hold."""
        return Normaliser(self.normalisation, self.domain)

    def prepare(self, model: Network, corpus: Corpus) -> Network:
        """Let every word start as the mean of its community, where that is asked for."""
        if self.ties:
            start_in_communities(model, corpus)
        elif self.code_channel or self.from_communities:
            assert corpus.table is not None
            codes = community_codes(corpus.vocabulary, corpus.table, corpus.counts, resolution=RESOLUTION)
            weights = np.array([0, 0, *(corpus.counts.get(word, 0) for word in corpus.vocabulary.words)], dtype=float)
            means = code_matrix(model.embedding.weight.detach().cpu().numpy(), codes, weights)[codes]
            with torch.no_grad():
                model.embedding.weight.copy_(torch.from_numpy(means))
        return super().prepare(model, corpus)

    def start(self, model: Network, step: Step | None = None) -> dict[str, float]:
        """The penalties' totals at initialisation."""
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
