"""Proofs that no substitution changes a label, end to end, and the exhaustive oracle that checks them."""

from sgbt.certify.certificate import Certificate, Verdict
from sgbt.certify.certifying import certify
from sgbt.certify.edits import least_margins
from sgbt.certify.explain import Explanation, explain
from sgbt.certify.oracle import Exact, exhaustive
from sgbt.certify.prepared import Prepared
from sgbt.certify.rounding import float64_allowance, rounding_slack
from sgbt.certify.rows import read_rows
from sgbt.certify.rows.consistency import check_consistent
from sgbt.certify.rows.verification import Verified, verify
from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification
from sgbt.certify.tiers import DEFAULT_TIERS, Tier, margin_bounds
from sgbt.certify.verifier import Verifier, in_float64, verifiers
from sgbt.core.callable_package import make_callable
from sgbt.core.registry import TIERS

__all__ = [
    "DEFAULT_TIERS",
    "TIERS",
    "Certificate",
    "Exact",
    "Explanation",
    "Prepared",
    "Question",
    "SeparableBound",
    "Specification",
    "Tier",
    "Verdict",
    "Verified",
    "Verifier",
    "certify",
    "check_consistent",
    "exhaustive",
    "explain",
    "float64_allowance",
    "in_float64",
    "least_margins",
    "margin_bounds",
    "read_rows",
    "rounding_slack",
    "verifiers",
    "verify",
]


Question = Specification
"""What `Specification` was called in earlier versions."""

make_callable(__name__, certify)
