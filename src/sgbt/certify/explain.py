"""explain: which words of a text an adversary would replace, by what, and how much of the margin each costs."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sgbt.certify.certificate import Certificate
from sgbt.certify.certifying import certify
from sgbt.certify.prepared import Prepared, prepared_of
from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification
from sgbt.certify.tiers import bounds_of
from sgbt.certify.verifier import verifiers
from sgbt.certify.word_tables import WordTables
from sgbt.data import Tokens
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable

SEPARABLE = ("gbm", "sgbt-taylor", "crown")
"""Tiers whose bound adds up over words, so that each word has a share."""

WHOLE = "ibp"
"""The tier that is taken where those overflow: its bound is finite, and no word has a share in it."""


@dataclass(frozen=True)
class WordShare:
    """What one word can cost: `drop`, never positive, is the most that replacing it lowers the proven margin by.

    `substitute` is the word that does it, None where nothing lowers the bound. `choices` counts the substitutes.
    """

    place: int
    word: str
    drop: float
    substitute: str | None
    choices: int


@dataclass(frozen=True)
class Explanation:
    """One text's worst case, word by word.

    The proven margin of the most dangerous rival is `base` plus the sum of all drops: `base` is the margin without
    what cannot be attributed to single words (the remainders of the bound).
    """

    certificate: Certificate
    tokens: Tokens
    tier: str
    rival: int
    clean: float
    base: float
    words: tuple[WordShare, ...]

    @property
    def margin(self) -> float:
        """The margin that this tier proves against this rival."""
        return self.base + sum(word.drop for word in self.words)

    @property
    def weakest(self) -> tuple[WordShare, ...]:
        """The words that can be made to cost something, dearest first."""
        costly = [word for word in self.words if word.substitute is not None]
        return tuple(sorted(costly, key=lambda word: word.drop))

    @property
    def worst_text(self) -> str:
        """The text with each word replaced by what lowers the bound most: a first guess at an attack."""
        swaps = {word.place: word.substitute for word in self.words if word.substitute is not None}
        return self.tokens.replace(swaps)


@torch.no_grad()
def explain(
    classifier: TextClassifier | Prepared,
    text: str,
    table: SubstitutionTable | None = None,
    *,
    label: int | None = None,
    max_substitutions: int | None = None,
) -> Explanation:
    """Explain one text against `table` (by default the model's own), for its predicted label or a given one.

    Of the tiers that add up over words, the one with the highest bound is taken, for the rival closest to the label;
    where all of them overflow, tier ibp.
    """
    prepared = prepared_of(classifier, table)
    classifier, model = prepared.classifier, prepared.model
    labels = None if label is None else [label]
    (certificate,) = certify(prepared, [text], labels=labels, max_substitutions=max_substitutions)
    tokens = classifier.tokenizer.tokenize(text)
    read = tokens.words[: classifier.max_length]
    substitutions = prepared.index.for_words([read or ("",)])
    spec = Specification.of(
        substitutions,
        torch.full((1, max(len(read), 1)), bool(read)),
        torch.tensor([certificate.label]),
        classes=len(classifier.label_names),
        budget=max_substitutions,
        reference="itself",
    ).to(classifier.device)
    parts = verifiers(model, spec, WordTables())
    tier, bound = max(
        ((name, each) for name in (*SEPARABLE, WHOLE) for each in bounds_of(name, parts)),
        key=lambda pair: (bool(pair[1].lowest().isfinite().all()), pair[0] != WHOLE, float(pair[1].lowest().amin())),
    )
    rival = int(bound.lowest()[0].argmin())
    logits = model(spec.ids[..., 0], spec.mask)[0]
    return Explanation(
        certificate=certificate,
        tokens=tokens,
        tier=tier,
        rival=int(spec.rivals[0, rival]),
        clean=float(logits[certificate.label] - logits[spec.rivals[0, rival]]),
        base=float(bound.constant[0, rival]),
        words=_shares(bound, rival, read, prepared.table, classifier),
    )


def _shares(
    bound: SeparableBound, rival: int, read: tuple[str, ...], table: SubstitutionTable, classifier: TextClassifier
) -> tuple[WordShare, ...]:
    spec = bound.spec
    worst: dict[int, tuple[float, int]] = {}
    swaps = spec.swaps
    for place, slot, gain in zip(
        swaps.place.tolist(), swaps.slot.tolist(), bound.gains[:, rival].tolist(), strict=True
    ):
        if gain < min(worst.get(place, (0.0, 0))[0], 0.0):
            worst[place] = (gain, int(spec.ids[0, place, slot]))
    allowed_places = set(worst)
    if spec.budget is not None:  # only as many words as may be replaced at once
        allowed_places = set(sorted(worst, key=lambda place: worst[place][0])[: spec.budget])
    shares = []
    for place, word in enumerate(read):
        substitutes = table.substitutes(word)
        if place in allowed_places:
            drop, number = worst[place]
            shown = next(each for each in substitutes if classifier.vocabulary.encode([each])[0] == number)
            shares.append(WordShare(place, word, drop, shown, len(substitutes)))
        else:
            shares.append(WordShare(place, word, 0.0, None, len(substitutes)))
    return tuple(shares)
