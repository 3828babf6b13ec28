"""Certificate: what is proven about one text, or that nothing could be proven."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Self

from sgbt.core.errors import CertificateError
from sgbt.core.fields import refuse_odd_fields
from sgbt.core.registry import TIERS


class Verdict(StrEnum):
    """What a certificate says of its text: one of four verdicts."""

    CERTIFIED = "certified"
    """The text is classified correctly, and no allowed substitution changes that: proven."""
    VACUOUS = "nothing-to-replace"
    """The text is classified correctly, and no substitution of it is allowed: there was nothing to prove."""
    ABSTAINED = "abstained"
    """The text is classified correctly; whether a substitution changes that was not decided."""
    MISCLASSIFIED = "misclassified"
    """The text itself gets another label than its own; there is nothing to defend."""


class CertificateRow:
    """What certificates of every kind have in common: one text's answer, which is one row of a file.

    As JSON, a row is its fields behind its `kind`; of a number that JSON does not know, minus infinity, it has null.
    Rows of substitutions, the first kind that there was, name none. `quotes` says whether rows hold whole texts, which
    may be of letters that no file can have; a text is named by so many hexadecimal `digits` of its SHA-256.
    """

    kind: ClassVar[str]
    quotes: ClassVar[bool] = False
    digits: ClassVar[int] = 16
    index: int
    verdict: StrEnum
    label: int
    predicted: int
    text_hash: str
    model_hash: str

    @property
    def certified(self) -> bool:
        """Whether the label is proven to stay, and something can be done to the text."""
        return self.verdict == Verdict.CERTIFIED

    @property
    def stays(self) -> bool:
        """Whether nothing that is allowed changes the label: that is proven, or nothing is allowed.

        Certified accuracy as the literature counts it is the share of such texts.
        """
        return self.verdict in (Verdict.CERTIFIED, Verdict.VACUOUS)

    @classmethod
    def hash_of(cls, text: str) -> str:
        """What rows name a text by."""
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[: cls.digits]

    def to_row(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        row = {each.name: _as_json(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]
        return row if self.kind == SUBSTITUTIONS else {"kind": self.kind, **row}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """The certificate that `to_row` wrote."""
        given = dict(row)
        if (kind := given.pop("kind", SUBSTITUTIONS)) != cls.kind:
            raise CertificateError(expected=f"a row of kind {cls.kind}", got=f"one of kind {str(kind)[:20]!r}")
        if given.get("margin", 0) is None:  # what is minus infinity stands so in JSON
            given["margin"] = -math.inf
        refuse_odd_fields(cls, given, kind=CertificateError, where="")
        try:
            return cls(**cls.as_now(given))
        except (KeyError, TypeError, ValueError) as problem:
            raise CertificateError(expected="a row that sgbt wrote", got=f"one with a fault: {problem}") from problem

    @classmethod
    def as_now(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of a row of an earlier version as this one writes them."""
        return fields


SUBSTITUTIONS = "substitutions"


def _as_json(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    return None if value == -math.inf else value


@dataclass(frozen=True)
class Certificate(CertificateRow):
    """The verdict for one text, with everything that it depends on.

    `margin` is a proven lower bound, over all allowed substitutions, of the label's logit minus the largest other one
    (for a misclassified text, and for one with nothing to replace: that difference on the text itself). It is certified
    exactly if something may be replaced and the margin exceeds `slack`, the stated allowance for rounding
    (`sgbt.certify.rounding`). `tier` names the bound that gave the margin.

    The proof covers the first `read` of the text's `words` words: what stands behind the model's maximal length is not
    read, so replacing it changes nothing. `replaceable` of the words read have substitutes, and `unknown` of them are
    not in the model's vocabulary (None: a row from before that was counted). `max_substitutions` limits how many words
    may be replaced at once (None: any number), and `radius` is the largest such number for which the margin still
    holds, where a tier computes it. A `scale` below one marks a study in which substitutes were moved towards the word,
    not a proof about texts. `model_hash` is the classifier's identity; in rows of earlier versions, the hash of its
    weights alone. `labelled` says whether the label came with the text; otherwise it is the model's own answer (None: a
    row from before that was said).
    """

    kind: ClassVar[str] = SUBSTITUTIONS

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
    unknown: int | None = None
    labelled: bool | None = field(default=None, compare=False)
    milliseconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", Verdict(self.verdict))
        object.__setattr__(self, "tiers", tuple(self.tiers))
        object.__setattr__(self, "milliseconds", MappingProxyType(dict(self.milliseconds)))
        check_claims(self)
        right, free = self.predicted == self.label, may_replace(self.replaceable, self.max_substitutions, self.scale)
        counts = f"{self.replaceable} replaceable words, margin {self.margin}, slack {self.slack}"
        if self.verdict != verdict_of(right=right, free=free, proven=self.margin > self.slack):
            raise CertificateError(
                expected="a verdict that follows from label, prediction, replaceable words, margin and slack",
                got=f"{self.verdict} with {counts}",
                where=f"text {self.index}",
            )

    @property
    def study(self) -> bool:
        """Whether substitutes were moved towards the word: then nothing is proven about texts."""
        return self.scale < 1

    @property
    def truncated(self) -> bool:
        """Whether words of the text stand behind what the model reads."""
        return self.read < self.words

    @classmethod
    def as_now(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """Rows from before `VACUOUS` get the verdict that they would have now."""
        free = may_replace(fields["replaceable"], fields.get("max_substitutions"), fields.get("scale", 1.0))
        before = verdict_of(right=True, free=True, proven=fields["margin"] > fields["slack"])
        return fields if free or fields["verdict"] != before else fields | {"verdict": Verdict.VACUOUS}


def may_replace(replaceable: int, max_substitutions: int | None, scale: float) -> bool:
    """Whether any substitution is allowed that could change something: without one, there is nothing to prove."""
    return replaceable > 0 and max_substitutions != 0 and scale > 0


def verdict_of(*, right: bool, free: bool, proven: bool) -> Verdict:
    """The verdict from whether the text is classified correctly, may be changed, and is proven to stay right."""
    if not right:
        return Verdict.MISCLASSIFIED
    if not free:
        return Verdict.VACUOUS
    return Verdict.CERTIFIED if proven else Verdict.ABSTAINED


CLEAN = "clean"
"""The tier of a text that is misclassified to begin with, or has nothing to replace: nothing was bounded."""
HEAD = "head"
"""The tier of a text for which no tier tried found more than what holds for every text (`sgbt.certify.verifier`)."""


def check_claims(row: Certificate) -> None:
    """Raise on the first claim that cannot be; whether those that can be are true is for `verify` to say."""
    _check_numbers(row)
    if not row.tiers or not all(tier in TIERS for tier in row.tiers):
        raise _refusal(row, f"tiers among {', '.join(TIERS)}", ", ".join(row.tiers) or "none")
    if row.tier not in (row.tiers if row.certified else (*row.tiers, CLEAN, HEAD)):
        raise _refusal(row, f"a tier that was tried ({', '.join(row.tiers)})", row.tier)
    for tier, spent in row.milliseconds.items():
        if tier not in TIERS or not 0 <= spent < math.inf:
            raise _refusal(row, "milliseconds of known tiers, finite and at least 0", f"{tier}: {spent}")


def _check_numbers(row: Certificate) -> None:
    unproven = row.margin == -math.inf and not row.certified
    budget = row.replaceable if row.max_substitutions is None else min(row.replaceable, row.max_substitutions)
    if row.index < 0:
        raise _refusal(row, "an index of at least 0", str(row.index))
    if not (math.isfinite(row.margin) or unproven) or not 0 <= row.slack < math.inf:
        got = f"margin {row.margin}, slack {row.slack}"
        raise _refusal(row, "a finite margin and a finite slack of at least 0", got, remedy="check the model's weights")
    if min(row.label, row.predicted) < 0:
        raise _refusal(row, "a label and a prediction of at least 0", f"{row.label} and {row.predicted}")
    if not 0 <= row.replaceable <= row.read <= row.words:
        got = f"{row.words}, {row.read} and {row.replaceable}"
        raise _refusal(row, "words, of them those read, of them those replaceable", got)
    if row.unknown is not None and not 0 <= row.unknown <= row.read:
        raise _refusal(row, f"from 0 to {row.read} unknown words", str(row.unknown))
    if row.max_substitutions is not None and row.max_substitutions < 0:
        raise _refusal(row, "max_substitutions of at least 0", str(row.max_substitutions))
    if not 0 <= row.scale <= 1:
        raise _refusal(row, "a scale from 0 to 1", str(row.scale))
    if row.radius is not None and not 0 <= row.radius <= budget:
        raise _refusal(row, f"a radius from 0 to {budget}, the words that may be replaced", str(row.radius))


def _refusal(row: Certificate, expected: str, got: str, *, remedy: str = "") -> CertificateError:
    return CertificateError(expected=expected, got=got, where=f"text {row.index}", remedy=remedy)
