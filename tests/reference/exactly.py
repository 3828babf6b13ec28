"""Bounds of a BiLSTM as they would be without rounding: what is allowed for it left out."""

from __future__ import annotations

import pytest
from torch import Tensor

from sgbt.certify.bilstm.rounding import LocalErrors
from sgbt.models import BiLSTM


def without_allowances(patch: pytest.MonkeyPatch) -> None:
    """Leave the allowances out, until the patch is undone."""
    patch.setattr(LocalErrors, "of", staticmethod(_none))


def _none(model: BiLSTM, lengths: Tensor) -> LocalErrors:
    zero = model.head.weight.new_zeros(2, 1, 4 * model.config.hidden)
    return LocalErrors(zero, 0.0, zero.new_zeros(len(lengths)), zero, zero[..., : model.config.hidden])
