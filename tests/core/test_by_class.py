"""Figures by class, and the warning about a model that has one answer for everything."""

from __future__ import annotations

import json

import pytest
from tests.report.records import record

from sgbt.core.errors import EvaluationError
from sgbt.core.shares import ByClass, Share
from sgbt.evaluate import RunRecord

NAMES = ("negative", "positive", "mixed")


def test_every_class_has_its_texts_its_answers_and_its_proofs() -> None:
    pairs = [(0, 0), (0, 1), (0, 0), (1, 1), (1, 1), (2, 1)]
    found = ByClass.of(NAMES, pairs, proven=[(0, True), (0, False), (1, True), (2, False)])
    negative, positive, mixed = found.classes
    assert (negative.recall, negative.precision, negative.certified) == (Share(2, 3), Share(2, 2), Share(1, 2))
    assert (positive.recall, positive.precision, positive.certified) == (Share(2, 2), Share(2, 4), Share(1, 1))
    assert (mixed.recall, mixed.precision, mixed.certified) == (Share(0, 1), Share(0, 0), Share(0, 1))
    assert sum(each.recall.total for each in found.classes) == sum(each.precision.total for each in found.classes) == 6
    assert found.warning is None


def test_without_proofs_nothing_is_said_of_them() -> None:
    assert all(each.certified is None for each in ByClass.of(NAMES, [(0, 0)]).classes)


@pytest.mark.parametrize(
    ("pairs", "warned"),
    [
        ([(0, 1)] * 10 + [(1, 1)] * 10, True),
        ([(0, 1)] * 9 + [(1, 1)] * 10, False),  # too few texts to say
        ([(0, 1)] * 20 + [(1, 0)], False),  # one answer is another
        ([(1, 1)] * 30, False),  # there was only one class to find
        ([(0, 1)] * 30, True),  # there was one class, and not the one answered
        ([], False),
    ],
)
def test_a_model_with_one_answer_for_everything_is_named(pairs: list[tuple[int, int]], warned: bool) -> None:
    found = ByClass.of(NAMES[:2], pairs)
    assert (found.warning is not None) == warned
    if found.warning:
        assert "'positive'" in found.warning
        assert f"{len(pairs):,}" in found.warning


def test_without_labels_one_answer_is_named_all_the_same() -> None:
    assert ByClass.of(NAMES, [(1, 1)] * 20, labelled=False).warning
    assert not ByClass.of(NAMES, [(1, 1)] * 20 + [(0, 0)], labelled=False).warning


def test_json_keeps_everything() -> None:
    found = ByClass.of(NAMES, [(0, 1)] * 30 + [(1, 1)] * 5, proven=[(0, False)])
    assert ByClass.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize(
    "change",
    [
        {"right": 4},
        {"right": -1},
        {"texts": "3"},
        {"answered": None},
        {"label": 7},
        {"certified": 2},
        {"certified_texts": True},
    ],
)
def test_counts_that_cannot_be_are_refused(change: dict[str, object]) -> None:
    made = ByClass.of(NAMES[:1], [(0, 0)] * 3, proven=[(0, True)]).to_json()
    made["classes"][0] |= change
    with pytest.raises(ValueError, match=r"of|label"):
        ByClass.from_json(made)
    line = json.loads(record().to_line())
    line["metrics"]["by_class"] = made
    with pytest.raises(EvaluationError, match="by class"):
        RunRecord.from_row(line)


@pytest.mark.parametrize("made", [5, {}, {"classes": 5, "labelled": True}, {"classes": [], "labelled": 1}])
def test_a_record_with_something_else_is_refused(made: object) -> None:
    line = json.loads(record().to_line())
    line["metrics"]["by_class"] = made
    with pytest.raises(EvaluationError, match="by class"):
        RunRecord.from_row(line)
