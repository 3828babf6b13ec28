"""Models that were trained for a threat: it is shown, can be chosen and is proven, without substitutes too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sgbt.data import Split
from sgbt.models import save_classifier
from sgbt.serve.tasks import Desk
from sgbt.threats import SubstitutionTable, Threat
from sgbt.training.threat_bag import ThreatFit, fit_bag_of_words

TRAIN = Split("train", ("a good film", "a fine film", "a bad film", "a poor film"), np.array([1, 1, 0, 0]))


@pytest.mark.parametrize(
    ("table", "shown"), [(None, "typos:1"), (SubstitutionTable({"good": ("fine",)}, "small"), "model + typos:1")]
)
def test_the_threat_of_training_is_shown_and_proven(
    table: SubstitutionTable | None, shown: str, tmp_path: Path
) -> None:
    threat = Threat.typos(1) if table is None else Threat.substitutions(table) | Threat.typos(1)
    model = fit_bag_of_words(TRAIN, ("bad", "good"), threat, fit=ThreatFit(epochs=30, minimum_count=1))
    note = {"threat": threat.name, "objective_options": {"threat": "typos:1"}}
    desk = Desk.open([str(save_classifier(model, tmp_path / "run", training=note))])
    (card,) = desk.describe()
    assert card["threat"] == shown
    proof = desk.answer({"do": "threat", "text": "a good film", "model": None, "threat": shown}, lambda *done: None)
    assert proof["edits"] > 10
    assert proof["label"] == "good"


def test_models_trained_for_substitutes_alone_say_so(runs: list[Path]) -> None:
    assert [card["threat"] for card in Desk.open(list(map(str, runs))).describe()] == ["model", "model"]
