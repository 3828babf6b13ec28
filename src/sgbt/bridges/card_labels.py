"""Where the labels of rows come from: a share of the model's own answers is no accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from sgbt.attacks import AttackResult
from sgbt.certify import Certificate


class Labels(StrEnum):
    """What is known of the labels, as a card says it."""

    COMPARED = "Labels are those of the data, compared row by row."
    STATED = "Labels are those of the data as the rows state them; they were not compared with it."
    OWN = (
        "The texts have no labels of their own: the labels are the model's own answers. These figures say which answers"
        " stay; how many are right is not known."
    )
    UNKNOWN = (
        "The rows, of an earlier version, do not say where their labels come from, and no data was given to compare"
        " them with: if they are the model's own answers, every text counts as right."
    )

    @staticmethod
    def of(rows: Sequence[Certificate | AttackResult], *, compared: bool) -> Labels:
        """What rows say of their labels, unless these were compared with the data."""
        said = {row.labelled for row in rows}
        if compared:
            return Labels.COMPARED
        if False in said:
            return Labels.OWN
        return Labels.UNKNOWN if None in said else Labels.STATED
