"""Training: objectives, each one small file that names its paper, under one loop with early stopping and resumption."""

from sgbt.training.ascc import ASCC
from sgbt.training.atfl import ATFL
from sgbt.training.certified import Certified
from sgbt.training.config import PRESETS, TrainingConfig, preset_for, preset_named
from sgbt.training.growth import GBM, SGBT
from sgbt.training.ibp import IBP
from sgbt.training.objective import Objective, Standard
from sgbt.training.penalties import totals
from sgbt.training.sem import SEM
from sgbt.training.train import Run, train

__all__ = [
    "ASCC",
    "ATFL",
    "GBM",
    "IBP",
    "PRESETS",
    "SEM",
    "SGBT",
    "Certified",
    "Objective",
    "Run",
    "Standard",
    "TrainingConfig",
    "preset_for",
    "preset_named",
    "totals",
    "train",
]
