"""What a table of texts gains: the columns of a prediction and of a certificate, as cells to be written."""

from __future__ import annotations

from sgbt.certify.certificate import Certificate

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
