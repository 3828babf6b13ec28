"""Bounds on how fast, and how curved, a layer can respond: differentiable tensor mathematics and nothing else.

A `GrowthBound` bounds every first derivative of a layer over a box of inputs, a `CurvatureBound` every second one (the
paper's GBM and S-GBT). Both are structured operators: their sums, which regularise training, and their contractions,
which bound outputs, cost about as much as reading the weights once. No files, no devices, no printing here.
"""

from sgbt.bounds.activations import ACTIVATIONS, GELU, RELU, SIGMOID, SOFTPLUS, TANH, Activation
from sgbt.bounds.cell import LSTMGates
from sgbt.bounds.cnn import ConvBounds
from sgbt.bounds.curvature import CurvatureBound, StackedCurvature, local_second_order, proposition_one
from sgbt.bounds.domains import (
    Domain,
    ObservedRange,
    cell_state_box,
    embedding_table_box,
    hidden_state_box,
    reachable_cell_state,
    substitution_box,
)
from sgbt.bounds.growth import DENSE_LIMIT_BYTES, GrowthBound, StackedGrowth
from sgbt.bounds.interval import Interval
from sgbt.bounds.lstm import LSTMCellBounds
from sgbt.bounds.penalty import GrowthPenalty

__all__ = [
    "ACTIVATIONS",
    "DENSE_LIMIT_BYTES",
    "GELU",
    "RELU",
    "SIGMOID",
    "SOFTPLUS",
    "TANH",
    "Activation",
    "ConvBounds",
    "CurvatureBound",
    "Domain",
    "GrowthBound",
    "GrowthPenalty",
    "Interval",
    "LSTMCellBounds",
    "LSTMGates",
    "ObservedRange",
    "StackedCurvature",
    "StackedGrowth",
    "cell_state_box",
    "embedding_table_box",
    "hidden_state_box",
    "local_second_order",
    "proposition_one",
    "reachable_cell_state",
    "substitution_box",
]
