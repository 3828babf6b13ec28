"""TextClassifier: a model together with everything it needs to read a text and name its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from sgbt.core.errors import DataError, ModelError
from sgbt.data import RaggedIds, Tokenizer, batches
from sgbt.data.dataset import odd_label_names
from sgbt.data.tokenised import Pieces
from sgbt.models.blueprint import parts_of, words_read_by
from sgbt.models.deciding import Twin, decides_in_float64, logits_unpadded
from sgbt.models.identity import identity_of
from sgbt.threats import SubstitutionTable, Vocabulary

if TYPE_CHECKING:
    from sgbt.models import AnyModel

POSITIONS_PER_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class Predictions:
    """One row per text: the label's name, the probability of every label, and how many words the text has."""

    labels: tuple[str, ...]
    probabilities: np.ndarray
    words: np.ndarray


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
    _twin: Twin | None = field(default=None, init=False, repr=False)
    _pieces: Pieces | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        _check_kinds(self)
        object.__setattr__(self, "label_names", tuple(self.label_names))
        if odd := odd_label_names(self.label_names):
            raise ModelError(
                expected="label names that are texts, not empty and distinct", got=odd, where="label_names"
            )
        for part in parts_of(self.model):
            _check_count("one name for each class of the model", part.config.classes, len(self.label_names))
            _check_count(
                "a vocabulary with one word for each row of the model", words_read_by(part), len(self.vocabulary)
            )

    @property
    def identity(self) -> str:
        """One hash over everything that decides an answer; weights are read anew each time, for they may change."""
        return identity_of(self).hash

    def encode(self, texts: Sequence[str]) -> RaggedIds:
        """The ids of the words that the model reads."""
        return self._whole(texts).cut(self.max_length)

    def _whole(self, texts: Sequence[str]) -> RaggedIds:
        """The ids of all words, those behind the first `max_length` as well."""
        if isinstance(texts, str):
            raise ModelError(expected="a list of texts", got="a single text", remedy="put it into a list: [text]")
        if (pieces := self._pieces) is None:
            pieces = Pieces(self.tokenizer, self.vocabulary.id_of)
            object.__setattr__(self, "_pieces", pieces)
        return pieces.ids_of(texts)

    def numbers_of(self, labels: Sequence[str]) -> list[int]:
        """Labels of a dataset, numbered as this model numbers them."""
        places = {name: place for place, name in enumerate(self.label_names)}
        if odd := [label for label in labels if label not in places]:
            raise DataError(
                expected=f"the model's labels {', '.join(self.label_names)}",
                got=repr(odd[0]),
                where="the data",
                remedy="name the label column with --label, or take data with the labels that the model was trained on",
            )
        return [places[label] for label in labels]

    @torch.no_grad()
    def logits_of(self, ids: RaggedIds, *, batch_size: int = 256) -> Tensor:
        """Logits [texts, labels] in float64, in the order of the texts, in batches of like length; dropout is off."""
        model = self.deciding
        training = model.training
        model.eval()
        result = torch.empty(len(ids), len(self.label_names), dtype=torch.float64)
        try:
            for rows in ids.parts(POSITIONS_PER_BATCH):
                logits = logits_unpadded(model, ids.of_rows(rows))
                if logits is None:
                    break
                result[rows] = logits
            else:
                return result
            for batch in batches(ids, size=batch_size, words=POSITIONS_PER_BATCH):
                result[batch.rows] = model(batch.ids.to(self.device), batch.mask.to(self.device)).double().cpu()
        finally:
            model.train(training)
        return result

    @property
    def deciding(self) -> AnyModel:
        """The model by which labels are decided: the model itself, or its twin in float64 (`sgbt.models.deciding`)."""
        if not decides_in_float64(self.model):
            return self.model
        twin = self._twin
        if twin is None or not twin.still_of(self.model):
            twin = Twin.of(self.model)
            object.__setattr__(self, "_twin", twin)
        return twin.model

    @property
    def device(self) -> torch.device:
        """Where the model's weights are."""
        return next(self.model.parameters()).device

    def predict(self, texts: Sequence[str], *, batch_size: int = 256) -> Predictions:
        """The label and the probabilities of every text."""
        whole = self._whole(texts)
        logits = self.logits_of(whole.cut(self.max_length), batch_size=batch_size)
        probabilities = logits.softmax(dim=1).numpy()
        labels = tuple(self.label_names[row] for row in probabilities.argmax(axis=1))
        return Predictions(labels, probabilities, whole.lengths)


def _check_kinds(given: TextClassifier) -> None:
    """That every part is of its kind: what follows relies on it."""
    whole = type(given.max_length) is int and 1 <= given.max_length < 1 << 31
    for fits, expected, value in (
        (isinstance(given.vocabulary, Vocabulary), "a Vocabulary", given.vocabulary),
        (isinstance(given.tokenizer, Tokenizer), "a Tokenizer", given.tokenizer),
        (isinstance(given.label_names, tuple | list), "a list of label names", given.label_names),
        (whole, "max_length as a whole number from 1 to 2,147,483,647", given.max_length),
    ):
        if not fits:
            raise ModelError(expected=expected, got=repr(value)[:60], where="a TextClassifier")


def _check_count(what: str, count: int, actual: int) -> None:
    if count != actual:
        raise ModelError(expected=f"{what} ({count:,})", got=f"{actual:,}", where="a TextClassifier")
