"""Proofs for any callable over encoded text, and statistical certificates by randomised smoothing."""

from sgbt.certify.black_box import verification  # noqa: F401 - it registers
from sgbt.certify.black_box.additive import AdditiveModel
from sgbt.certify.black_box.certificate import Answer, EncodedCertificate, EncodedSummary
from sgbt.certify.black_box.certifying import QueryCost, certify_encoded, cost_of
from sgbt.certify.black_box.edited import EditedEncoder, EditedText
from sgbt.certify.black_box.encoder import EncodedText, Encoder
from sgbt.certify.black_box.fitting import AnyEncoder, Trade, fit_encoder, read_encoder
from sgbt.certify.black_box.smoothing import Deletion, Substitution, certify_smoothed
from sgbt.certify.black_box.statistical import StatisticalCertificate, StatisticalSummary

__all__ = [
    "AdditiveModel",
    "Answer",
    "AnyEncoder",
    "Deletion",
    "EditedEncoder",
    "EditedText",
    "EncodedCertificate",
    "EncodedSummary",
    "EncodedText",
    "Encoder",
    "QueryCost",
    "StatisticalCertificate",
    "StatisticalSummary",
    "Substitution",
    "Trade",
    "certify_encoded",
    "certify_smoothed",
    "cost_of",
    "fit_encoder",
    "read_encoder",
]
