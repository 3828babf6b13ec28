"""Robust accuracy by the oracle: on texts with few variants, what the truth is that certificates bound from below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from sgbt.certify.certificate import Certificate, Verdict
from sgbt.certify.one_question import require_proofs
from sgbt.certify.oracle import combinations_of, exhaustive
from sgbt.certify.question import Question
from sgbt.core.errors import CertificateError
from sgbt.core.shares import Share
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionIndex, SubstitutionTable


@dataclass(frozen=True, slots=True)
class Robust:
    """Of the texts that were enumerated: those that no variant misclassifies, those that are certified, and those that
    are right and have nothing to replace."""

    share: Share
    certified: Share
    vacuous: Share


@torch.no_grad()
def robust_by_oracle(
    classifier: TextClassifier,
    texts: Sequence[str],
    certificates: Sequence[Certificate],
    table: SubstitutionTable,
    *,
    most: int,
) -> Robust:
    """Enumerate every text with at most `most` variants, with the model as it is deployed.

    A text whose label is proven to stay, or that has nothing to replace, is never broken: a variant that does raises.
    """
    require_proofs(certificates, "what is enumerated")
    table.require_read_by(classifier.tokenizer)
    index = SubstitutionIndex.build(table, classifier.vocabulary)
    held, proven, vacuous, total = 0, 0, 0, 0
    model, training = classifier.deciding, classifier.deciding.training
    model.eval()
    try:
        for row in certificates:
            if 2**row.replaceable > most and row.max_substitutions is None:
                continue  # each replaceable word at least doubles the variants
            words = classifier.tokenizer.words(texts[row.index])[: classifier.max_length]
            found = index.for_words([words or ("",)])
            mask = torch.full((1, max(len(words), 1)), bool(words))
            question = Question.of(
                found,
                mask,
                torch.tensor([row.label]),
                classes=len(classifier.label_names),
                budget=row.max_substitutions,
            ).to(classifier.device)
            if combinations_of(question, 0) > most:
                continue
            total += 1
            proven += row.certified
            vacuous += row.verdict is Verdict.VACUOUS
            robust = exhaustive(model, question, 0, most=most).worst > 0
            held += robust
            if row.stays and not robust:
                raise CertificateError(
                    expected=f"no variant of text {row.index} ({row.verdict}) to change its label",
                    got="one that does",
                    remedy="this is a bug in sgbt; please report it with the model and the text",
                )
    finally:
        model.train(training)
    return Robust(Share(held, total), Share(proven, total), Share(vacuous, total))
