"""Whether a row has values of the kinds that the fields of a dataclass are."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from sgbt.core.errors import DataError
from sgbt.core.fields import refuse_odd_fields


@dataclass
class Row:
    index: int
    share: float
    name: str
    right: bool = True
    budget: int | None = None
    tiers: tuple[str, ...] = ()
    times: dict[str, float] = field(default_factory=dict)
    anything: object = None


GOOD: dict[str, Any] = {"index": 1, "share": 0.5, "name": "a", "right": False, "budget": None, "tiers": ["ibp"]}
GOOD |= {"times": {"ibp": 1, "gbm": 0.5}, "anything": [{}], "no field": 3}


def test_what_fits_passes() -> None:
    refuse_odd_fields(Row, GOOD, kind=DataError, where="here")
    refuse_odd_fields(Row, GOOD | {"share": 1, "budget": 3}, kind=DataError, where="here")
    refuse_odd_fields(Row, {}, kind=DataError, where="here")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("index", "1", "a whole number as index, got '1' in here"),
        ("index", True, "a whole number as index, got True"),
        ("index", 1.0, "a whole number"),
        ("share", None, "a number as share, got None"),
        ("share", False, "a number"),
        ("name", 5, "a text as name, got 5"),
        ("right", 0, "true or false"),
        ("budget", "3", "a whole number or nothing as budget"),
        ("tiers", "ibp", "a list of texts"),
        ("tiers", ["ibp", 3], "a list of texts"),
        ("times", {"ibp": "1"}, "an object of numbers"),
        ("times", [], "an object of numbers"),
    ],
)
def test_what_does_not_is_named(name: str, value: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        refuse_odd_fields(Row, GOOD | {name: value}, kind=DataError, where="here")


@pytest.mark.parametrize("row", [[], "a", 5, None])
def test_what_is_no_object_is_refused(row: object) -> None:
    with pytest.raises(DataError, match="an object with the fields of Row"):
        refuse_odd_fields(Row, row, kind=DataError, where="here")


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(DataError) as caught:
        refuse_odd_fields(Row, {"index": "9" * 5000}, kind=DataError, where="here")
    assert len(str(caught.value)) < 200


def test_it_takes_microseconds() -> None:
    began = time.process_time()
    for _ in range(10_000):
        refuse_odd_fields(Row, GOOD, kind=DataError, where="here")
    assert time.process_time() - began < 1.0
