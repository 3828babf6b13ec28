"""Rows of attacks on disk: one for each text and method, and enough in each to make it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests import small

from sgbt.attacks import Greedy, attack, read_rows
from sgbt.core.errors import AttackError
from sgbt.models import TextClassifier

TEXTS = small.dataset(test=12).test


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    return TextClassifier(small.model_of("cnn", seed=1), small.VOCABULARY, ("negative", "positive"), small.TABLE)


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("settings", [None, "f" * 16])
def test_a_second_row_of_a_text_is_refused(classifier: TextClassifier, tmp_path: Path, settings: str | None) -> None:
    """Fifty copies of one unbroken text were once counted fifty times; another name of the settings hides nothing."""
    path = tmp_path / "rows.jsonl"
    attack(classifier, TEXTS, small.TABLE, method="greedy", out=path)
    row = lines_of(path)[3]
    with path.open("a") as stream:
        stream.write(json.dumps(row | ({} if settings is None else {"settings": settings})) + "\n")
    with pytest.raises(AttackError, match=rf"each row once.*second for text {row['index']} by greedy.*line 13"):
        read_rows(path)
    with pytest.raises(AttackError, match="second for text"):
        attack(classifier, TEXTS, small.TABLE, method="greedy", out=path)


def test_rows_of_other_texts_or_labels_are_not_gone_on_with(classifier: TextClassifier, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    attack(classifier, TEXTS, small.TABLE, method="greedy", out=path)
    before = path.read_bytes()
    labels = TEXTS.labels.tolist()
    for texts, numbers in ((TEXTS.texts[::-1], labels), (TEXTS.texts, [1 - label for label in labels])):
        with pytest.raises(AttackError, match=r"another text or label for text \d+ by greedy"):
            attack(classifier, texts, small.TABLE, labels=numbers, method="greedy", out=path)
    assert path.read_bytes() == before


def test_rows_carry_what_determines_them(classifier: TextClassifier, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    attack(classifier, TEXTS, small.TABLE, method="greedy", out=path, max_queries=40, max_changed=0.5, seed=3)
    assert {(row.seed, row.max_queries, tuple(row.options or ()), row.labelled) for row in read_rows(path)} == {
        (3, 40, ("max_changed",), True)
    }
    (by_value, *_) = attack(classifier, TEXTS.texts, small.TABLE, method=Greedy(max_changed=0.5))
    assert (by_value.options, by_value.labelled) == ({"max_changed": 0.5}, False)
    assert attack(classifier, TEXTS, small.TABLE, method="ensemble")[0].options == {}


def test_an_attack_of_somebodys_own_says_that_its_options_are_not_known(classifier: TextClassifier) -> None:
    class Own(Greedy):
        pass

    assert attack(classifier, TEXTS[:2], small.TABLE, method=Own())[0].options is None


def test_rows_of_earlier_versions_say_neither(classifier: TextClassifier, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    attack(classifier, TEXTS, small.TABLE, method="greedy", out=path)
    rows = [{name: value for name, value in row.items() if name not in ("options", "max_queries", "labelled")}
            for row in lines_of(path)]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert {(row.options, row.labelled) for row in read_rows(path)} == {(None, None)}
