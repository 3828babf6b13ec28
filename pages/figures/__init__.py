"""Every figure of the documents, one module for each kind of row."""

from pages.figures import (
    any_model,
    certificates,
    demo,
    grids,
    newcomers,
    rebuilds,
    records,
    reproduction,
    speed,
    threats,
    trial_tables,
    trials,
    trust,
)
from pages.registry import FIGURES

__all__ = [
    "FIGURES",
    "any_model",
    "certificates",
    "demo",
    "grids",
    "newcomers",
    "rebuilds",
    "records",
    "reproduction",
    "speed",
    "threats",
    "trial_tables",
    "trials",
    "trust",
]
