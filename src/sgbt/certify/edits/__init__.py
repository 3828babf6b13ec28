"""Certificates against any threat: the worst path of a text's lattice."""

from sgbt.certify.edits.certificate import ThreatCertificate, ThreatSummary, read_threat_rows
from sgbt.certify.edits.certifying import certify_against
from sgbt.certify.edits.margins import least_margins

__all__ = ["ThreatCertificate", "ThreatSummary", "certify_against", "least_margins", "read_threat_rows"]
