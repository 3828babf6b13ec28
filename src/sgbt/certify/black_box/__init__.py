"""Proofs for any callable over encoded text, and statistical certificates by randomised smoothing."""

from sgbt.certify.black_box.additive import AdditiveModel
from sgbt.certify.black_box.certificate import Answer, EncodedCertificate, EncodedSummary, read_encoded
from sgbt.certify.black_box.certifying import Cost, certify_encoded, cost_of
from sgbt.certify.black_box.encoder import EncodedText, Encoder
from sgbt.certify.black_box.smoothing import Deletion, Substitution, certify_smoothed
from sgbt.certify.black_box.statistical import StatisticalCertificate, StatisticalSummary, read_statistical

__all__ = [
    "AdditiveModel",
    "Answer",
    "Cost",
    "Deletion",
    "EncodedCertificate",
    "EncodedSummary",
    "EncodedText",
    "Encoder",
    "StatisticalCertificate",
    "StatisticalSummary",
    "Substitution",
    "certify_encoded",
    "certify_smoothed",
    "cost_of",
    "read_encoded",
    "read_statistical",
]
