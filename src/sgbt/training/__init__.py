"""Training: an objective, an initialiser, sharing and a recipe, under one loop with early stopping and resumption."""

from sgbt.training.auto import train_auto
from sgbt.training.config import PRESETS, TrainingConfig, preset_for, preset_named
from sgbt.training.initialisers import ClusterMeans, Initialiser, ScaledClusterMeans
from sgbt.training.method import TrainingMethod, method_of
from sgbt.training.objectives.ascc import ASCC
from sgbt.training.objectives.atfl import ATFL
from sgbt.training.objectives.certified import Certified
from sgbt.training.objectives.growth import GBM, SGBT, totals
from sgbt.training.objectives.ibp import IBP
from sgbt.training.objectives.objective import Objective, Standard
from sgbt.training.objectives.sem import SEM
from sgbt.training.recipes import LateFusion, Recipe, Residual, WarmStart
from sgbt.training.sharing import TiedWords
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
    "ClusterMeans",
    "Initialiser",
    "LateFusion",
    "Objective",
    "Recipe",
    "Residual",
    "Run",
    "ScaledClusterMeans",
    "Standard",
    "TiedWords",
    "TrainingConfig",
    "TrainingMethod",
    "WarmStart",
    "method_of",
    "preset_for",
    "preset_named",
    "totals",
    "train",
    "train_auto",
]
