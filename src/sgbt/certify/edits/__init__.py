"""Certificates against any threat: the worst path of a text's lattice."""

from sgbt.certify.edits import bag_of_words, bilstm, cnn, ngrams, verification  # noqa: F401 - they register
from sgbt.certify.edits.certificate import ThreatCertificate, ThreatSummary
from sgbt.certify.edits.certifying import certify_against
from sgbt.certify.edits.explain import ThreatExplanation, WorstEdit, explain_against
from sgbt.certify.edits.fitting import FittedToThreat, train_for_threat
from sgbt.certify.edits.margins import least_margins

__all__ = [
    "FittedToThreat",
    "ThreatCertificate",
    "ThreatExplanation",
    "ThreatSummary",
    "WorstEdit",
    "certify_against",
    "explain_against",
    "least_margins",
    "train_for_threat",
]
