"""Certificate: what is proven about one text, or that nothing could be proven."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from sgbt.errors import CertificateError


class Verdict(StrEnum):
    """The three answers there are."""

    CERTIFIED = "certified"
    """The text is classified correctly, and no allowed substitution changes that: proven."""
    ABSTAINED = "abstained"
    """The text is classified correctly; whether a substitution changes that was not decided."""
    MISCLASSIFIED = "misclassified"
    """The text itself gets another label than its own; there is nothing to defend."""


@dataclass(frozen=True)
class Certificate:
    """One text's answer, with everything that it is an answer to.

    `margin` is a proven lower bound, over all allowed substitutions, of the label's logit minus the largest other one
    (for a misclassified text: that difference on the text itself). It is certified exactly if the margin exceeds
    `slack`, the stated allowance for rounding (`sgbt.certify.rounding`). `tier` names the bound that gave the margin.

    The proof covers the first `read` of the text's `words` words: what stands behind the model's maximal length is not
    read, so replacing it changes nothing. `replaceable` of the words read have substitutes; with none the text is
    its own worst case. `max_substitutions` limits how many words may be replaced at once (None: any number), and
    `radius` is the largest such number for which the margin still holds, where a tier computes it. A `scale` below one
    tells of a study in which substitutes were drawn towards the word, not of a proof about texts.
    """

    index: int
    verdict: Verdict
    label: int
    predicted: int
    margin: float
    tier: str
    slack: float
    words: int
    read: int
    replaceable: int
    table_hash: str
    model_hash: str
    text_hash: str
    tiers: tuple[str, ...]
    max_substitutions: int | None = None
    radius: int | None = None
    scale: float = 1.0
    milliseconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", Verdict(self.verdict))
        object.__setattr__(self, "tiers", tuple(self.tiers))
        object.__setattr__(self, "milliseconds", MappingProxyType(dict(self.milliseconds)))
        if math.isnan(self.margin) or not self.slack >= 0:
            raise CertificateError(
                wanted="a margin that is a number and a slack of at least 0",
                got=f"margin {self.margin}, slack {self.slack}",
                where=f"text {self.index}",
                remedy="check the model's weights for NaN",
            )
        right = self.predicted == self.label
        proven = right and self.margin > self.slack
        if self.verdict != verdict_of(right=right, proven=proven):
            raise CertificateError(
                wanted="a verdict that follows from label, prediction, margin and slack",
                got=f"{self.verdict} with margin {self.margin} and slack {self.slack}",
                where=f"text {self.index}",
            )

    @property
    def certified(self) -> bool:
        """Whether the label is proven to stay."""
        return self.verdict is Verdict.CERTIFIED

    @property
    def truncated(self) -> bool:
        """Whether words of the text stand behind what the model reads."""
        return self.read < self.words

    def to_row(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        return {name: getattr(self, name) for name in _PLAIN} | {
            "verdict": str(self.verdict),
            "tiers": list(self.tiers),
            "milliseconds": dict(self.milliseconds),
        }

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> Certificate:
        """The certificate that `to_row` wrote."""
        try:
            return Certificate(**row)
        except (TypeError, ValueError) as problem:
            raise CertificateError(wanted="a row that sgbt wrote", got=f"one with a fault: {problem}") from problem


_PLAIN = tuple(name for name in Certificate.__dataclass_fields__ if name not in ("verdict", "tiers", "milliseconds"))


def verdict_of(*, right: bool, proven: bool) -> Verdict:
    """The verdict from whether the text is classified correctly, and whether that is proven to stay."""
    if not right:
        return Verdict.MISCLASSIFIED
    return Verdict.CERTIFIED if proven else Verdict.ABSTAINED
