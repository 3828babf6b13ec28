"""explain_against: what a threat can do to a text: what is proven, the worst version found, and which words matter.

Every single edit is tried on the text as it stands, and the model's own margin says what it costs; the worst edit of
each stretch of the text is shown. The worst version is found by making these edits together, the costliest first, as
long as they stand beside each other within the budgets. It is read again from its string and must be a path of the
lattice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgbt.attacks.edits.reach import ThreatReach
from sgbt.attacks.edits.space import ThreatSpace
from sgbt.attacks.space import State
from sgbt.certify.edits.certificate import ThreatCertificate
from sgbt.certify.edits.certifying import certify_against
from sgbt.core.errors import CertificateError
from sgbt.data import Tokens
from sgbt.models import TextClassifier
from sgbt.threats import LatticeDescription, LatticeMaker, Threat, describe

MOST_EDITS = 20_000
"""Of a text with more single edits, so many are tried, as many of each stretch."""
Ask = Callable[[list[str]], NDArray[np.float64]]
"""The margins of texts."""


@dataclass(frozen=True, slots=True)
class WorstEdit:
    """The edit of a stretch of the text, from the word `place` on, that lowers the margin most, by `drop` below 0.

    `old` stands there and `new` is written, which may be several words, or nothing; `choices` were tried.
    """

    place: int
    start: int
    end: int
    old: str
    new: str
    kind: str
    drop: float
    choices: int


@dataclass(frozen=True)
class ThreatExplanation:
    """One text under a threat. Margins are the label's logit minus the largest other one.

    `clean` is the text's own, `certificate.margin` is proven for every version, and `worst_margin` is that of
    `worst_text`, the worst version found, where another label may lead (`worst_label`). `edits` are the worst ones of
    stretches, costliest first; `tried` single edits were tried of `possible`.
    """

    certificate: ThreatCertificate
    tokens: Tokens
    description: LatticeDescription
    clean: float
    edits: tuple[WorstEdit, ...]
    tried: int
    possible: int
    worst_text: str
    worst_margin: float
    worst_label: int


def explain_against(
    classifier: TextClassifier, text: str, threat: Threat, *, label: int | None = None
) -> ThreatExplanation:
    """Explain what `threat` can do to one text, for its predicted label or a given one."""
    labels = None if label is None else [label]
    (proof,) = certify_against(classifier, [text], threat, labels=labels)
    tokens = classifier.tokenizer.tokenize(text)
    reach = ThreatReach(threat, classifier.tokenizer, classifier.vocabulary, "explain")
    space = reach.space(tokens, length=classifier.max_length)
    assert isinstance(space, ThreatSpace)

    def ask(texts: list[str]) -> NDArray[np.float64]:
        logits = classifier.logits_of(classifier.encode(texts)).double().numpy()
        return np.asarray(logits[:, proof.label] - np.delete(logits, proof.label, axis=1).max(axis=1))

    clean = float(ask([text])[0])
    edits, single = _worst_edits(space, ask, clean)
    worst = _worst_state(space, ask, single)
    written = text if not worst.any() else reach.text(space, tokens, reach.swaps(space, worst), worst)
    assert written is not None
    worst_margin, worst_label = float(ask([written])[0]), int(classifier.predict([written]).probabilities.argmax())
    if proof.stays and worst_label != proof.label:
        raise CertificateError(
            expected="no version that breaks a certified text", got=repr(written)[:80], where=f"the threat {threat}"
        )
    return ThreatExplanation(
        certificate=proof,
        tokens=tokens,
        description=describe(LatticeMaker(threat, classifier.vocabulary, classifier.tokenizer).of(text)),
        clean=clean,
        edits=edits,
        tried=sum(edit.choices for edit in edits),
        possible=int(space.substitutes.sum()),
        worst_text=written,
        worst_margin=worst_margin,
        worst_label=worst_label,
    )


def _worst_edits(space: ThreatSpace, ask: Ask, clean: float) -> tuple[tuple[WorstEdit, ...], list[tuple[int, int]]]:
    """For every stretch its worst single edit, costliest first; and the places and choices of those that cost."""
    places, choices = space.swaps
    most = int(space.substitutes.max(initial=0))
    while np.minimum(space.substitutes, most).sum() > MOST_EDITS and most > 1:
        most -= 1
    places, choices = places[choices <= most], choices[choices <= most]
    states = np.zeros((len(places), len(space)), np.int32)
    states[np.arange(len(places)), places] = choices
    allowed = space.admits(states)
    places, choices, states = places[allowed], choices[allowed], states[allowed]
    if not len(places):
        return (), []
    distinct, which = np.unique([space.spaced(state) for state in states], return_inverse=True)
    drops = ask(distinct.tolist())[which] - clean
    found = []
    for place in np.unique(places).tolist():
        own = np.flatnonzero(places == place)
        least = int(own[np.argmin(drops[own])])
        stretch, choice = space.stretches[place], int(choices[least])
        option, old = stretch.options[choice - 1], space.options[place][0]
        drop = min(float(drops[least]), 0.0)
        edit = WorstEdit(stretch.place, stretch.start, stretch.end, old, option.written, option.kind, drop, len(own))
        found.append((edit, place, choice))
    found.sort(key=lambda each: each[0].drop)
    return tuple(each[0] for each in found), [each[1:] for each in found if each[0].drop < 0]


def _worst_state(space: ThreatSpace, ask: Ask, edits: list[tuple[int, int]]) -> State:
    """The state of the least margin among those that come about by making edits in their order."""
    states = [space.original]
    for place, choice in edits:
        longer = states[-1].copy()
        longer[place] = choice
        if space.admits(longer[None])[0]:
            states.append(longer)
    return states[int(np.argmin(ask([space.written(state) for state in states])))]
