from __future__ import annotations

import math
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contracts.cases import conv_function
from tests.reference.cell import hessians, jacobians
from tests.reference.paper_cnn import product_of_maxima
from tests.reference.slow_conv import curvature_entry, growth_entry, window_forms
from tests.strategies import points_in, precisions, radii, random_box, random_conv, scales, seeds, sizes
from torch import nn

from sgbt.bounds import ConvBounds, Interval, ObservedRange, local_second_order, proposition_one
from sgbt.core.errors import BoundError, SgbtWarning

many = settings(max_examples=25, deadline=None)
SUP_TANH_2 = 4 / (3 * math.sqrt(3))
poolings = st.sampled_from(["max", "average"])
smooth_names = st.sampled_from(["tanh", "sigmoid", "gelu", "softplus"])


@st.composite
def shapes(draw):
    """A length, a kernel and a padding that leave at least one window, often fewer windows than taps."""
    kernel, padding = draw(st.integers(1, 4)), draw(st.integers(0, 2))
    least = max(1, kernel - 2 * padding)
    return draw(st.integers(least, least + 4)), kernel, padding


@given(
    shape=shapes(),
    d0=sizes,
    scale=scales,
    radius=radii,
    seed=seeds,
    pooling=poolings,
    name=smooth_names,
    dtype=precisions,
)
@many
def test_no_derivative_of_any_layer_exceeds_its_bound(shape, d0, scale, radius, seed, pooling, name, dtype):
    length, kernel, padding = shape
    conv = random_conv(d0, 2, kernel, scale=scale, seed=seed, padding=padding, dtype=dtype)
    box = random_box((length, d0), radius, seed + 1, dtype)
    points = points_in(box, 200, seed + 2).flatten(1)
    function = conv_function(conv, length, name, pooling)
    gradients, curvatures = jacobians(function, points).abs(), hessians(function, points).abs()
    # float32: z is a sum of up to sixteen products of size up to thirty, off by 2e-5; phi'' is Lipschitz
    rtol, atol = (1e-11, 1e-12) if dtype == torch.float64 else (1e-3, 1e-4)
    atol = atol * max(1.0, scale**2)
    everywhere = ConvBounds.of(conv, length=length, activation=name, pooling=pooling)
    inside = ConvBounds.of(conv, length=length, activation=name, pooling=pooling, inputs=box)
    for bounds in (everywhere, inside):
        assert bool((gradients <= bounds.growth.dense() * (1 + rtol) + atol).all())
        assert bool((curvatures <= bounds.curvature.dense() * (1 + rtol) + atol).all())
    assert bool((inside.growth.dense() <= everywhere.growth.dense() * (1 + rtol) + atol).all())
    assert bool((inside.curvature.dense() <= everywhere.curvature.dense() * (1 + rtol) + atol).all())


@given(shape=shapes(), radius=radii, seed=seeds, pooling=poolings)
@many
def test_entries_equal_the_slow_transcription(shape, radius, seed, pooling):
    length, kernel, padding = shape
    conv = random_conv(2, 2, kernel, scale=1.0, seed=seed, padding=padding)
    box = random_box((length, 2), radius, seed)
    bounds, forms = ConvBounds.of(conv, length=length, pooling=pooling, inputs=box), window_forms(conv, length)
    growth, curvature = bounds.growth.dense(), bounds.curvature.dense()
    slopes, bends = (op.derivative.expand(-1, forms.shape[1]) for op in (bounds.growth, bounds.curvature))
    for i in range(2):
        for j in range(length * 2):
            assert growth[i, j].item() == pytest.approx(growth_entry(forms, slopes, pooling, i, j), abs=1e-12)
            for k in range(0, length * 2, 3):
                expected = curvature_entry(forms, bends, pooling, i, j, k)
                assert curvature[i, j, k].item() == pytest.approx(expected, abs=1e-12)


@given(shape=shapes(), d0=sizes, seed=seeds, pooling=poolings)
@many
def test_words_a_kernel_apart_have_no_curvature(shape, d0, seed, pooling):
    length, kernel, padding = shape
    conv = random_conv(d0, 2, kernel, scale=1.0, seed=seed, padding=padding)
    dense = ConvBounds.of(conv, length=length, pooling=pooling).curvature.dense().view(2, length, d0, length, d0)
    for first in range(length):
        for second in range(length):
            if abs(first - second) >= kernel:
                assert dense[:, first, :, second].abs().max() == 0


@given(d0=sizes, kernel=st.integers(1, 3), extra=st.integers(0, 4), seed=seeds)
@many
def test_tight_entries_never_exceed_the_papers_product_of_maxima(d0, kernel, extra, seed):
    length = kernel + extra
    conv = random_conv(d0, 2, kernel, scale=1.0, seed=seed)
    curvature = ConvBounds.of(conv, length=length).curvature
    paper = product_of_maxima(conv.weight.detach(), length, SUP_TANH_2)
    assert bool((curvature.dense() <= paper + 1e-12).all())
    assert curvature.dense().sum() <= curvature.total() * (1 + 1e-12)


def test_border_words_are_bounded_by_the_taps_that_reach_them():
    """The first word is read through the first tap only, the last through the last, the middle through all."""
    conv = nn.Conv1d(1, 1, 3, bias=False, dtype=torch.float64)
    with torch.no_grad():
        conv.weight.copy_(torch.tensor([[[1.0, 5.0, 3.0]]]))
    bounds = ConvBounds.of(conv, length=6)
    assert bounds.growth.dense()[0].tolist() == [1.0, 5.0, 5.0, 5.0, 5.0, 3.0]
    assert bounds.growth.total().item() == 24.0
    padded = nn.Conv1d(1, 1, 3, padding=1, bias=False, dtype=torch.float64)
    padded.load_state_dict(conv.state_dict())
    assert ConvBounds.of(padded, length=6).growth.dense()[0].tolist() == [5.0] * 6
    assert ConvBounds.of(conv, length=3).growth.dense()[0].tolist() == [1.0, 5.0, 3.0]
    assert ConvBounds.of(conv, length=4).growth.dense()[0].tolist() == [1.0, 5.0, 5.0, 3.0]


def test_total_over_reals_is_the_closed_form_by_windows():
    """sup |phi''| sum_i (N - k + 1) ||W_i||_1^2: it grows with the length, where the paper says it does not."""
    conv = random_conv(5, 4, 3, scale=1.0, seed=0)
    norms = conv.weight.detach().abs().sum((1, 2))
    for length in (3, 10, 50):
        expected = SUP_TANH_2 * (length - 2) * (norms**2).sum()
        torch.testing.assert_close(ConvBounds.of(conv, length=length).curvature.total(), expected)
    average = ConvBounds.of(conv, length=50, pooling="average")
    torch.testing.assert_close(average.curvature.total(), SUP_TANH_2 * (norms**2).sum())
    torch.testing.assert_close(average.growth.total(), norms.sum())


def test_one_box_for_all_words_equals_the_same_box_for_each():
    conv = random_conv(3, 2, 2, scale=1.0, seed=1)
    box = random_box(3, 1.0, 2)
    for pooling in ("max", "average"):
        shared = ConvBounds.of(conv, length=5, pooling=pooling, inputs=box)
        spread = ConvBounds.of(conv, length=5, pooling=pooling, inputs=box.expand(5, 3))
        torch.testing.assert_close(shared.growth.dense(), spread.growth.dense())
        torch.testing.assert_close(shared.curvature.dense(), spread.curvature.dense())
        torch.testing.assert_close(shared.curvature.total(), spread.curvature.total())


def test_average_pooling_keeps_cancellation_between_windows():
    """W = (1, -1) read by two windows: at equal slopes the middle word cancels, which factor by factor it cannot."""
    conv = nn.Conv1d(1, 1, 2, bias=False, dtype=torch.float64)
    with torch.no_grad():
        conv.weight.copy_(torch.tensor([[[1.0, -1.0]]]))
    still = Interval.point(torch.zeros(3, 1, dtype=torch.float64))
    growth = ConvBounds.of(conv, length=3, pooling="average", inputs=still).growth
    assert growth.dense()[0].tolist() == [0.5, 0.0, 0.5]
    assert growth.dense(factorised=True)[0].tolist() == [0.5, 1.0, 0.5]


def test_a_window_that_cannot_win_does_not_count():
    conv = nn.Conv1d(1, 1, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        conv.weight.fill_(1.0)
    box = Interval(
        torch.tensor([[1.0], [-2.0], [0.9]], dtype=torch.float64),
        torch.tensor([[1.2], [0.5], [1.1]], dtype=torch.float64),
    )
    growth = ConvBounds.of(conv, length=3, inputs=box).growth.dense()[0]
    assert growth[1] == 0
    assert bool((growth[[0, 2]] > 0).all())


@pytest.mark.parametrize("pooling", ["max", "average"])
@pytest.mark.parametrize("name", ["tanh", "sigmoid", "gelu", "softplus"])
@given(seed=seeds, radius=radii)
@settings(max_examples=10, deadline=None)
def test_enclosing_each_window_is_sound_whichever_wins(name, pooling, seed, radius):
    conv = random_conv(2, 3, 2, scale=1.0, seed=seed, padding=1)
    box = random_box((5, 2), radius, seed)
    flat = Interval(box.lower.flatten(), box.upper.flatten())
    function = torch.func.vmap(conv_function(conv, 5, name, pooling))
    for inputs in (None, box):
        bounds = ConvBounds.of(conv, length=5, activation=name, pooling=pooling, inputs=inputs)
        texts, others = points_in(flat, 40, seed), points_in(flat, 40, seed + 1)
        enclosure = bounds.enclose(texts, Interval(flat.lower - texts, flat.upper - texts))
        assert enclosure.contains(function(others), slack=1e-11)
        exact = bounds.enclose(texts, Interval.point(others - texts))
        assert exact.contains(function(others), slack=1e-11)


def test_enclose_refuses_a_text_that_leaves_the_domain():
    conv = random_conv(2, 3, 2, scale=1.0, seed=0)
    bounds = ConvBounds.of(conv, length=3, inputs=Interval.symmetric(torch.ones(2, dtype=torch.float64)))
    text = torch.zeros(6, dtype=torch.float64)
    bounds.enclose(text, Interval.symmetric(torch.ones(6, dtype=torch.float64)))
    with pytest.raises(BoundError, match="leaves"):
        bounds.enclose(text + 0.1, Interval.symmetric(torch.ones(6, dtype=torch.float64)))


@pytest.mark.parametrize("pooling", ["max", "average"])
def test_weights_always_get_a_gradient_and_biases_where_the_bound_depends_on_them(pooling):
    conv = random_conv(4, 3, 2, scale=0.5, seed=1)

    def slopes(inputs, operator):
        total = getattr(ConvBounds.of(conv, length=6, pooling=pooling, inputs=inputs), operator).total()
        return torch.autograd.grad(total, [conv.weight, conv.bias], allow_unused=True, materialize_grads=True)

    narrow = random_box((6, 4), 0.05, 3)  # boxes around one text
    wide = Interval.symmetric(torch.full((4,), 3.0, dtype=torch.float64))  # every pre-activation may be 0
    for operator in ("growth", "curvature"):
        assert all(slope.abs().max() > 1e-6 for slope in slopes(narrow, operator))
        for domain in (None, wide):
            weight, bias = slopes(domain, operator)
            assert weight.abs().min() > 1e-6
            assert bias.abs().max() == 0


def test_over_a_wide_box_the_supremum_itself_does_not_depend_on_the_bias():
    """Not a lost gradient: moving the bias does not change what the derivative can reach."""
    conv = random_conv(1, 1, 1, scale=0.5, seed=1)
    grid = torch.linspace(-3, 3, 20_001, dtype=torch.float64)[:, None]
    reached = []
    for shift in (0.0, 0.01):
        z = conv.weight[0, 0, 0] * grid + conv.bias[0] + shift
        reached.append(((1 - z.tanh() ** 2).max(), (2 * z.tanh() * (1 - z.tanh() ** 2)).abs().max()))
    for one, other in zip(*reached, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-7)


def test_relu_has_a_growth_bound_and_a_zero_curvature_with_a_warning():
    conv = random_conv(2, 2, 2, scale=1.0, seed=0)
    with pytest.warns(SgbtWarning, match="kink"):
        bounds = ConvBounds.of(conv, length=4, activation="relu", pooling="average")
    points = points_in(Interval.symmetric(torch.full((8,), 3.0, dtype=torch.float64)), 500, 0)
    function = conv_function(conv, 4, "relu", "average")
    assert bool((jacobians(function, points).abs() <= bounds.growth.dense() + 1e-12).all())
    assert bounds.curvature.total() == 0
    delta = torch.zeros(8, dtype=torch.float64)
    with pytest.raises(BoundError, match="kink"):
        local_second_order(torch.zeros(2, 8, dtype=torch.float64), bounds.curvature, delta)
    with pytest.raises(BoundError, match="kink"):
        bounds.enclose(delta, Interval.point(delta))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"stride": 2}, "stride"),
        ({"dilation": 2}, "dilation"),
        ({"groups": 2}, "groups"),
        ({"padding": "same", "kernel_size": 2}, "even kernel"),
        ({"padding": 1, "padding_mode": "circular"}, "padding_mode"),
        ({"kernel_size": 5}, "no window"),
    ],
)
def test_other_convolutions_are_refused(options, complaint):
    conv = nn.Conv1d(2, 2, **{"kernel_size": 3, **options})
    with pytest.raises(BoundError, match=complaint):
        ConvBounds.of(conv, length=4)


def test_paddings_by_name_and_poolings_by_name():
    same = nn.Conv1d(2, 2, 3, padding="same")
    assert ConvBounds.of(same, length=4).growth.windows.count == 4
    assert ConvBounds.of(nn.Conv1d(2, 2, 3, padding="valid"), length=4).growth.windows.count == 2
    with pytest.raises(BoundError, match="median"):
        ConvBounds.of(same, length=4, pooling="median")
    with pytest.raises(BoundError, match="inputs"):
        ConvBounds.of(same, length=4, inputs=Interval.point(torch.zeros(3, 2)))


def test_a_text_shorter_than_the_kernel_has_windows_only_with_padding():
    padded = nn.Conv1d(1, 1, 3, padding=1, dtype=torch.float64)
    bounds = ConvBounds.of(padded, length=1)
    torch.testing.assert_close(bounds.growth.dense(), padded.weight.detach()[:, :, 1].abs())
    with pytest.raises(BoundError, match="at least 3 words"):
        ConvBounds.of(nn.Conv1d(1, 1, 3), length=2)


def test_a_long_text_is_refused_densely_and_bounded_all_the_same():
    conv = nn.Conv1d(300, 128, 3)
    bounds = ConvBounds.of(conv, length=512)
    with pytest.raises(BoundError, match=r"which would take 12\.1 TB"):
        bounds.curvature.dense()
    assert torch.isfinite(bounds.growth.total() + bounds.curvature.total())
    assert bounds.curvature.entry(5, 300 * 200 + 7, 300 * 202 + 9) > 0
    assert bounds.curvature.entry(5, 300 * 200 + 7, 300 * 203 + 9) == 0
    assert bounds.curvature.apply(torch.ones(2, 512 * 300)).shape == (2, 128)


def test_an_observed_range_regularises_and_never_certifies():
    conv = random_conv(2, 2, 2, scale=1.0, seed=0)
    bounds = ConvBounds.of(conv, length=4, inputs=ObservedRange.of(torch.randn(9, 4, 2, dtype=torch.float64)))
    assert torch.isfinite(bounds.growth.total() + bounds.curvature.total())
    delta = torch.zeros(8, dtype=torch.float64)
    for call in (
        lambda: bounds.growth.apply(delta),
        lambda: bounds.curvature.apply(delta),
        lambda: bounds.enclose(delta, Interval.point(delta)),
        lambda: proposition_one(torch.zeros(2, dtype=torch.float64), bounds.growth, bounds.curvature, delta),
    ):
        with pytest.raises(BoundError, match="ObservedRange"):
            call()


def test_smooth_activations_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConvBounds.of(nn.Conv1d(2, 2, 2), length=4, activation="gelu")
