"""Pipelines in the form that transformers gives them."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace

import pytest
import torch
from tests.black_box.test_enumeration import ENCODER

from sgbt.bridges.huggingface import ModelScores, certified_callback, certified_pipeline, encoded_columns
from sgbt.certify.black_box import Answer, certify_encoded
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


WORDS = {"good": 1, "great": 1, "fine": 1, "film": 2, "bad": 3, "awful": 3}
TEXTS, LABELS = ["a great film", "a good film", "a bad film", "an awful film"], [1, 1, 0, 1]


def tokenizer(texts, **options):
    assert options == {"truncation": True, "padding": True, "return_tensors": "pt"}
    rows = [[WORDS.get(word, 4) for word in text.split()] for text in texts]
    longest = max(map(len, rows))
    return {"input_ids": torch.tensor([row + [0] * (longest - len(row)) for row in rows])}


class Model(torch.nn.Module):
    """As classification models of transformers answer; in training, at random."""

    device = torch.device("cpu")

    def forward(self, input_ids):
        assert not self.training
        positive = (input_ids == 1).sum(dim=1) - (input_ids == 3).sum(dim=1)
        return SimpleNamespace(logits=torch.stack([-positive, positive], dim=1).float())


def test_a_trainer_logs_what_is_certified_after_every_epoch(monkeypatch):
    class TrainerCallback:
        pass

    stand_in = ModuleType("transformers")
    stand_in.TrainerCallback = TrainerCallback
    monkeypatch.setitem(sys.modules, "transformers", stand_in)
    callback = certified_callback(ENCODER, tokenizer, TEXTS, LABELS)
    assert isinstance(callback, TrainerCallback)
    model, state = Model().train(), SimpleNamespace(epoch=1.0, global_step=7, log_history=[])
    callback.on_epoch_end(None, state, None, model=model, optimizer=None)
    rows = certify_encoded(ModelScores(model, tokenizer, batch=1), TEXTS, ENCODER, labels=LABELS, slack=1e-4)
    right, proven = sum(row.predicted == row.label for row in rows), sum(row.certified for row in rows)
    assert 0 < proven < right < len(TEXTS)
    assert state.log_history == [
        {"epoch": 1.0, "step": 7, "encoded_accuracy": right / 4, "certified_accuracy": proven / 4}
    ]
    assert model.training


def test_a_callback_needs_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModelError, match="pip install transformers"):
        certified_callback(ENCODER, tokenizer, TEXTS, LABELS)


def real(module):
    try:
        return import_module(module)
    except ImportError as problem:
        pytest.skip(f"no {module} here: {problem}")


@pytest.mark.soak
def test_the_real_trainer_calls_back(tmp_path):
    transformers = real("transformers")
    real("accelerate")
    config = transformers.BertConfig(
        vocab_size=6, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8, num_labels=2
    )
    encoded = tokenizer([ENCODER.encode(text) for text in TEXTS], truncation=True, padding=True, return_tensors="pt")
    rows = [{"input_ids": ids, "labels": label} for ids, label in zip(encoded["input_ids"], LABELS, strict=True)]
    trainer = transformers.Trainer(
        transformers.BertForSequenceClassification(config),
        transformers.TrainingArguments(output_dir=str(tmp_path), num_train_epochs=2, report_to=[], use_cpu=True),
        train_dataset=rows,
        callbacks=[certified_callback(ENCODER, tokenizer, TEXTS, LABELS)],
    )
    trainer.train()
    logged = [each for each in trainer.state.log_history if "certified_accuracy" in each]
    assert [each["epoch"] for each in logged] == [1.0, 2.0]
    assert all(0 <= each["certified_accuracy"] <= each["encoded_accuracy"] <= 1 for each in logged)
