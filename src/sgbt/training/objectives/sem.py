"""sem (Wang et al. 2021, "Natural Language Adversarial Defense through Synonym Encoding").

Synonyms are clustered and every cluster is read as one word, its most frequent one; training is standard. A
substitution within a cluster changes nothing; one across clusters is what remains to attack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from sgbt.models import Network
from sgbt.threats.codes import synonym_codes
from sgbt.training.loop.steps import Corpus
from sgbt.training.objectives.objective import Objective


@dataclass(frozen=True)
class SEM(Objective):
    """Standard training behind a synonym encoder."""

    name: ClassVar[str] = "sem"
    needs_substitutions: ClassVar[bool] = True

    def prepare(self, model: Network, corpus: Corpus) -> Network:
        """Put the encoder before the embedding."""
        assert corpus.table is not None
        codes = synonym_codes(corpus.vocabulary, corpus.table, corpus.counts)
        model.embedding.codes = torch.from_numpy(codes).to(model.embedding.weight.device)
        return model
