"""Proofs that no substitution changes a label, end to end, and the exhaustive oracle that checks them."""

import sys
from types import ModuleType
from typing import Any

from sgbt.certify.certificate import Certificate, Verdict
from sgbt.certify.certifying import certify
from sgbt.certify.consistency import check_consistent
from sgbt.certify.explain import Explanation, explain
from sgbt.certify.oracle import Exact, exhaustive
from sgbt.certify.prepared import Prepared
from sgbt.certify.question import Question
from sgbt.certify.rounding import rounding_slack
from sgbt.certify.rows import read_rows
from sgbt.certify.tiers import DEFAULT_TIERS, TIERS, in_float64, margin_bounds
from sgbt.certify.verification import Verified, verify

__all__ = [
    "DEFAULT_TIERS",
    "TIERS",
    "Certificate",
    "Exact",
    "Explanation",
    "Prepared",
    "Question",
    "Verdict",
    "Verified",
    "certify",
    "check_consistent",
    "exhaustive",
    "explain",
    "in_float64",
    "margin_bounds",
    "read_rows",
    "rounding_slack",
    "verify",
]


class _Callable(ModuleType):
    """`sgbt.certify` is this package and the function that users call; whichever was reached first, both work."""

    def __call__(self, *given: Any, **options: Any) -> list[Certificate]:
        return certify(*given, **options)


sys.modules[__name__].__class__ = _Callable
