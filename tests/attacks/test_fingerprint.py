"""Callables under attack: whoever keeps rows says which callable they are about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sgbt.attacks import CallableVictim, attack, read_rows
from sgbt.core.errors import AttackError
from sgbt.threats import SubstitutionTable

TABLE = SubstitutionTable({"good": ("nice", "fine"), "bad": ("poor",)})
TEXTS = ["a good film", "a bad film"]


def classify(texts: Sequence[str]) -> np.ndarray:
    good = np.array([0.2 + 0.6 * ("good" in text) for text in texts])
    return np.stack([1 - good, good], axis=1)


def another(texts: Sequence[str]) -> np.ndarray:
    return classify(texts)[:, ::-1]


class Remote:
    """A model behind an address that knows its version."""

    def __init__(self, fingerprint: object) -> None:
        self.fingerprint = fingerprint

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return classify(texts)


def test_rows_of_a_callable_without_a_fingerprint_are_refused_before_it_is_asked(tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        return classify(texts)

    with pytest.raises(AttackError, match="fingerprint") as caught:
        attack(counting, TEXTS, TABLE, out=tmp_path / "rows.jsonl")
    assert "fingerprint=" in caught.value.remedy
    assert not asked
    assert not (tmp_path / "rows.jsonl").exists()
    assert len(attack(counting, TEXTS, TABLE)) == 2  # without rows there is nothing to mix


def test_two_callables_never_share_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    first = attack(classify, TEXTS, TABLE, out=path, fingerprint="model 1")
    assert {row.model_hash for row in read_rows(path)} == {"model 1"}
    assert attack(classify, TEXTS, TABLE, out=path, fingerprint="model 1") == first
    with pytest.raises(AttackError, match="model hash model 2"):
        attack(another, TEXTS, TABLE, out=path, fingerprint="model 2")
    with pytest.raises(AttackError, match="model hash"):
        attack(CallableVictim(another, fingerprint="model 2"), TEXTS, TABLE, out=path)
    assert attack(CallableVictim(classify, fingerprint="model 1"), TEXTS, TABLE, out=path) == first


@pytest.mark.parametrize("given", ["version 3", lambda: "version 3"])
def test_a_callable_may_know_its_fingerprint(given: object, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    attack(Remote(given), TEXTS, TABLE, out=path)
    assert {row.model_hash for row in read_rows(path)} == {"version 3"}
    with pytest.raises(AttackError, match="model hash"):
        attack(Remote("version 4"), TEXTS, TABLE, out=path)
    with pytest.raises(AttackError, match="model hash version 5"):  # what is passed goes before
        attack(Remote(given), TEXTS, TABLE, out=path, fingerprint="version 5")


@pytest.mark.parametrize("wrong", ["", 7, b"x"])
def test_a_fingerprint_is_a_text(wrong: object, tmp_path: Path) -> None:
    with pytest.raises(AttackError, match="fingerprint"):
        attack(classify, TEXTS, TABLE, out=tmp_path / "rows.jsonl", fingerprint=wrong)  # type: ignore[arg-type]
    with pytest.raises(AttackError, match="fingerprint"):
        attack(Remote(wrong), TEXTS, TABLE, out=tmp_path / "rows.jsonl")
    with pytest.raises(AttackError, match="fingerprint"):
        CallableVictim(classify, fingerprint=wrong)  # type: ignore[arg-type]
