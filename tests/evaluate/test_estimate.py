"""The estimate of a benchmark tries every kind of work once, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluate.grids import TINY, tiny

import sgbt.evaluate.estimate as module
from sgbt.core.errors import SgbtWarning
from sgbt.evaluate.estimate import estimate
from sgbt.evaluate.materials import Materials
from sgbt.resources import CATALOGUE, UnavailableError
from sgbt.threats import SubstitutionTable

METHODS = """[[methods]]
objective = "standard"
[[methods]]
objective = "standard"
label = "{label}"
training = {options}
[training]"""


@pytest.mark.parametrize(
    ("options", "tried"),
    [
        ("{ learning_rate = 0.01, weight_decay = 0.1, learning_rate_decay = 2.0, epochs = 4 }", 1),
        ("{ batch_size = 8 }", 2),
    ],
)
def test_trainings_that_differ_in_what_is_learned_alone_are_tried_once(
    options: str, tried: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, end = TINY.index("[[methods]]"), TINY.index("[training]") + len("[training]")
    text = TINY[:begin] + METHODS.format(label="other", options=options) + TINY[end : TINY.index("[[pairs]]")]
    trained: list[str] = []
    plain = module._train_briefly

    def counted(cell, *others):
        trained.append(cell.method.label)
        return plain(cell, *others)

    monkeypatch.setattr(module, "_train_briefly", counted)
    found = estimate(tiny(text), tmp_path)
    assert len(trained) == tried
    trainings = [cost for cost in found.units if cost.unit.kind == "train"]
    assert len(trainings) == 2
    if tried == 1:  # twice the epochs take twice the time
        assert trainings[1].seconds == pytest.approx(2 * trainings[0].seconds)


def test_without_the_published_list_times_are_those_of_the_table_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def table(name: str, *_: object, **__: object) -> SubstitutionTable:
        asked.append(name)
        if "counter_fitted" in name:
            raise UnavailableError(CATALOGUE["counter_fitted"], ())
        return SubstitutionTable({"film": ("movie",)}, "made here")

    monkeypatch.setattr("sgbt.evaluate.materials.table_named", table)
    with pytest.warns(SgbtWarning, match="counter_fitted:nearest=4 cannot be had here: .* the grid itself needs"):
        assert module.EstimateMaterials(None).table("counter_fitted:nearest=4", "glove").name == "made here"
    assert asked == ["counter_fitted:nearest=4", "counter_fit:nearest=4"]
    with pytest.raises(UnavailableError):
        Materials(None).table("counter_fitted", "glove")
