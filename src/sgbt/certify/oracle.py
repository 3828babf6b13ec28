"""The exhaustive oracle: the exact worst case of a text, by looking at every text it can become; and what that says of
certificates.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.certify.certificate import Certificate, Verdict
from sgbt.certify.rows.file import require_proofs
from sgbt.certify.specification import Specification
from sgbt.core.errors import CertificateError
from sgbt.core.shares import Share
from sgbt.models import AnyModel, TextClassifier
from sgbt.threats import SubstitutionIndex, SubstitutionTable

MOST_COMBINATIONS = 200_000
"""Texts that become more than this many others are refused by default."""


@dataclass(frozen=True, eq=False)
class Exact:
    """The least margins [rivals] over all allowed texts, and for each rival the ids that reach it [rivals, words]."""

    margins: Tensor
    texts: Tensor
    combinations: int

    @property
    def worst(self) -> float:
        """The least margin over all rivals."""
        return float(self.margins.amin())


def combinations_of(spec: Specification, text: int) -> int:
    """How many texts one text can become within the budget, itself included."""
    counts = [1] + [0] * int(spec.replaceable[text])
    for extra in (spec.allowed[text].sum(dim=1) - 1).tolist():  # polynomial product: coefficient n is n replaced
        if extra:
            counts = [kept + extra * (counts[n - 1] if n else 0) for n, kept in enumerate(counts)]
    limit = len(counts) if spec.budget is None else spec.budget + 1
    return sum(counts[:limit])


@torch.no_grad()
def exhaustive(
    model: AnyModel, spec: Specification, text: int, *, most: int = MOST_COMBINATIONS, batch_size: int = 1024
) -> Exact:
    """Evaluate `model`, in its own precision, on every allowed variant of one text."""
    if spec.scale != 1.0:
        raise CertificateError(expected="substitutes as they are", got=f"scale {spec.scale}", where="the oracle")
    total = combinations_of(spec, text)
    if total > most:
        raise CertificateError(
            expected=f"a text with at most {most:,} variants",
            got=f"{total:,}",
            where="the exhaustive oracle",
            remedy="raise most=, or use a shorter text",
        )
    label, rivals, mask = spec.labels[text], spec.rivals[text], spec.mask[text]
    best: Tensor | None = None
    kept = spec.ids[text, :, 0].expand(len(rivals), -1).clone()
    for ids in _variants(spec, text, batch_size):
        logits = model(ids, mask.expand(len(ids), -1))
        margins = logits[:, label].unsqueeze(1) - logits[:, rivals]
        least, where = margins.min(dim=0)
        better = torch.ones_like(least, dtype=torch.bool) if best is None else least < best
        kept[better] = ids[where[better]]
        best = least if best is None else torch.minimum(best, least)
    assert best is not None
    return Exact(best, kept, total)


def _variants(spec: Specification, text: int, batch_size: int) -> Iterator[Tensor]:
    """All variants within the budget, [variants, words] at a time."""
    places = [place for place, count in enumerate(spec.allowed[text].sum(dim=1).tolist()) if count > 1]
    choices = [spec.ids[text, place][spec.allowed[text, place]].tolist() for place in places]
    base = spec.ids[text, :, 0]
    # slots are counted, not ids: a substitute may be read as the very id of the word that it replaces
    slots: Iterator[tuple[int, ...]] = itertools.product(*(range(len(choice)) for choice in choices))
    if spec.budget is not None:
        budget = spec.budget
        slots = (taken for taken in slots if sum(slot > 0 for slot in taken) <= budget)
    while chunk := list(itertools.islice(slots, batch_size)):
        ids = base.repeat(len(chunk), 1)
        for column, (place, choice) in enumerate(zip(places, choices, strict=True)):
            ids[:, place] = ids.new_tensor([choice[taken[column]] for taken in chunk])
        yield ids


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
            spec = Specification.of(
                found,
                mask,
                torch.tensor([row.label]),
                classes=len(classifier.label_names),
                budget=row.max_substitutions,
            ).to(classifier.device)
            if combinations_of(spec, 0) > most:
                continue
            total += 1
            proven += row.certified
            vacuous += row.verdict is Verdict.VACUOUS
            robust = exhaustive(model, spec, 0, most=most).worst > 0
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
