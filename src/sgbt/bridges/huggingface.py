"""Hugging Face pipelines, models and datasets over encoded text.

Nothing is imported from there but the base class of the callback: what has the same form will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sgbt.bridges.hub import imported
from sgbt.certify.black_box import EncodedCertificate, EncodedSummary, Encoder, certify_encoded
from sgbt.core.errors import ModelError


@dataclass(frozen=True, eq=False)
class CertifiedPipeline:
    """A text-classification pipeline that is shown encoded texts alone, and certificates of what it says.

    `labels` are its label names in the order of the columns of `scores`.
    """

    pipeline: Callable[..., Any]
    encoder: Encoder
    labels: tuple[str, ...]
    fingerprint: str | None = None

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """The label of every text."""
        found = self.scores([self.encoder.encode(text) for text in texts])
        return [self.labels[number] for number in found.argmax(axis=1)]

    def scores(self, encoded: Sequence[str]) -> np.ndarray:
        """The score of every label for texts that are encoded already."""
        answers = self.pipeline(list(encoded), top_k=None)
        try:
            rows = [{each["label"]: float(each["score"]) for each in answer} for answer in answers]
            return np.array([[row[label] for label in self.labels] for row in rows]).reshape(len(rows), -1)
        except (KeyError, TypeError) as problem:
            raise ModelError(
                expected=f"a score for each of {', '.join(self.labels)}",
                got=f"an answer with a fault at {problem}",
                where="the pipeline",
                remedy="pass a text-classification pipeline, and its labels",
            ) from problem

    def certificates(
        self, texts: Sequence[str], labels: Sequence[str] | None = None, **options: Any
    ) -> list[EncodedCertificate]:
        """The certificate of every text, for the labels given or else the pipeline's own answers.

        `options` are those of `sgbt.certify.black_box.certify_encoded`.
        """
        numbers = None if labels is None else [self.labels.index(label) for label in labels]
        given = {"fingerprint": self.fingerprint} | options
        return certify_encoded(self.scores, texts, self.encoder, labels=numbers, **given)


def certified_pipeline(
    pipeline: Callable[..., Any],
    encoder: Encoder,
    *,
    labels: Sequence[str] | None = None,
    fingerprint: str | None = None,
) -> CertifiedPipeline:
    """A pipeline made for encoded texts; its labels come from its model's configuration unless they are given."""
    names: dict[int, str] = getattr(getattr(getattr(pipeline, "model", None), "config", None), "id2label", None) or {}
    if labels is None and not names:
        raise ModelError(expected="the labels of the pipeline", got="none", remedy="pass labels=[...]")
    found = tuple(labels) if labels is not None else tuple(names[number] for number in sorted(names))
    return CertifiedPipeline(pipeline, encoder, found, fingerprint)


def encoded_columns(encoder: Encoder, column: str = "text") -> Callable[[Any], dict[str, list[str]]]:
    """For `dataset.map(encoded_columns(encoder), batched=True)`: the column of texts, encoded, to fine-tune on."""
    return lambda batch: {column: [encoder.encode(text) for text in batch[column]]}


@dataclass(frozen=True, eq=False)
class ModelScores:
    """From encoded texts to the probability of each label, by a classification model and its tokenizer."""

    model: Any
    tokenizer: Callable[..., Any]
    batch: int = 32

    def __call__(self, encoded: Sequence[str]) -> np.ndarray:
        """One row for each text. The model is asked as it is used, not as it is trained."""
        training, rows = self.model.training, []
        self.model.eval()
        with torch.inference_mode():
            for start in range(0, len(encoded), self.batch):
                part = list(encoded[start : start + self.batch])
                tokens = self.tokenizer(part, truncation=True, padding=True, return_tensors="pt")
                logits = self.model(**{name: each.to(self.model.device) for name, each in tokens.items()}).logits
                rows.append(logits.double().softmax(dim=1).cpu().numpy())
        self.model.train(training)
        return np.concatenate(rows)


class _CertifiedShare:
    """Certifies some texts after every epoch of a Trainer and logs the shares."""

    def __init__(self, certified: Callable[[Any], EncodedSummary]) -> None:
        self._certified = certified

    def on_epoch_end(self, args: Any, state: Any, control: Any, *, model: Any, **_: Any) -> None:
        """What Trainer calls; its log gets the shares of texts that are right and that are certified."""
        found = self._certified(model)
        shares = {"encoded_accuracy": found.clean.value, "certified_accuracy": found.certified.value}
        state.log_history.append({"epoch": state.epoch, "step": state.global_step, **shares})


def certified_callback(
    encoder: Encoder,
    tokenizer: Callable[..., Any],
    texts: Sequence[str],
    labels: Sequence[int],
    *,
    max_queries: int = 256,
    slack: float = 1e-4,
) -> Any:
    """A `transformers.TrainerCallback` that certifies texts, as they are and not yet encoded, after every epoch.

    Trainer's log then has `encoded_accuracy` and `certified_accuracy`. `slack` allows for float32, in which models
    compute; a text with more than `max_queries` versions counts as not certified.
    """

    def certified(model: Any) -> EncodedSummary:
        scores, given = ModelScores(model, tokenizer), [int(label) for label in labels]
        return EncodedSummary.of(
            certify_encoded(scores, texts, encoder, labels=given, max_queries=max_queries, slack=slack)
        )

    base = imported("transformers", package="transformers").TrainerCallback
    return type("CertifiedShare", (_CertifiedShare, base), {})(certified)
