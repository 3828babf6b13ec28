"""Which rows are proven again cannot be foreseen by who wrote them, and can be repeated by who drew them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import small

from sgbt.bridges import model_card
from sgbt.certify import Certificate, certify, verify
from sgbt.certify.rows import running
from sgbt.certify.rows.comparison import RowComparison, compared
from sgbt.models import TextClassifier, save_classifier

TEXTS = small.dataset(test=60).test
RUNS = 4


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    model = small.model_of("cnn", seed=1, pooling="mean")
    return TextClassifier(model, small.VOCABULARY, ("negative", "positive"), small.TABLE, max_length=16)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The indices of the rows that are proven again, as it happens."""
    found: list[int] = []

    def noting(row: Certificate, *rest: object) -> RowComparison:
        found.append(row.index)
        return compared(row, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "compared", noting)
    return found


def taken(drawn: list[int]) -> frozenset[int]:
    chosen = frozenset(drawn)
    drawn.clear()
    return chosen


def test_every_call_draws_anew_and_says_by_which_seed(classifier: TextClassifier, drawn: list[int]) -> None:
    rows = certify(classifier, TEXTS)
    found = []
    for _ in range(RUNS):
        seed = verify(classifier, rows, TEXTS, sample=10).seed
        chosen = taken(drawn)
        assert seed is not None
        assert verify(classifier, rows, TEXTS, sample=10, seed=seed).seed == seed
        assert taken(drawn) == chosen
        found.append(chosen)
    assert len(set(found)) > 1
    assert verify(classifier, rows, TEXTS).seed is None  # all are proven: nothing was drawn


def test_the_rows_that_certify_goes_on_with_do_not_decide_which_are_proven(
    classifier: TextClassifier, drawn: list[int], tmp_path: Path
) -> None:
    certify(classifier, TEXTS, out=tmp_path / "rows.jsonl")
    found = set()
    for _ in range(RUNS):
        certify(classifier, TEXTS, out=tmp_path / "rows.jsonl")
        found.add(taken(drawn))
    assert len(found) > 1
    assert {len(chosen) for chosen in found} == {running.RECHECKED}


def test_a_card_is_written_after_a_sample_that_nobody_can_foresee(
    classifier: TextClassifier, drawn: list[int], tmp_path: Path
) -> None:
    run = save_classifier(classifier, tmp_path / "run")
    certify(classifier, TEXTS, out=tmp_path / "rows.jsonl")
    found = set()
    for seed in (*[None] * RUNS, 7, 7):
        model_card(run, certificates=tmp_path / "rows.jsonl", texts=TEXTS, sample=10, seed=seed)
        found.add(taken(drawn))
    assert 2 < len(found) <= RUNS + 1
