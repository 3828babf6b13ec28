"""Max pooling through winners alone, by compiled loops, against windows written out: values and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import small
from tests.reference.slow_windows import Sets, winning_windows
from torch import Tensor

from sgbt.models import TextCNN, compiled_loops, pooled_windows
from sgbt.models.cnn import ACTIVATIONS
from sgbt.models.pooled_windows import GREATEST, ITSELF, LEAST, greatest_windows_of_sets, windows_in
from sgbt.models.word_gradients import along_gradients, word_gradients
from sgbt.models.word_sets import WordSets
from sgbt.training import ATFL, IBP, Certified, Standard

ENDS = {"itself": ITSELF, "least": LEAST, "greatest": GREATEST}


@pytest.fixture(autouse=True)
def _numba() -> None:
    pytest.importorskip("numba")


def plainly(patch: pytest.MonkeyPatch) -> None:
    """Compile nothing, until the patch is undone."""
    patch.setattr(compiled_loops, "installed", lambda: False)


def case(
    seed: int, dtype: torch.dtype, *, equal: bool
) -> tuple[Tensor, Tensor, WordSets, Tensor, list[list[list[int]]]]:
    """Words, filters and sets drawn at random; some words are `equal`, so that words and windows tie."""
    random = np.random.default_rng(seed)
    words, width, filters, size = (int(random.integers(low, high)) for low, high in ((3, 9), (1, 7), (1, 5), (1, 5)))
    vectors = torch.from_numpy(random.standard_normal((words, width))).to(dtype)
    if equal:
        vectors = vectors[torch.from_numpy(random.integers(0, 2, words))]
    vectors[0] = 0  # padding
    weight = torch.from_numpy(random.standard_normal((filters, width, size))).to(dtype)
    lengths = random.integers(0, 8, 4)
    longest = max(int(lengths.max()), size)
    choices = random.integers(1, words, (4, longest, 5))
    allowed = random.random(choices.shape) < 0.5
    allowed[..., 0] = True
    behind = np.arange(longest) >= lengths[:, None]
    choices[behind], allowed[behind] = 0, True
    sets = WordSets.of(torch.from_numpy(choices), torch.from_numpy(allowed))
    texts = [
        [[int(one) for one, fits in zip(*pair, strict=True) if fits] for pair in zip(*row, strict=True)][:length]
        for *row, length in zip(choices, allowed, lengths, strict=True)
    ]
    return vectors, weight, sets, windows_in(torch.from_numpy(lengths), size), texts


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20), epsilon=st.sampled_from((0.0, 0.3, 1.0)), precise=st.booleans())
def test_values_and_gradients_are_those_of_every_window_written_out(seed: int, epsilon: float, precise: bool) -> None:
    vectors, weight, sets, counts, texts = case(seed, torch.float64 if precise else torch.float32, equal=False)
    vectors.requires_grad_()
    weight.requires_grad_()
    asked = tuple(ENDS.values())
    found = greatest_windows_of_sets(vectors[sets.words], weight, sets, counts, asked, epsilon=epsilon)
    assert type(found[0].grad_fn).__name__ == "_PooledWindowsBackward"
    written: Sets = [[[vectors[one] for one in place] for place in text] for text in texts]
    expected = winning_windows(written, weight, epsilon)
    shares = [torch.randn(each.shape, generator=torch.Generator().manual_seed(seed)) for each in found]
    slack = 1e-12 if precise else 1e-5
    for name, each in zip(ENDS, found, strict=True):
        assert torch.allclose(each, expected[name], atol=slack), name
    fast = torch.autograd.grad(list(found), [vectors, weight], [each.to(weight) for each in shares])
    slow = torch.autograd.grad(
        [expected[name] for name in ENDS], [vectors, weight], [each.to(weight) for each in shares]
    )
    fast[0][0] = slow[0][0] = 0  # of padding nothing is asked
    for one, other in zip(fast, slow, strict=True):
        assert torch.allclose(one, other, atol=slack, rtol=10 * slack)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20), epsilon=st.sampled_from((0.0, 0.3, 1.0)))
def test_words_and_windows_that_tie_share_the_gradient_as_the_plain_way_shares_it(seed: int, epsilon: float) -> None:
    vectors, weight, sets, counts, _ = case(seed, torch.float64, equal=True)
    weight = (4 * weight).round()  # whole numbers: what is equal is equal after rounding
    read = (4 * vectors[sets.words]).round().requires_grad_()
    weight.requires_grad_()
    ends = (ITSELF, LEAST, GREATEST)
    gradients = []
    for way in (pooled_windows._PooledWindows.apply, pooled_windows._plain):
        found = way(read, weight, sets, counts, epsilon, ends)
        total = sum((number + 1) * each.cos().sum() for number, each in enumerate(found))
        gradients.append(torch.autograd.grad(total, [read, weight]))
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-9)


def test_many_choices_have_a_bit_each_and_too_many_go_the_plain_way() -> None:
    generator = torch.Generator().manual_seed(0)
    for choices in (31, 32, 63, 64):
        ids = torch.arange(choices).expand(1, 2, choices)
        sets = WordSets.of(ids, torch.ones_like(ids, dtype=torch.bool))
        vectors = torch.randn(choices, 3, generator=generator).requires_grad_()
        weight = torch.randn(2, 3, 1, generator=generator)
        counts = torch.tensor([2])
        for end in (LEAST, GREATEST):
            found = greatest_windows_of_sets(vectors, weight, sets, counts, (end,), epsilon=1.0)[0]
            assert (type(found.grad_fn).__name__ == "_PooledWindowsBackward") == (choices < 64)
            expected = pooled_windows._plain(vectors, weight, sets, counts, 1.0, (end,))[0]
            gradients = [torch.autograd.grad(each.sum(), vectors)[0] for each in (found, expected)]
            assert torch.allclose(*gradients, atol=1e-6)


def test_what_is_not_a_number_is_never_lost() -> None:
    vectors, weight, sets, counts, _ = case(3, torch.float32, equal=False)
    weight[0] = math.nan
    for found in greatest_windows_of_sets(
        vectors[sets.words], weight, sets, counts, (ITSELF, LEAST, GREATEST), epsilon=1
    ):
        assert bool(found[:, 0].isnan().all())
        assert not bool(found[:, 1:].isnan().any())


def test_gradients_of_gradients_are_those_of_the_plain_way() -> None:
    vectors, weight, sets, counts, _ = case(5, torch.float64, equal=False)
    read = vectors[sets.words].requires_grad_()
    weight.requires_grad_()
    second = []
    for way in (pooled_windows._PooledWindows.apply, pooled_windows._plain):
        found = way(read, weight, sets, counts, 0.7, (ITSELF, LEAST, GREATEST))
        first = torch.autograd.grad(sum(each.sin().sum() for each in found), [read, weight], create_graph=True)
        second.append(torch.autograd.grad(sum(each.square().sum() for each in first), [read, weight]))
    for one, other in zip(*second, strict=True):
        assert one.abs().sum() > 0
        assert torch.allclose(one, other, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sgbt.core.errors.SgbtWarning")  # of kinks
@pytest.mark.parametrize("trainable", [False, True])
@pytest.mark.parametrize("pooling", ["max", "mean"])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_losses_and_gradients_of_training_are_those_of_the_plain_way(
    activation: str, pooling: str, trainable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [[], ["film"], *small.random_texts(6, 9, 2)]
    step = small.step_of(texts, 2)
    for objective in (Standard(), IBP(ramp_epochs=0), IBP(ramp_epochs=0, epsilon=0.4), Certified(ramp_epochs=0)):
        losses, gradients = [], []
        for plain in (False, True):
            model = small.model_of(
                "cnn", activation=activation, pooling=pooling, trainable_embedding=trainable, dtype=torch.float64
            )
            assert isinstance(model, TextCNN)
            with monkeypatch.context() as patch:
                if plain:
                    plainly(patch)
                reference = objective.start(model, step)
                torch.manual_seed(1)
                losses.append(torch.stack(list(objective.parts(model, step, reference).values())).sum())
                losses[-1].backward()
            gradients.append({name: value.grad for name, value in model.named_parameters() if value.requires_grad})
        assert torch.allclose(*losses, rtol=1e-6)
        for name, value in gradients[0].items():
            assert value is not None
            assert torch.allclose(value, gradients[1][name], rtol=1e-6, atol=1e-9), name


def test_sets_are_the_distinct_rows_in_order() -> None:
    ids = torch.randint(0, 3, (5, 40, 3), generator=torch.Generator().manual_seed(0))
    allowed = torch.ones_like(ids, dtype=torch.bool)
    allowed[..., 2] = ids[..., 0] > 0
    sets = WordSets.of(ids, allowed)
    rows = ids.masked_fill(~allowed, -1).flatten(0, 1)
    expected, places = rows.unique(dim=0, return_inverse=True)
    assert torch.equal(sets.words[sets.choices].masked_fill(~sets.allowed, -1), expected)
    assert torch.equal(sets.places.flatten(), places)


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_words_that_atfl_replaces_are_those_of_the_plain_way(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step = small.step_of([[], ["film"], *small.random_texts(12, 9, 3)], 3)
    model = small.model_of(kind, dtype=torch.float64)
    fast = ATFL(replaced=0.6).attacked(model, step)
    plainly(monkeypatch)
    assert torch.equal(fast, ATFL(replaced=0.6).attacked(model, step))
    assert bool((fast != step.ids).any())


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**20), equal=st.booleans())
def test_gradients_at_places_and_along_choices_are_those_of_the_plain_way(seed: int, equal: bool) -> None:
    model = small.model_of("cnn", seed=seed % 5, dtype=torch.float64)
    if equal:
        for parameter in model.parameters():
            parameter.data.copy_((4 * parameter.data).round() / 4)
    step = small.step_of([[], ["film"], *small.random_texts(5, 20, seed)], 3)
    read = model.embedding(step.ids).detach()

    def loss(logits: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(logits, step.labels, reduction="sum")

    slopes = word_gradients(model, step.ids, step.mask, loss)
    expected = word_gradients.dispatch(object)(model, step.ids, step.mask, loss)
    vectors, choices = model.embedding.weight.detach(), step.choices
    values = along_gradients(slopes, vectors, choices.ids, choices.allowed)
    written = (vectors[choices.ids] * slopes.unsqueeze(2)).sum(dim=-1)
    assert slopes.shape == read.shape
    assert torch.allclose(slopes, expected, atol=1e-12)
    assert torch.allclose(values[choices.allowed], written[choices.allowed], atol=1e-12)
