"""TextClassifier: a model together with everything it needs to read a text and name its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from sgbt.data import RaggedIds, Tokenizer, batches, tokenise
from sgbt.errors import ModelError
from sgbt.lexicon import SubstitutionTable, Vocabulary
from sgbt.models.blueprint import AnyModel

POSITIONS_PER_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class Predictions:
    """One row per text: the label's name, and the probability of every label."""

    labels: tuple[str, ...]
    probabilities: np.ndarray


@dataclass(frozen=True, eq=False)
class TextClassifier:
    """What a trained folder holds: model, vocabulary, label names, tokenizer, and the substitutions it was trained for.

    Texts are cut to their first `max_length` words; what stands behind is not read.
    """

    model: AnyModel
    vocabulary: Vocabulary
    label_names: tuple[str, ...]
    table: SubstitutionTable | None = None
    max_length: int = 512
    tokenizer: Tokenizer = field(default_factory=Tokenizer)

    def encode(self, texts: Sequence[str]) -> RaggedIds:
        """The ids of the words that the model reads."""
        if isinstance(texts, str):
            raise ModelError(wanted="a list of texts", got="a single text", remedy="put it into a list: [text]")
        tokenised = tokenise(texts, self.tokenizer, cache=False)
        return tokenised.as_ids_of(self.vocabulary.ids_of(tokenised.types)).cut(self.max_length)

    @torch.no_grad()
    def logits_of(self, ids: RaggedIds, *, batch_size: int = 256) -> Tensor:
        """Logits [texts, labels] in float64, in the order of the texts, in batches of like length; dropout is off."""
        training = self.model.training
        self.model.eval()
        result = torch.empty(len(ids), len(self.label_names), dtype=torch.float64)
        try:
            for batch in batches(ids, size=batch_size, words=POSITIONS_PER_BATCH):
                result[batch.rows] = self.model(batch.ids.to(self.device), batch.mask.to(self.device)).double().cpu()
        finally:
            self.model.train(training)
        return result

    @property
    def device(self) -> torch.device:
        """Where the model's weights are."""
        return next(self.model.parameters()).device

    def predict(self, texts: Sequence[str], *, batch_size: int = 256) -> Predictions:
        """The label and the probabilities of every text."""
        probabilities = self.logits_of(self.encode(texts), batch_size=batch_size).softmax(dim=1).numpy()
        return Predictions(tuple(self.label_names[row] for row in probabilities.argmax(axis=1)), probabilities)
