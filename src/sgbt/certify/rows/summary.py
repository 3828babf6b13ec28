"""From rows to figures: accuracies with 95 % intervals, what each tier did, and the cells of a table of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sgbt.certify.certificate import Certificate, Verdict
from sgbt.certify.rows.file import BUDGET, require_alike, require_proofs
from sgbt.core.registry import TIERS
from sgbt.core.shares import ByClass, Share


@dataclass(frozen=True)
class TierSummary:
    """What one tier did: how many texts it was tried on and certified, and the median milliseconds of a try."""

    name: str
    tried: int
    certified: int
    median_milliseconds: float
    mean_milliseconds: float


@dataclass(frozen=True)
class Summary:
    """The figures of many certificates, of all texts but for `certified_of_correct`.

    The texts that are right (`clean`) are the `certified`, the `abstained` and the `vacuous`, which have nothing to
    replace. Certified accuracy here is about texts that could be changed; the literature's also counts the vacuous.
    """

    clean: Share
    certified: Share
    certified_of_correct: Share
    vacuous: Share
    abstained: Share
    truncated: int
    slack: float
    tiers: tuple[TierSummary, ...]

    @staticmethod
    def of(certificates: Sequence[Certificate]) -> Summary:
        """Count the verdicts and gather the times; studies and rows of several budgets are refused."""
        require_proofs(certificates, "a summary")
        require_alike(certificates, Certificate, BUDGET, "a summary")
        total = len(certificates)
        verdicts = Counter(row.verdict for row in certificates)
        correct, proven = total - verdicts[Verdict.MISCLASSIFIED], verdicts[Verdict.CERTIFIED]
        by_tier = Counter(row.tier for row in certificates if row.certified)
        tiers = []
        for name in TIERS:
            spent = sorted(row.milliseconds[name] for row in certificates if name in row.milliseconds)
            if spent:
                middle = (spent[(len(spent) - 1) // 2] + spent[len(spent) // 2]) / 2
                tiers.append(TierSummary(name, len(spent), by_tier[name], middle, sum(spent) / len(spent)))
        return Summary(
            clean=Share(correct, total),
            certified=Share(proven, total),
            certified_of_correct=Share(proven, correct),
            vacuous=Share(verdicts[Verdict.VACUOUS], total),
            abstained=Share(verdicts[Verdict.ABSTAINED], total),
            truncated=sum(row.truncated for row in certificates),
            slack=max((row.slack for row in certificates), default=0.0),
            tiers=tuple(tiers),
        )


def by_class(certificates: Sequence[Certificate], names: Sequence[str], *, labelled: bool = True) -> ByClass:
    """What the model answers for each class, and how many of its texts are certified; not `labelled` are certificates
    that defend the model's own answers."""
    require_proofs(certificates, "figures by class")
    return ByClass.of(
        names,
        [(row.label, row.predicted) for row in certificates],
        proven=[(row.label, row.certified) for row in certificates],
        labelled=labelled,
    )


PREDICTED = ("predicted", "probability")
PROVEN = ("verdict", "margin", "radius", "replaceable", "unknown", "tier")


def predicted_cells(name: str, probability: float) -> tuple[str, str]:
    """The cells of `PREDICTED`."""
    return name, f"{probability:.6f}"


def proven_cells(proof: Certificate) -> tuple[str, ...]:
    """The cells of `PROVEN`; a certified text may have all its replaceable words replaced."""
    radius = proof.replaceable if proof.certified else proof.radius
    return (
        str(proof.verdict),
        f"{proof.margin:.6g}",
        "" if radius is None else str(radius),
        str(proof.replaceable),
        str(proof.unknown),
        str(proof.tier),
    )
