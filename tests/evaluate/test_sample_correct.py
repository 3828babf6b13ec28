"""`sample_correct`: attacks draw texts until the model has classified so many of them correctly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.evaluate.grids import TINY, tiny

from sgbt.attacks.rows import read_rows
from sgbt.core.errors import EvaluationError
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.store import ROWS, Store
from sgbt.evaluate.unit import ATTACK, PREDICT, units_of
from sgbt.evaluate.working import perform


def test_texts_are_drawn_until_so_many_are_classified_correctly(tmp_path: Path) -> None:
    grid = tiny(
        TINY.replace("sample = 10", "sample = 10\nsample_correct = true").replace('"pwws", "greedy"', '"greedy"')
    )
    store, materials = Store(tmp_path), Materials()
    units = [unit for unit in units_of(grid.cells("toy/cnn/standard/0"), materials) if unit.kind != "certify"]
    for unit in units:
        perform(unit, store, materials)
    predicted, attacked = (next(unit for unit in units if unit.kind == kind) for kind in (PREDICT, ATTACK))
    answers = [json.loads(line) for line in (store.place(predicted.key) / ROWS).read_text().splitlines()]
    correct = {row["index"] for row in answers if row["label"] == row["predicted"]}
    result = store.result(attacked.key)
    assert result is not None
    drawn = result["sample"]
    assert len(set(drawn)) == len(drawn) == len(read_rows(store.place(attacked.key) / ROWS))
    assert len(correct & set(drawn)) == 10


def test_all_texts_are_drawn_where_too_few_are_correct(tmp_path: Path) -> None:
    grid = tiny(
        TINY.replace("sample = 10", "sample = 31\nsample_correct = true").replace('"pwws", "greedy"', '"greedy"')
    )
    store, materials = Store(tmp_path), Materials()
    units = [unit for unit in units_of(grid.cells("toy/cnn/standard/0"), materials) if unit.kind in ("train", ATTACK)]
    for unit in units:
        perform(unit, store, materials)
    result = store.result(units[-1].key)
    assert result is not None
    assert result["sample"] == list(range(30))


def test_a_grid_without_it_has_the_units_it_had() -> None:
    materials = Materials()
    plain, asked = (
        {unit.key for unit in units_of(tiny(text).cells(), materials)}
        for text in (TINY, TINY.replace("sample = 10", "sample = 10\nsample_correct = false"))
    )
    assert plain == asked
    assert not any("correct" in str(unit.spec.get("sample")) for unit in units_of(tiny().cells(), materials))


def test_it_is_true_or_false() -> None:
    with pytest.raises(EvaluationError, match="true or false as sample_correct"):
        tiny(TINY.replace("sample = 10", "sample = 10\nsample_correct = 3"))
