"""The grids that follow the paper's protocol in several readings, and the options they are made of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluate.grids import TINY, tiny

from sgbt.attacks.rows import read_rows
from sgbt.core.errors import EvaluationError
from sgbt.evaluate.gather import gather
from sgbt.evaluate.grid import Cell, DataSource
from sgbt.evaluate.grid_file import SHIPPED, load_grid
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.plan import plan_of
from sgbt.evaluate.store import ROWS, Store
from sgbt.evaluate.unit import ATTACK, TRAIN, cell_units, training_unit, units_of
from sgbt.evaluate.working import perform

READINGS = tuple(name for name in SHIPPED if name.startswith("reproduction-"))
WIDE, NARROW = "neighbours:nearest=3,distance=0.9", "neighbours:nearest=1,distance=0.9"
BOTH = f"{NARROW}+{WIDE}"
TWO_TABLES = TINY.replace(
    'attacks = ["pwws", "greedy"]',
    f'attacks = ["pwws", "greedy"]\nagainst = ["{NARROW}", "{WIDE}", "{BOTH}"]\n'
    f'attack_substitutions = {{ pwws = "{NARROW}", greedy = "{WIDE}" }}',
)


def test_there_is_a_grid_of_each_reading_and_a_small_one() -> None:
    readings = ("stated-set", "stated-attacks", "released-code", "ours")
    assert set(READINGS) == {f"reproduction-{name}{size}" for name in readings for size in ("", "-small")}


@pytest.mark.parametrize("name", READINGS)
def test_its_cells_train_and_are_measured_at_toy_size(name: str, tmp_path: Path) -> None:
    grid, store, materials = load_grid(name), Store(tmp_path), Materials()
    for label in ("standard", "sgbt-3"):
        cell = _at_toy_size(grid.cells(f"imdb/cnn/{label}/0")[0])
        for unit in cell_units(cell, materials):
            perform(unit, store, materials)
        plan_of(replace(grid, pairs=()), [cell], materials, given=name).save(store.folder)
        for record in gather(store):
            assert record.share("certified") is not None
            assert record.config.get("sample_correct")


@pytest.mark.parametrize("name", [name for name in READINGS if not name.endswith("-small")])
def test_methods_without_a_table_are_one_training_in_all_readings(name: str) -> None:
    materials = Materials()
    other = "reproduction-stated-set" if name != "reproduction-stated-set" else "reproduction-ours"
    for label in ("standard", "gbm", "sgbt-3", "sgbt-raw-1e-8"):
        cells = [load_grid(each).cells(f"imdb/cnn/{label}/0")[0] for each in (name, other)]
        assert len({cell.substitutions for cell in cells}) == 1
        toys = [_at_toy_size(cell, substitutions="toy") for cell in cells]
        assert len({training_unit(toy, materials).key for toy in toys}) == 1


def test_an_attack_works_with_its_own_table_and_is_compared_with_its_certificates(tmp_path: Path) -> None:
    grid, store, materials = tiny(TWO_TABLES), Store(tmp_path), Materials()
    cell = grid.cells("toy/cnn/standard/0")[0]
    units = cell_units(cell, materials)
    for unit in units:
        perform(unit, store, materials)
    plan_of(grid, [cell], materials, given="tiny").save(store.folder)
    records = {record.substitutions["name"]: record for record in gather(store)}
    assert {name: tuple(record.attacks) for name, record in records.items()} == {
        NARROW: ("pwws",), WIDE: ("greedy",), BOTH: (),
    }  # fmt: skip
    hashes = {name: materials.table(name, "toy").hash for name in records}
    assert hashes[NARROW] != hashes[WIDE]
    for name, record in records.items():
        assert record.substitutions["hash"] == hashes[name]
        assert record.share("certified") is not None
    for unit in units:
        if unit.kind == ATTACK:
            rows = read_rows(store.place(unit.key) / ROWS)
            assert {row.table_hash for row in rows} == {hashes[unit.means["against"]]}


def test_rows_of_another_table_are_refused(tmp_path: Path) -> None:
    grid, store, materials = tiny(TWO_TABLES), Store(tmp_path), Materials()
    cell = grid.cells("toy/cnn/standard/0")[0]
    for unit in cell_units(cell, materials):
        perform(unit, store, materials)
        if unit.kind == ATTACK:
            path = store.place(unit.key) / ROWS
            other = [json.loads(line) | {"table_hash": "0" * 64} for line in path.read_text().splitlines()]
            path.write_text("".join(json.dumps(row) + "\n" for row in other))
    plan_of(grid, [cell], materials, given="tiny").save(store.folder)
    with pytest.raises(EvaluationError, match="rows about the substitution table"):
        gather(store)


def test_the_table_of_an_attack_must_be_certified_too() -> None:
    with pytest.raises(EvaluationError, match="a table of `against`"):
        tiny(TWO_TABLES.replace(f'against = ["{NARROW}", ', "against = ["))


def test_a_table_that_is_misspelt_is_refused_before_anything_runs() -> None:
    with pytest.raises(EvaluationError, match="nearest"):
        tiny(TINY.replace('substitutions = "toy"', 'substitutions = "neighbours:nearst=3"'))


def test_last_words_are_what_is_attacked(tmp_path: Path) -> None:
    grid = tiny(TINY.replace("sample = 10", "sample = 10\nlast_words = 3").replace('"pwws", "greedy"', '"greedy"'))
    store, materials = Store(tmp_path), Materials()
    units = units_of(grid.cells("toy/cnn/standard/0"), materials)
    for unit in units:
        perform(unit, store, materials)
    rows = read_rows(store.place(units[-1].key) / ROWS)
    whole = materials.dataset(grid.datasets[0]).test.texts
    sample = (store.result(units[-1].key) or {})["sample"]
    for row in rows:
        assert whole[sample[row.index]].endswith(row.original)
        assert len(row.original.rstrip(".").split()) == 2  # the full stop is the third
    assert not any("last_words" in unit.spec for unit in units if unit.kind in (TRAIN, "predict"))


def test_a_grid_without_these_options_has_the_units_it_had() -> None:
    for unit in units_of(tiny().cells(), Materials()):
        assert "last_words" not in unit.spec


def _at_toy_size(cell: Cell, **changed: object) -> Cell:
    """The cell with the toy's texts and vectors, small enough for a test; its tables are those of vectors alone."""
    tables = {name: f"neighbours:nearest={place + 1},distance=0.9" for place, name in enumerate(cell.against)}
    model = {} if cell.model == "bilstm" else {"filters": 4, "kernel_sizes": [1, 2]}
    own: dict[str, object] = {
        "dataset": DataSource("toy", "imdb", test=12),
        "vectors": "toy",
        "substitutions": "toy",
        "against": tuple(tables.values()),
        "attack_tables": {attack: tables[name] for attack, name in cell.attack_tables.items()},
        "attack_options": {name: dict.fromkeys(options, 2) for name, options in cell.attack_options.items()},
        "model_options": {**cell.model_options, **model},
        "training": {**cell.training, "epochs": 1, "batch_size": 64, "minimum_count": 1},
        "sample": 4,
        "certify": 4,
    }
    return replace(cell, **(own | changed))  # type: ignore[arg-type]
