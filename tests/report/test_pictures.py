"""The pictures of the documents are those of the rows in results/."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from types import ModuleType

import pytest
from tests.conftest import ROOT

from sgbt.report.charts import picture

AGAIN = "run python benchmarks/pictures.py"
ASSETS = ROOT / "docs" / "assets"


def pictures() -> ModuleType:
    sys.path.append(str(ROOT / "benchmarks"))  # where its own modules are
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "benchmarks" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_photograph_of_a_report_is_of_todays_rows() -> None:
    drawn = pictures()
    of_rows = hashlib.sha256(drawn.REPORTED.read_bytes()).hexdigest()
    png = (ASSETS / "report.png").read_bytes()
    assert drawn.with_note(png[:33], of_rows) == png[: 33 + 12 + 5 + 64], AGAIN


@pytest.mark.parametrize("name", sorted(pictures().PICTURES))
def test_a_picture_is_that_of_the_rows(name: str) -> None:
    same = (ASSETS / name).read_text(encoding="utf-8") == picture(pictures().PICTURES[name]())
    assert same, AGAIN
