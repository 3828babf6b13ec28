"""Proposition 2 exactly as the paper prints it, at one point, entry by entry. Kept to show where it fails.

Indices are the paper's, counted from 0: j and k run over x = (v, h, c). `weight(gate)` is W^(gate)(i, j) of the proof:
Theta on words, U on hidden states, 0 on cell states.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

GATES = ("I", "f", "g", "o")


def d_sigma(z: Tensor) -> Tensor:
    return torch.sigmoid(z) * (1 - torch.sigmoid(z))


def d2_sigma(z: Tensor) -> Tensor:
    return d_sigma(z) * (1 - 2 * torch.sigmoid(z))


def d_tanh(z: Tensor) -> Tensor:
    return 1 - torch.tanh(z) ** 2


def d2_tanh(z: Tensor) -> Tensor:
    return -2 * torch.tanh(z) * d_tanh(z)


@dataclass(frozen=True)
class PaperCell:
    """One cell with the paper's printed formulas for one output i at one point x."""

    theta: dict[str, Tensor]
    hidden: dict[str, Tensor]
    bias: dict[str, Tensor]
    x: Tensor
    i: int

    @property
    def d0(self) -> int:
        return self.theta["o"].shape[1]

    @property
    def d(self) -> int:
        return self.theta["o"].shape[0]

    def gate(self, name: str) -> Tensor:
        v, h = self.x[: self.d0], self.x[self.d0 : self.d0 + self.d]
        return self.theta[name][self.i] @ v + self.hidden[name][self.i] @ h + self.bias[name][self.i]

    def weight(self, name: str, j: int) -> Tensor:
        if j < self.d0:
            return self.theta[name][self.i, j]
        if j < self.d0 + self.d:
            return self.hidden[name][self.i, j - self.d0]
        return torch.zeros((), dtype=self.x.dtype)

    @property
    def previous(self) -> Tensor:
        return self.x[self.d0 + self.d + self.i]

    def state(self) -> Tensor:
        return torch.sigmoid(self.gate("f")) * self.previous + torch.sigmoid(self.gate("I")) * torch.tanh(
            self.gate("g")
        )

    def d_state(self, j: int) -> Tensor:
        """The equation of d c_t / d x^j, which is right."""
        own = 1.0 if j == self.d0 + self.d + self.i else 0.0
        return (
            self.weight("f", j) * d_sigma(self.gate("f")) * self.previous
            + torch.sigmoid(self.gate("f")) * own
            + self.weight("I", j) * d_sigma(self.gate("I")) * torch.tanh(self.gate("g"))
            + torch.sigmoid(self.gate("I")) * self.weight("g", j) * d_tanh(self.gate("g"))
        )

    def d2_state(self, j: int, k: int) -> Tensor:
        """The equation of d2 c_t / d x^j d x^k, which lacks W^(f)(i, j) sigma'(T_f) when k is the cell state."""
        w, f, i, g = self.weight, self.gate("f"), self.gate("I"), self.gate("g")
        return (
            w("f", j) * w("f", k) * d2_sigma(f) * self.previous
            + w("I", j) * w("I", k) * d2_sigma(i) * torch.tanh(g)
            + w("I", j) * w("g", k) * d_sigma(i) * d_tanh(g)
            + w("I", k) * w("g", j) * d_sigma(i) * d_tanh(g)
            + w("g", j) * w("g", k) * torch.sigmoid(i) * d2_tanh(g)
        )

    def through_state(self, j: int, k: int) -> Tensor:
        """The two terms that every case has."""
        o, c = torch.sigmoid(self.gate("o")), self.state()
        return o * d2_tanh(c) * self.d_state(j) * self.d_state(k) + o * d_tanh(c) * self.d2_state(j, k)

    def T_vv(self, j: int, k: int) -> Tensor:  # noqa: N802
        o, c, theta = self.gate("o"), self.state(), self.theta["o"][self.i]
        return (
            theta[j] * theta[k] * d2_sigma(o) * torch.tanh(c)
            + theta[j] * d_sigma(o) * d_tanh(c) * self.d_state(k)
            + theta[k] * d_sigma(o) * d_tanh(c) * self.d_state(j)
            + self.through_state(j, k)
        )

    def T_hh(self, j: int, k: int) -> Tensor:  # noqa: N802
        o, c, u = self.gate("o"), self.state(), self.hidden["o"][self.i]
        return (
            u[j - self.d0] * u[k - self.d0] * d2_sigma(o) * torch.tanh(c)
            + u[j - self.d0] * d_sigma(o) * d_tanh(c) * self.d_state(k)
            + u[k - self.d0] * d_sigma(o) * d_tanh(c) * self.d_state(j)
            + self.through_state(j, k)
        )

    def T_vh(self, j: int, k: int) -> Tensor:  # noqa: N802
        """As printed: no sigma'' term, and Theta where U belongs (0 where that index runs past Theta's columns)."""
        o, c, theta = self.gate("o"), self.state(), self.theta["o"][self.i]
        printed = theta[k - self.d0] if k - self.d0 < self.d0 else torch.zeros((), dtype=self.x.dtype)
        return (
            theta[j] * d_sigma(o) * d_tanh(c) * self.d_state(k)
            + printed * d_sigma(o) * d_tanh(c) * self.d_state(j)
            + self.through_state(j, k)
        )

    def T_vc(self, j: int, k: int) -> Tensor:  # noqa: N802
        return self.through_state(j, k)

    def T_hc(self, j: int, k: int) -> Tensor:  # noqa: N802
        return self.through_state(j, k)

    def T_cc(self, j: int, k: int) -> Tensor:  # noqa: N802
        return self.through_state(j, k)


def paper_cell(sizes: tuple[int, int], weights: dict[str, Tensor], x: Tensor, *, i: int = 0) -> PaperCell:
    """A cell that is zero but for the named weights, 'theta_o' or 'u_f' and the like."""
    d0, d = sizes
    zeros = torch.zeros(d, d0 + d + 1, dtype=x.dtype)
    return PaperCell(
        theta={g: weights.get(f"theta_{g}", zeros[:, :d0]) for g in GATES},
        hidden={g: weights.get(f"u_{g}", zeros[:, d0 : d0 + d]) for g in GATES},
        bias={g: weights.get(f"b_{g}", zeros[:, -1]) for g in GATES},
        x=x,
        i=i,
    )
