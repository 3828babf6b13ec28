"""The penalty of anybody's network: its value, its gradients, its refusals, and that it makes a network smoother."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sgbt.bounds import ConvBounds, GrowthPenalty, Interval, LSTMCellBounds, ObservedRange, hidden_state_box
from sgbt.core.errors import BoundError, SgbtWarning


class Own(nn.Module):
    """A network that somebody else wrote."""

    def __init__(self, **lstm: object) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(30, 5)
        self.lstm = nn.LSTM(5, 4, batch_first=True, **lstm)  # type: ignore[arg-type]
        self.conv = nn.Conv1d(5, 6, 3, padding=1)
        self.head = nn.Linear(self.lstm.hidden_size * (2 if self.lstm.bidirectional else 1) + 6, 2)

    def forward(self, ids: Tensor) -> Tensor:
        words = self.embedding(ids)
        states = self.lstm(words)[0].amax(1)
        return self.head(torch.cat((states, self.conv(words.mT).tanh().amax(2)), dim=1))


def test_a_fresh_penalty_is_beta_plus_gamma() -> None:
    own = Own()
    penalty = GrowthPenalty(own, inputs=own.embedding, beta=0.2, gamma=0.5)
    assert float(penalty().detach()) == pytest.approx(0.7)


@pytest.mark.parametrize("options", [{}, {"bidirectional": True}, {"num_layers": 2, "bidirectional": True}])
def test_it_is_the_sum_over_all_layers_and_directions(options: dict[str, object]) -> None:
    own = Own(**options).double()
    penalty = GrowthPenalty(own, inputs=own.embedding, length=20)
    directions = ("forward", "backward") if own.lstm.bidirectional else ("forward",)
    words = Interval.hull(own.embedding.weight)
    parts = [
        LSTMCellBounds.of(
            own.lstm,
            inputs=words if layer == 0 else hidden_state_box(4 * len(directions)),
            steps=20,
            direction=direction,
            layer=layer,
        )
        for layer in range(own.lstm.num_layers)
        for direction in directions
    ]
    growth, curvature = penalty.totals()
    conv = ConvBounds.of(own.conv, length=20)
    torch.testing.assert_close(growth, sum(part.growth.total() for part in parts) + conv.growth.total())
    torch.testing.assert_close(curvature, sum(part.curvature.total() for part in parts) + conv.curvature.total())
    assert len(list(penalty.layers())) == len(parts) + 1


def test_every_weight_that_it_depends_on_has_a_gradient() -> None:
    own = Own(bidirectional=True, num_layers=2)
    GrowthPenalty(own, inputs=own.embedding, length=8)().backward()
    for name, parameter in own.named_parameters():
        if name.startswith("head") or name == "conv.bias":  # over all reals, no bound depends on a bias
            assert parameter.grad is None or not parameter.grad.any(), name
        else:
            assert parameter.grad is not None, name
            assert bool(parameter.grad.isfinite().all()), name
            assert bool(parameter.grad.any()), name


def test_one_added_line_makes_a_network_smoother() -> None:
    ids, labels = torch.randint(30, (16, 7)), torch.randint(2, (16,))
    ends = []
    for weight in (0.0, 1.0):
        own = Own()
        penalty = GrowthPenalty(own, inputs=own.embedding, beta=weight, gamma=weight, length=7)
        optimiser = torch.optim.Adam(own.parameters(), lr=0.01)
        for _ in range(30):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(own(ids), labels) + penalty()
            loss.backward()
            optimiser.step()
        ends.append([float(total.detach()) for total in penalty.totals()])
    assert ends[1][0] < 0.8 * ends[0][0]
    assert ends[1][1] < 0.8 * ends[0][1]


def test_a_reference_that_was_kept_goes_on() -> None:
    own = Own()
    first = GrowthPenalty(own, inputs=2.0)
    with torch.no_grad():
        own.conv.weight.mul_(0.5)
        own.lstm.weight_ih_l0.mul_(0.5)
    again = GrowthPenalty(own, inputs=2.0, reference=first.reference)
    torch.testing.assert_close(first(), again())
    assert float(again().detach()) < 0.4


@pytest.mark.parametrize(
    "inputs",
    [3.0, Interval.symmetric(torch.full((5,), 3.0)), ObservedRange.of(torch.tensor([[3.0] * 5, [-3.0] * 5]))],
)
def test_a_number_a_box_and_a_range_mean_the_same(inputs: object) -> None:
    own = Own()
    expected = GrowthPenalty(own, inputs=3.0).totals()
    torch.testing.assert_close(GrowthPenalty(own, inputs=inputs).totals(), expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("module", "options", "sentence"),
    [
        (nn.LSTM(3, 4), {}, "where the vectors lie"),
        (nn.LSTM(3, 4), {"inputs": -1.0}, "where the vectors lie"),
        (nn.LSTM(3, 4, proj_size=2), {"inputs": 1.0}, "without projection"),
        (nn.Linear(3, 4), {}, "got Linear"),
        (nn.Conv1d(3, 4, 2), {"beta": -1.0}, "beta of at least 0"),
        (nn.Conv1d(3, 4, 2), {"gamma": float("nan")}, "gamma of at least 0"),
        (nn.Conv1d(3, 4, 2, stride=2), {}, "stride"),
        (nn.Conv1d(3, 4, 2), {"activation": "tanhh"}, "tanh"),
    ],
)
def test_refusals(module: nn.Module, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(BoundError, match=sentence):
        GrowthPenalty(module, **options)  # type: ignore[arg-type]


def test_a_kink_is_told_once() -> None:
    with pytest.warns(SgbtWarning, match="kink"):
        penalty = GrowthPenalty(nn.Conv1d(3, 4, 2), activation="relu")
    penalty()  # a second warning would be an error here
    GrowthPenalty(nn.Conv1d(3, 4, 2), activation="relu", gamma=0.0)
