"""Pipelines in the form that transformers gives them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.black_box.test_enumeration import ENCODER

from sgbt.bridges.huggingface import certified_pipeline, encoded_columns
from sgbt.certify.black_box import Answer
from sgbt.core.errors import ModelError


class Pipeline:
    """Positive where "good" is written: answers are sorted by score, as transformers sorts them."""

    model = SimpleNamespace(config=SimpleNamespace(id2label={1: "POSITIVE", 0: "NEGATIVE"}))

    def __call__(self, texts, top_k=1):
        assert top_k is None
        scores = [0.9 if "good" in text or "great" in text else 0.2 for text in texts]
        both = [[{"label": "POSITIVE", "score": x}, {"label": "NEGATIVE", "score": 1 - x}] for x in scores]
        return [sorted(each, key=lambda row: -row["score"]) for each in both]


def test_a_pipeline_is_certified_by_its_label_names():
    wrapped = certified_pipeline(Pipeline(), ENCODER, fingerprint="toy")
    assert wrapped.labels == ("NEGATIVE", "POSITIVE")
    assert wrapped(["A GOOD film", "awful"]) == ["POSITIVE", "NEGATIVE"]
    texts = ["a great film", "a good film", "a bad film"]
    rows = wrapped.certificates(texts, ["POSITIVE", "POSITIVE", "NEGATIVE"])
    # "great" can become "lovely" and "good" can become "fine", which the rule does not know
    assert [row.verdict for row in rows] == [Answer.BROKEN, Answer.BROKEN, Answer.CERTIFIED]
    assert {row.model_hash for row in rows} == {"toy"}


def test_a_batch_of_a_dataset_is_encoded():
    assert encoded_columns(ENCODER, "review")({"review": ["GOOD  Film"], "label": [1]}) == {"review": ["good film"]}


def test_other_answers_are_refused():
    with pytest.raises(ModelError, match="pass labels"):
        certified_pipeline(lambda texts, top_k: [], ENCODER)
    with pytest.raises(ModelError, match="a score for each of YES"):
        certified_pipeline(Pipeline(), ENCODER, labels=["YES"])(["good"])
