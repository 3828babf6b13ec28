"""An LSTM cell as a plain function of one flat input x = (v, h, c), and its derivatives by autograd: the oracle."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def lstm_function(theta: Tensor, hidden: Tensor, bias: Tensor) -> Callable[[Tensor], Tensor]:
    """The paper's map F: x -> o * tanh(f * c + i * g), written out; weights in PyTorch's order i, f, g, o."""
    size, words = hidden.shape[1], theta.shape[1]

    def function(x: Tensor) -> Tensor:
        v, h, c = x[:words], x[words : words + size], x[words + size :]
        i, f, g, o = (theta @ v + hidden @ h + bias).view(4, size)
        return torch.sigmoid(o) * torch.tanh(torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g))

    return function


def function_of_cell(cell: nn.LSTMCell) -> Callable[[Tensor], Tensor]:
    bias = cell.bias_ih + cell.bias_hh if cell.bias else cell.weight_ih.new_zeros(4 * cell.hidden_size)
    return lstm_function(cell.weight_ih, cell.weight_hh, bias)


def jacobians(function: Callable[[Tensor], Tensor], points: Tensor) -> Tensor:
    """Autograd Jacobians at many points: (points, outputs, inputs)."""
    return torch.func.vmap(torch.func.jacrev(function))(points)


def hessians(function: Callable[[Tensor], Tensor], points: Tensor) -> Tensor:
    """Autograd Hessians at many points: (points, outputs, inputs, inputs)."""
    return torch.func.vmap(torch.func.jacfwd(torch.func.jacrev(function)))(points)
