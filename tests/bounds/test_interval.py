from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import generator, points_in, precisions, radii, random_box, seeds, shrink, sizes

from sgbt.bounds import Interval
from sgbt.core.errors import BoundError

many = settings(max_examples=60, deadline=None)

OPERATIONS = {
    "sum": (lambda a, b: a + b, lambda a, b: a + b),
    "difference": (lambda a, b: a - b, lambda a, b: a - b),
    "negation": (lambda a, b: -a, lambda a, b: -a),
    "product": (lambda a, b: a * b, lambda a, b: a * b),
    "scaling": (lambda a, b: a * -2.5, lambda a, b: a * -2.5),
    "shift": (lambda a, b: a + 1.5, lambda a, b: a + 1.5),
    "square": (lambda a, b: a.square(), lambda a, b: a * a),
    "rising map": (lambda a, b: a.monotone(torch.exp), lambda a, b: a.exp()),
    "falling map": (lambda a, b: a.monotone(lambda z: -z.atan()), lambda a, b: -a.atan()),
    "map that turns": (lambda a, b: a.image(torch.cosh, turning_points=(0.0,)), lambda a, b: a.cosh()),
    "sum over a dimension": (lambda a, b: a.sum(-1), lambda a, b: a.sum(-1)),
    "join": (lambda a, b: a.join(b), lambda a, b: a),
}
every_operation = pytest.mark.parametrize("name", OPERATIONS)


@every_operation
@given(size=sizes, radius=radii, seed=seeds, dtype=precisions)
@many
def test_operations_enclose_are_exact_on_points_and_shrink(name, size, radius, seed, dtype):
    on_boxes, on_points = OPERATIONS[name]
    a, b = random_box(size, radius, seed, dtype), random_box(size, radius, seed + 1, dtype)
    result = on_boxes(a, b)
    # float32: values up to e^3 * 3, so a few units of 1e-7 relative is below 1e-4
    slack = 1e-12 if dtype == torch.float64 else 1e-4
    assert result.contains(on_points(points_in(a, 50, seed), points_in(b, 50, seed + 2)), slack=slack)
    smaller = on_boxes(shrink(a, seed + 3), shrink(b, seed + 4))
    assert result.contains(smaller, slack=slack)
    if name != "join":
        at_point = on_boxes(Interval.point(a.lower), Interval.point(b.lower))
        assert torch.allclose(at_point.lower, at_point.upper, rtol=0, atol=slack)
        assert torch.allclose(at_point.lower, on_points(a.lower, b.lower), rtol=0, atol=slack)


@every_operation
def test_operations_carry_gradients_to_both_ends(name):
    on_boxes, _ = OPERATIONS[name]
    lower = torch.tensor([-1.0, 0.5], dtype=torch.float64, requires_grad=True)
    upper = torch.tensor([0.3, 2.0], dtype=torch.float64, requires_grad=True)
    result = on_boxes(Interval(lower, upper), Interval.point(torch.ones(2, dtype=torch.float64)))
    slopes = torch.autograd.grad((2 * result.upper - result.lower).sum(), (lower, upper))
    assert all(slope.abs().max() > 0 for slope in slopes)


@given(size=sizes, outputs=sizes, radius=radii, seed=seeds)
@many
def test_affine_image_is_the_papers_proposition_4(size, outputs, radius, seed):
    """Each coordinate at the end that the sign of its weight selects; attained, so nothing smaller would do."""
    box = random_box(size, radius, seed)
    weight = torch.randn(outputs, size, generator=generator(seed), dtype=torch.float64)
    weight[0, 0] = 0.0
    bias = torch.randn(outputs, generator=generator(seed + 1), dtype=torch.float64)
    image = box.affine(weight, bias)
    rising = weight >= 0
    lower = (weight * torch.where(rising, box.lower, box.upper)).sum(1) + bias
    upper = (weight * torch.where(rising, box.upper, box.lower)).sum(1) + bias
    torch.testing.assert_close(image.lower, lower, rtol=0, atol=1e-12)
    torch.testing.assert_close(image.upper, upper, rtol=0, atol=1e-12)
    assert image.contains(points_in(box, 50, seed) @ weight.T + bias, slack=1e-12)
    smaller = shrink(box, seed + 2).affine(weight, bias)
    assert image.contains(smaller, slack=1e-12)


@given(radius=st.floats(0.1, 3), seed=seeds)
@many
def test_product_and_square_are_attained(radius, seed):
    a, b = random_box(3, radius, seed), random_box(3, radius, seed + 1)
    corners = torch.stack([x * y for x in (a.lower, a.upper) for y in (b.lower, b.upper)])
    assert torch.equal((a * b).lower, corners.amin(0))
    assert torch.equal((a * b).upper, corners.amax(0))
    assert (a.square().lower >= 0).all()
    assert torch.equal(a.square().upper, a.magnitude.square())


def test_a_turning_point_of_a_point_box_keeps_its_gradient():
    """torch.clamp(c, l, u) drops the gradient when l equals u; the image must not."""
    value = torch.tensor([1.5], dtype=torch.float64, requires_grad=True)
    image = Interval.point(value).image(torch.square, turning_points=(0.0, 3.0))
    (slope,) = torch.autograd.grad(image.upper.sum(), value)
    assert float(slope) == pytest.approx(3.0)


def test_properties_of_a_box():
    box = Interval(torch.tensor([-3.0, 1.0]), torch.tensor([1.0, 1.0]))
    assert box.magnitude.tolist() == [3.0, 1.0]
    assert box.midpoint.tolist() == [-1.0, 1.0]
    assert box.radius.tolist() == [2.0, 0.0]
    assert box[0].upper == 1.0
    assert box.contains(torch.tensor([0.0, 1.0]))
    assert not box.contains(torch.tensor([0.0, 1.1]))
    assert box.contains(torch.tensor([0.0, 1.1]), slack=0.2)
    assert Interval.hull(torch.tensor([[1.0, 5.0], [2.0, -1.0]])).lower.tolist() == [1.0, -1.0]
    assert Interval.symmetric(torch.ones(2)).lower.tolist() == [-1.0, -1.0]
    meet = box.intersect(Interval(torch.tensor([-1.0, 0.0]), torch.tensor([2.0, 2.0])))
    assert meet.lower.tolist() == [-1.0, 1.0]
    assert meet.upper.tolist() == [1.0, 1.0]
    assert box.expand(3, 2).shape == (3, 2)
    assert box.to(torch.zeros((), dtype=torch.float64)).lower.dtype == torch.float64


def test_midpoint_of_huge_ends_does_not_overflow():
    box = Interval(torch.tensor([-3e38]), torch.tensor([3e38]))
    assert torch.isfinite(box.midpoint).all()
    assert torch.isfinite(box.radius).all()


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (torch.tensor([1.0]), torch.tensor([0.0])),
        (torch.tensor([float("nan")]), torch.tensor([0.0])),
        (torch.tensor([0.0]), torch.tensor([float("nan")])),
        (torch.zeros(2), torch.zeros(3)),
        (torch.zeros(2), torch.zeros(2, dtype=torch.float64)),
        (torch.zeros(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64)),
    ],
    ids=["empty", "nan below", "nan above", "shapes", "precisions", "integers"],
)
def test_what_is_no_box_cannot_be_built(lower, upper):
    with pytest.raises(BoundError, match="expected"):
        Interval(lower, upper)


def test_the_error_says_where_a_box_is_empty():
    with pytest.raises(BoundError, match=r"lower 2\.0 and upper 1\.0 at \(1,\), with 1 such"):
        Interval(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]))


def test_boxes_that_do_not_meet_and_hulls_of_nothing_raise():
    one, other = Interval.point(torch.zeros(1)), Interval.point(torch.ones(1))
    with pytest.raises(BoundError):
        one.intersect(other)
    with pytest.raises(BoundError, match="at least one point"):
        Interval.hull(torch.zeros(0, 3))
    with pytest.raises(BoundError, match="shape"):
        one.expand(2, 3, 4, 5).expand(7)
