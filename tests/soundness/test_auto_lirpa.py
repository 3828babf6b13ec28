"""Interval bounds are those of auto_LiRPA, where that is installed: two programs, one number.

auto_LiRPA is given what stands behind the first affine map: the images of words, in the box that substitutes span.
"""

from __future__ import annotations

import pytest
import torch
from tests.reference.exactly import without_allowances
from tests.soundness.cases import random_bilstm, random_cnn, random_question
from torch import Tensor, nn

from sgbt.certify import Specification, in_float64, margin_bounds
from sgbt.models import BiLSTM, TextCNN
from sgbt.models.bilstm import reversed_within

pytestmark = pytest.mark.soak
TOLERANCE = 1e-12


class CNNFromImages(nn.Module):
    """The margins of one text of a TextCNN, from what each word adds to each filter: [1, words, outputs]."""

    def __init__(self, model: TextCNN, length: int, rows: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.config, self.length = model.config, length
        self.biases = nn.ParameterList([layer.get_parameter("bias") for layer in model.convolutions])
        self.last = nn.Linear(rows.shape[1], len(rows), dtype=torch.float64)
        self.last.weight.data, self.last.bias.data = rows, bias

    def forward(self, images: Tensor) -> Tensor:
        features, at, filters = [], 0, self.config.filters
        phi = getattr(torch, self.config.activation)
        for size, bias in zip(self.config.kernel_sizes, self.biases, strict=True):
            count = max(self.length - size + 1, 1)
            z = bias
            for offset in range(size):
                first = at + offset * filters
                z = z + images[:, offset : offset + count, first : first + filters]
            at += size * filters
            value = phi(z)
            features.append(value.mean(dim=1) if self.config.pooling == "mean" else value.max(dim=1)[0])
        return self.last(torch.cat(features, dim=1))


class LSTMFromImages(nn.Module):
    """The margins of one text of a BiLSTM, from what each word adds to the gates: [1, words, 2 directions x gates]."""

    def __init__(self, model: BiLSTM, length: int, rows: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.pooling, self.length, self.hidden = model.config.pooling, max(length, 1), model.config.hidden
        self.recurrent = nn.ModuleList()
        for lstm in (model.forwards, model.backwards):
            layer = nn.Linear(self.hidden, 4 * self.hidden, bias=False, dtype=torch.float64)
            layer.weight.data = lstm.get_parameter("weight_hh_l0").data
            self.recurrent.append(layer)
        self.last = nn.Linear(rows.shape[1], len(rows), dtype=torch.float64)
        self.last.weight.data, self.last.bias.data = rows, bias

    def forward(self, images: Tensor) -> Tensor:
        pooled, gates = [], 4 * self.hidden
        for side, layer in enumerate(self.recurrent):
            states: list[Tensor] = []
            cell = hidden = images[:, 0, : self.hidden] * 0.0
            for step in range(self.length):
                z = images[:, step, side * gates : (side + 1) * gates] + layer(hidden)
                i, f, g, o = (z[:, part * self.hidden : (part + 1) * self.hidden] for part in range(4))
                cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
                hidden = torch.sigmoid(o) * torch.tanh(cell)
                states.append(hidden)
            if self.pooling == "last":
                pooled.append(states[-1])
            elif self.pooling == "mean":
                total = states[0]
                for state in states[1:]:
                    total = total + state
                pooled.append(total / self.length)
            else:
                pooled.append(torch.stack(states, dim=1).max(dim=1)[0])
        return self.last(torch.cat(pooled, dim=1))


def boxes(model: TextCNN | BiLSTM, spec: Specification, text: int) -> tuple[Tensor, Tensor]:
    """The least and greatest image of every word of a text over its choices: [1, words, outputs] twice."""
    length = int(spec.lengths[text])
    if isinstance(model, TextCNN):
        weights = [layer.get_parameter("weight").permute(2, 0, 1).flatten(0, 1) for layer in model.convolutions]
        biases = [torch.zeros(len(weight), dtype=torch.float64) for weight in weights]
        words = max(length, *model.config.kernel_sizes)
    else:
        sides = (model.forwards, model.backwards)
        weights = [lstm.get_parameter("weight_ih_l0") for lstm in sides]
        biases = [lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0") for lstm in sides]
        words = max(length, 1)
    low, high = [], []
    for place in range(words):
        ids = torch.zeros(1, dtype=torch.int64)
        if place < length:
            ids = spec.ids[text, place][spec.allowed[text, place]]
        vectors = model.embedding(model.embedding.encode(ids))
        images = torch.cat([vectors @ weight.T + bias for weight, bias in zip(weights, biases, strict=True)], dim=1)
        low.append(images.amin(dim=0))
        high.append(images.amax(dim=0))
    ends = [torch.stack(end).unsqueeze(0) for end in (low, high)]
    if isinstance(model, BiLSTM):  # each direction in its reading order
        half = ends[0].shape[2] // 2
        turned = [reversed_within(end[..., half:], torch.tensor([words])) for end in ends]
        ends = [torch.cat([end[..., :half], back], dim=2) for end, back in zip(ends, turned, strict=True)]
    return ends[0], ends[1]


def theirs(network: nn.Module, low: Tensor, high: Tensor) -> Tensor:
    """The lower interval bounds of auto_LiRPA."""
    lirpa = pytest.importorskip("auto_LiRPA")
    middle = (low + high) / 2
    bounded = lirpa.BoundedModule(network.eval(), middle)
    around = lirpa.PerturbationLpNorm(norm=float("inf"), x_L=low, x_U=high)
    lower, _ = bounded.compute_bounds(x=(lirpa.BoundedTensor(middle, around),), method="IBP")
    return lower[0].detach()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["tanh mean", "tanh max", "sigmoid mean", "relu max", "relu mean"])
def test_a_textcnn_has_the_interval_bounds_of_auto_lirpa(kind: str, seed: int) -> None:
    activation, pooling = kind.split()
    classes = 2 + seed % 2
    model = random_cnn(seed, classes=classes, pooling=pooling, activation=activation)
    _compare(in_float64(model), CNNFromImages, seed, classes)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
def test_a_bilstm_has_the_interval_bounds_of_auto_lirpa(
    pooling: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for what is allowed for rounding, of which auto_LiRPA takes no account."""
    without_allowances(monkeypatch)
    classes = 2 + seed % 2
    model = random_bilstm(seed, classes=classes, pooling=pooling, gain=1.0 + seed)
    _compare(in_float64(model), LSTMFromImages, seed, classes)  # type: ignore[arg-type]


def _compare(
    model: TextCNN | BiLSTM, make: type[CNNFromImages] | type[LSTMFromImages], seed: int, classes: int
) -> None:
    pytest.importorskip("auto_LiRPA")
    spec = random_question(seed, classes=classes, words=6)
    own = margin_bounds("ibp", model, spec)
    weight, bias = spec.against_rivals(model.head.weight, model.head.bias)
    for text in range(len(spec)):
        network = make(model, int(spec.lengths[text]), weight[text], bias[text])  # type: ignore[arg-type]
        found = theirs(network, *boxes(model, spec, text))
        assert torch.allclose(found, own[text], rtol=0, atol=TOLERANCE), (text, found - own[text])
