"""What no row may say is refused where rows are read, in one sentence, whoever reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import small

from sgbt.certify import certify, read_rows
from sgbt.core.errors import CertificateError
from sgbt.models import TextClassifier

TEXTS = small.dataset(test=12).test
Row = dict[str, Any]


def classifier() -> TextClassifier:
    model = small.model_of("cnn", seed=1, pooling="mean")
    return TextClassifier(model, small.VOCABULARY, ("negative", "positive"), small.TABLE, max_length=16)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    certify(classifier(), TEXTS, out=tmp_path / "rows.jsonl")
    return tmp_path / "rows.jsonl"


def certified(row: Row) -> bool:
    return bool(row["verdict"] == "certified")


def any_row(row: Row) -> bool:
    return True


FAULTS: dict[str, tuple[Callable[[Row], bool], Row, str]] = {
    "a negative index": (any_row, {"index": -1}, "index of at least 0"),
    "an index that another row has": (any_row, {"index": 5}, "a second for text 5"),
    "a tier that does not exist": (certified, {"tier": "magic"}, "magic"),
    "a tier that was not tried": (certified, {"tier": "ibp", "tiers": ["crown"]}, "ibp"),
    "a proof by no tier": (certified, {"tier": "clean"}, "clean"),
    "a proof by the head": (certified, {"tier": "head"}, "head"),
    "tiers that do not exist": (any_row, {"tiers": ["ibp", "magic"]}, "magic"),
    "no tiers": (any_row, {"tiers": []}, "tiers"),
    "time that runs backwards": (any_row, {"milliseconds": {"ibp": -1.0}}, "milliseconds"),
    "time without end": (any_row, {"milliseconds": {"ibp": float("inf")}}, "milliseconds"),
    "time that is no number": (any_row, {"milliseconds": {"ibp": float("nan")}}, "milliseconds"),
    "time of a tier that does not exist": (any_row, {"milliseconds": {"magic": 1.0}}, "magic"),
    "a margin below 0": (certified, {"margin": -0.5}, "verdict"),
    "a margin below the slack": (certified, {"slack": 1e9}, "verdict"),
    "a negative budget": (any_row, {"max_substitutions": -1}, "max_substitutions"),
    "a negative scale": (any_row, {"scale": -1.0}, "scale"),
    "a scale above 1": (any_row, {"scale": 1.5}, "scale"),
    "a scale that is no number": (any_row, {"scale": float("nan")}, "scale"),
    "a negative radius": (any_row, {"radius": -1}, "radius"),
    "a radius of more words than can be replaced": (certified, {"radius": 99}, "radius"),
    "more words read than there are": (any_row, {"read": 99, "unknown": 0}, "words"),
    "more words replaceable than read": (certified, {"replaceable": 99}, "words"),
    "a negative label": (any_row, {"label": -1, "predicted": -1}, "label"),
}


def changed(file: Path, which: Callable[[Row], bool], change: Row) -> Path:
    """The file with its first such row changed."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    next(row for row in rows if which(row) and row["index"] != 5).update(change)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize("name", FAULTS)
def test_a_row_with_a_fault_is_refused_in_a_sentence(file: Path, name: str) -> None:
    changed(file, *FAULTS[name][:2])
    before = file.read_bytes()
    with pytest.raises(CertificateError, match=FAULTS[name][2]) as refusal:
        read_rows(file)
    assert str(file) in str(refusal.value)
    assert "\n" not in str(refusal.value)
    with pytest.raises(CertificateError, match=FAULTS[name][2]):
        certify(classifier(), TEXTS, out=file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("change", [{"max_substitutions": 3, "radius": 0}, {"scale": 0.5}])
def test_rows_of_two_questions_in_one_file_are_refused(file: Path, change: Row) -> None:
    changed(file, certified, change)
    (name,) = (name.replace("_", " ") for name in change if name != "radius")
    with pytest.raises(CertificateError, match=f"one {name} for all rows"):
        read_rows(file)


@pytest.mark.parametrize("content", [b"", b'{"index": 0, "verd'])
def test_a_file_without_a_whole_row_is_no_file_of_certificates(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(CertificateError, match="at least one certificate"):
        read_rows(tmp_path / "rows.jsonl")
    assert len(certify(classifier(), TEXTS, out=tmp_path / "rows.jsonl")) == len(TEXTS)  # what a kill left is continued
