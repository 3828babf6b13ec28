"""A trained folder as a model of TextAttack (Morris et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.bridges.hub import classifier_of, imported
from sgbt.models import TextClassifier


class TextAttackModel:
    """What TextAttack asks of a model: scores for a list of texts, and its tokens. Gradients are not offered."""

    def __init__(self, classifier: TextClassifier) -> None:
        self.classifier = classifier
        self.model = classifier.model

    def __call__(self, text_input_list: Sequence[str], **_: Any) -> np.ndarray:
        """Probabilities, one row per text."""
        return self.classifier.predict(list(text_input_list)).probabilities

    @property
    def fingerprint(self) -> str:
        """The classifier's identity, which rows of attacks name."""
        return self.classifier.identity

    def _tokenize(self, inputs: Sequence[str]) -> list[list[str]]:
        return [list(self.classifier.tokenizer.words(text)) for text in inputs]


def textattack_wrapper(source: TextClassifier | str | Path) -> Any:
    """A `textattack.models.wrappers.ModelWrapper` of a classifier or of the folder it was saved in.

    Pass it to a recipe, as in `PWWSRen2019.build(textattack_wrapper("runs/a"))`. TextAttack chooses substitutes by its
    own rules, so what it breaks may lie outside the table that a certificate names.
    """
    base = imported("textattack.models.wrappers", package="textattack").ModelWrapper
    return type("SgbtModelWrapper", (TextAttackModel, base), {})(classifier_of(source))
