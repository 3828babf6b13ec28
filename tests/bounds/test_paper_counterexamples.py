"""Where the paper's printed formulas fall below the true derivative, and ours do not (mathematics: the errata)."""

from __future__ import annotations

import math

import pytest
import torch
from tests.reference.cell import hessians, lstm_function
from tests.reference.paper_cnn import printed_entry
from tests.reference.paper_lstm import paper_cell
from torch import Tensor, nn

from sgbt.bounds import ConvBounds, Interval, LSTMCellBounds, local_second_order
from sgbt.core.errors import BoundError

GATES = ("I", "f", "g", "o")  # PyTorch's order
V, H, C = 0, 1, 2  # the coordinates of x in a cell with one number of each kind


def one_number_cell(weights: dict[str, float]) -> nn.LSTMCell:
    cell = nn.LSTMCell(1, 1, dtype=torch.float64)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        for row, gate in enumerate(GATES):
            cell.weight_ih[row] = weights.get(f"theta_{gate}", 0.0)
            cell.weight_hh[row] = weights.get(f"u_{gate}", 0.0)
    return cell


def true_hessian(cell: nn.LSTMCell, x: Tensor) -> Tensor:
    function = lstm_function(cell.weight_ih, cell.weight_hh, cell.bias_ih + cell.bias_hh)
    return hessians(function, x[None])[0, 0].detach()


COUNTEREXAMPLES = [
    pytest.param({"theta_o": 1.0}, [0.5, 0.0, 0.0], "T_vc", (V, C), 0.1175, id="vc lacks output gate x cell"),
    pytest.param({"u_o": 1.0}, [0.0, 0.5, 0.0], "T_hc", (H, C), 0.1175, id="hc lacks output gate x cell"),
    pytest.param({"theta_o": 1.0, "u_o": 1.0}, [0.5, 0.5, 2.1], "T_vh", (V, H), 0.0710, id="vh lacks sigma'' of o"),
    pytest.param({"theta_f": 1.0}, [0.0, 0.0, 0.0], "T_vc", (V, C), 0.125, id="hess c lacks forget gate x cell"),
]


@pytest.mark.parametrize(("weights", "x", "printed", "entry", "value"), COUNTEREXAMPLES)
def test_the_printed_formula_is_zero_where_the_derivative_is_not(weights, x, printed, entry, value):
    cell, point = one_number_cell(weights), torch.tensor(x, dtype=torch.float64)
    true = abs(float(true_hessian(cell, point)[entry]))
    assert true == pytest.approx(value, abs=5e-5)
    tensors = {name: torch.tensor([[w]], dtype=torch.float64) for name, w in weights.items()}
    assert float(getattr(paper_cell((1, 1), tensors, point), printed)(*entry)) == 0.0
    ours = LSTMCellBounds.of(
        cell, inputs=Interval.point(point[:1]), hidden=Interval.point(point[1:2]), cell_state=Interval.point(point[2:])
    ).curvature
    assert ours.entry(0, *entry).item() == pytest.approx(true, abs=1e-12)
    assert getattr(ours.blocks, printed[-2:]).item() == pytest.approx(true, abs=1e-12)


def test_T_vh_takes_a_word_weight_where_a_hidden_weight_belongs():  # noqa: N802
    """Theta_o = 0, U_o = 1 and a candidate that reads the word: the printed second term is 0, the true one is not."""
    x = torch.tensor([0.3, 0.0, 0.0], dtype=torch.float64)
    cell = one_number_cell({"u_o": 1.0, "theta_g": 1.0})
    weights = {"u_o": torch.ones(1, 1, dtype=torch.float64), "theta_g": torch.ones(1, 1, dtype=torch.float64)}
    true = abs(float(true_hessian(cell, x)[V, H]))
    assert true > 0.1
    assert float(paper_cell((1, 1), weights, x).T_vh(V, H)) == 0.0


@pytest.mark.parametrize(("printed", "entry"), [("T_vv", (V, V)), ("T_hh", (H, H)), ("T_cc", (C, C))])
def test_the_other_three_cases_are_right_at_a_point(printed, entry):
    torch.manual_seed(0)
    names = [f"{kind}_{gate}" for kind in ("theta", "u") for gate in GATES]
    weights = dict(zip(names, torch.randn(8).double().tolist(), strict=True))
    x = torch.randn(3, dtype=torch.float64)
    tensors = {name: torch.tensor([[w]], dtype=torch.float64) for name, w in weights.items()}
    paper = float(getattr(paper_cell((1, 1), tensors, x), printed)(*entry))
    assert paper == pytest.approx(float(true_hessian(one_number_cell(weights), x)[entry]), abs=1e-12)


def test_a_taylor_bound_fails_across_a_change_of_the_winning_window():
    """F = tanh(max(x1, x2)): from (1, .99) to (1, 1.10) it changes by .0389; the local bound allows .0047."""
    x, delta = torch.tensor([1.0, 0.99], dtype=torch.float64), torch.tensor([0.0, 0.11], dtype=torch.float64)
    change = math.tanh(1.10) - math.tanh(1.0)
    assert change == pytest.approx(0.0389, abs=5e-5)
    gradient = torch.tensor([1 - math.tanh(1.0) ** 2, 0.0], dtype=torch.float64)
    naive = abs(float(gradient @ delta)) + 0.5 * 4 / (3 * math.sqrt(3)) * 0.11**2
    assert naive == pytest.approx(0.0047, abs=5e-5)
    assert change > naive

    conv = nn.Conv1d(1, 1, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        conv.weight.fill_(1.0)
    bounds = ConvBounds.of(conv, length=2)
    assert bounds.enclose(x, Interval.point(delta)).contains(torch.tensor([math.tanh(1.10)], dtype=torch.float64))
    with pytest.raises(BoundError, match="max pooling"):
        local_second_order(gradient[None], bounds.curvature, delta)


def test_the_papers_index_functions_shift_by_coordinates():
    """Two words of two numbers, kernel 1: for dimension 2 of word 2 the printed T reads weights that do not exist."""
    weights = torch.tensor([[[0.0], [1.0]]], dtype=torch.float64)  # the filter reads dimension 2 only
    conv = nn.Conv1d(2, 1, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        conv.weight.copy_(weights)
    sup = 4 / (3 * math.sqrt(3))
    j = 4  # dimension 2 of word 2, counted from 1
    assert printed_entry(weights, 2, 1, j, j, sup) == 0.0
    x = torch.tensor([0.0, -3.0, 0.0, 0.5], dtype=torch.float64)
    true = hessians(lambda t: torch.tanh(t.view(2, 2) @ weights[0, :, 0]).amax(0, keepdim=True), x[None])[0, 0]
    assert true[j - 1, j - 1].abs() > 0.7
    bound = ConvBounds.of(conv, length=2).curvature.entry(0, j - 1, j - 1)
    assert bound.item() == pytest.approx(sup)


def test_proposition_5_transposes_theta_and_u():
    """With Theta = [[0, 1]] (d = 1, d0 = 2) the printed Theta_pi does not exist for p = 2; ours is the affine image."""
    theta = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    box = Interval(torch.zeros(2, dtype=torch.float64), torch.tensor([5.0, 1.0], dtype=torch.float64))
    assert box.affine(theta).upper.tolist() == [1.0]
    with pytest.raises(IndexError):
        _ = theta[1, 0]
