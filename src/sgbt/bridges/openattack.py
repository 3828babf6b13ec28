"""A trained folder as a victim of OpenAttack (Zeng et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.bridges.hub import classifier_of, imported
from sgbt.models import TextClassifier


class OpenAttackModel:
    """What OpenAttack asks of a victim: labels and probabilities. Gradients are not offered."""

    def __init__(self, classifier: TextClassifier) -> None:
        self.classifier = classifier

    @property
    def fingerprint(self) -> str:
        """The classifier's identity, which rows of attacks name."""
        return self.classifier.identity

    def get_pred(self, input_: Sequence[str]) -> np.ndarray:
        """The number of the likeliest label of each text."""
        labels: np.ndarray = self.classifier.predict(list(input_)).probabilities.argmax(axis=1)
        return labels

    def get_prob(self, input_: Sequence[str]) -> np.ndarray:
        """Probabilities, one row per text."""
        return self.classifier.predict(list(input_)).probabilities


def openattack_classifier(source: TextClassifier | str | Path) -> Any:
    """An `OpenAttack.Classifier` of a classifier or of the folder it was saved in.

    Pass it to `OpenAttack.AttackEval(attacker, openattack_classifier("runs/a"))`. OpenAttack chooses substitutes by its
    own rules, so what it breaks may lie outside the table that a certificate names.
    """
    base = imported("OpenAttack.victim.classifiers", package="OpenAttack").Classifier
    return type("SgbtClassifier", (OpenAttackModel, base), {})(classifier_of(source))
