"""Certificates against any threat: the worst path of a text's lattice."""

from sgbt.certify.edits import bag_of_words, bilstm, cnn, ngrams  # noqa: F401 - they register
from sgbt.certify.edits.certificate import ThreatCertificate, ThreatSummary, read_threat_rows
from sgbt.certify.edits.certifying import certify_against
from sgbt.certify.edits.explain import ThreatExplanation, WorstEdit, explain_against
from sgbt.certify.edits.margins import least_margins
from sgbt.certify.edits.verification import VerifiedThreat, verify_against

__all__ = [
    "ThreatCertificate",
    "ThreatExplanation",
    "ThreatSummary",
    "VerifiedThreat",
    "WorstEdit",
    "certify_against",
    "explain_against",
    "least_margins",
    "read_threat_rows",
    "verify_against",
]
