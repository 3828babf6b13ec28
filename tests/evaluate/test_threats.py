"""`threats` in a grid: certificates against them, in the records and in the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluate.grids import TINY, tiny

from sgbt.certify import read_rows
from sgbt.certify.edits import ThreatCertificate
from sgbt.core.errors import EvaluationError, SgbtError
from sgbt.evaluate import gather
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.plan import plan_of
from sgbt.evaluate.store import ROWS, Store
from sgbt.evaluate.unit import THREAT, units_of
from sgbt.evaluate.working import perform
from sgbt.report.build import report_of_records

ASKED = TINY.replace("sample = 10", 'sample = 10\ncertify = 12\nthreats = ["delete:1:any", "toy:at_most=1 + typos:1"]')
NAMES = ("delete:1:any", "toy:at_most=1 + typos:1")


def test_certificates_against_threats_are_in_rows_records_and_report(tmp_path: Path) -> None:
    grid, store, materials = tiny(ASKED), Store(tmp_path), Materials()
    cells = grid.cells("toy/cnn/standard/0")
    plan_of(grid, cells, materials, given="tiny.toml").save(tmp_path)
    units = [unit for unit in units_of(cells, materials) if unit.kind in ("train", "predict", THREAT)]
    assert [unit.spec["threat"] for unit in units if unit.kind == THREAT] == list(NAMES)
    for unit in units:
        perform(unit, store, materials)
    (record,) = gather(store)
    for unit in units[2:]:
        rows = read_rows(store.place(unit.key) / ROWS, ThreatCertificate)
        figures = record.threats[unit.spec["threat"]]
        assert len(rows) == figures["certified_total"] == 12
        assert sum(row.stays for row in rows) == figures["certified_count"]
    text = report_of_records([record]).text(".md")
    assert "Certified against threats" in text
    assert all(name in text for name in NAMES)


def test_a_grid_without_threats_has_the_units_and_sections_that_it_had() -> None:
    assert not any(unit.kind == THREAT for unit in units_of(tiny().cells(), Materials()))


def test_a_threat_that_nobody_knows_is_refused_before_anything_runs() -> None:
    for odd in ("typo:1", "delete:-1", "nobody + typos:1"):
        with pytest.raises(SgbtError, match=r"--threat|--substitutions"):
            tiny(TINY.replace("sample = 10", f'sample = 10\nthreats = ["{odd}"]'))
    with pytest.raises(EvaluationError):
        tiny(TINY.replace("sample = 10", "sample = 10\nthreats = 3"))
