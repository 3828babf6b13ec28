"""Interval propagation against the truth: every substitution of short texts, written out."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import small

from sgbt.models import BiLSTM, Sum, TextCNN, feature_box, worst_case_logits
from sgbt.models.cnn import ACTIVATIONS
from sgbt.threats import SubstitutionIndex, Substitutions, SubstitutionTable

CODES = torch.tensor([0, 1] + [2 + number // 2 for number in range(len(small.WORDS))])
MODELS = {
    **{
        f"cnn-{act}-{pool}": ("cnn", {"activation": act, "pooling": pool})
        for act in ACTIVATIONS
        for pool in ("max", "mean")
    },
    "cnn-codes": ("cnn", {"codes": CODES}),
    "cnn-projection": ("cnn", {"projection": 3}),
    "bilstm-last": ("bilstm", {"pooling": "last"}),
    "bilstm-mean": ("bilstm", {"pooling": "mean"}),
    "bilstm-max": ("bilstm", {"pooling": "max"}),
    "bilstm-codes": ("bilstm", {"codes": CODES}),
    "bilstm-projection": ("bilstm", {"projection": 3}),
    "two-cnn": ("two", {"kind": "cnn"}),
    "two-bilstm": ("two", {"kind": "bilstm"}),
}
SLACK = {torch.float64: 1e-12, torch.float32: 1e-5}
"""How far rounding may carry a true value past its bound; logits here are of order one."""


def made(name: str, seed: int, dtype: torch.dtype) -> TextCNN | BiLSTM | Sum:
    kind, options = MODELS[name]
    if kind == "two":
        return small.two_channel(options["kind"], seed=seed, dtype=dtype)
    return small.model_of(kind, seed=seed, dtype=dtype, classes=3, **options)


def bound(model, choices: Substitutions, labels: torch.Tensor, **options) -> torch.Tensor:
    return worst_case_logits(model, choices.ids, choices.allowed, choices.mask, labels, **options).detach()


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**20), precise=st.booleans())
def test_no_substitution_exceeds_the_bound(name: str, seed: int, precise: bool) -> None:
    dtype = torch.float64 if precise else torch.float32
    model = made(name, seed % 7, dtype)
    step = small.step_of(small.random_texts(5, 6, seed), seed)
    worst = bound(model, step.choices, step.labels)
    for row in range(5):
        logits = model(small.all_variants(step.choices, row)).detach()
        truth = (logits - logits[:, step.labels[row], None]).amax(dim=0)
        assert bool((truth <= worst[row] + SLACK[dtype]).all())
        assert worst[row, step.labels[row]] == 0


@pytest.mark.parametrize("name", MODELS)
def test_it_is_exact_where_nothing_can_be_replaced_or_epsilon_is_zero(name: str) -> None:
    model = made(name, 1, torch.float64)
    step = small.step_of(small.random_texts(6, 6, 4), 4)
    logits = model(step.ids).detach()
    clean = logits - logits.gather(1, step.labels.unsqueeze(1))
    assert torch.allclose(bound(model, step.choices, step.labels, epsilon=0.0), clean, atol=1e-12)
    fixed = Substitutions(step.ids.unsqueeze(-1), torch.ones_like(step.ids, dtype=torch.bool).unsqueeze(-1))
    assert torch.allclose(bound(model, fixed, step.labels), clean, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_another_substitute_or_a_larger_epsilon_never_lowers_it(name: str) -> None:
    model = made(name, 2, torch.float64)
    step = small.step_of(small.random_texts(6, 6, 5), 5)
    fewer = step.choices.allowed.clone()
    fewer[..., 2:] = False
    less = bound(model, Substitutions(step.choices.ids, fewer), step.labels)
    full = bound(model, step.choices, step.labels)
    assert bool((less <= full + 1e-12).all())
    growing = [bound(model, step.choices, step.labels, epsilon=share) for share in (0.0, 0.3, 0.7, 1.0)]
    for small_box, large_box in itertools.pairwise(growing):
        assert bool((small_box <= large_box + 1e-12).all())


@pytest.mark.parametrize("name", MODELS)
def test_padding_and_companions_never_change_it(name: str) -> None:
    model = made(name, 3, torch.float64)
    texts = small.random_texts(7, 6, 6)
    step = small.step_of(texts, 6)
    together = bound(model, step.choices, step.labels)
    extra = (
        torch.nn.functional.pad(step.choices.ids, (0, 0, 0, 9)),
        torch.nn.functional.pad(step.choices.allowed, (0, 0, 0, 9)),
    )
    extra[1][..., 0] = True
    assert torch.allclose(bound(model, Substitutions(*extra), step.labels), together, atol=1e-12)
    rubbish = extra[0].clone()
    rubbish[:, step.ids.shape[1] :] = 5  # whatever stands behind the mask is not read
    mask = torch.nn.functional.pad(step.mask, (0, 9))
    hidden = worst_case_logits(model, rubbish, extra[1], mask, step.labels).detach()
    assert torch.allclose(hidden, together, atol=1e-12)
    for row, words in enumerate(texts):
        alone = bound(model, small.index().for_words([words]), step.labels[row : row + 1])
        assert torch.allclose(alone[0], together[row], atol=1e-12)


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_a_text_without_words_has_its_clean_logits(kind: str) -> None:
    model = small.model_of(kind, dtype=torch.float64)
    for texts in ([[], ["film"]], [[]]):
        choices = small.index().for_words(texts)
        labels = torch.arange(len(texts))
        logits = model(choices.original).detach()
        assert torch.allclose(bound(model, choices, labels)[0], logits[0] - logits[0, 0], atol=1e-12)


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_a_word_that_only_the_table_knows_is_bounded_with_its_substitutes(kind: str) -> None:
    model = small.model_of(kind, dtype=torch.float64)
    table = SubstitutionTable({"stranger": ("good", "nobody")})
    choices = SubstitutionIndex.build(table, small.VOCABULARY).for_words([["film", "stranger"]])
    worst = bound(model, choices, torch.tensor([0]))[0]
    film, good = small.VOCABULARY.encode(["film", "good"])
    logits = model(torch.tensor([[film, 1], [film, good]])).detach()
    assert bool(((logits - logits[:, :1]).amax(dim=0) <= worst + 1e-12).all())


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("two")])
def test_the_features_of_every_substitution_are_in_their_box(name: str) -> None:
    model = made(name, 4, torch.float64)
    assert not isinstance(model, Sum)
    step = small.step_of(small.random_texts(4, 5, 7), 7)
    lower, upper = feature_box(model, step.choices.ids, step.choices.allowed, step.mask)
    seen: list[torch.Tensor] = []
    model.head.register_forward_hook(lambda _module, inputs, _output: seen.append(inputs[0].detach()))
    for row in range(4):
        model(small.all_variants(step.choices, row))
        assert bool((lower[row] - 1e-12 <= seen[-1]).all())
        assert bool((seen[-1] <= upper[row] + 1e-12).all())
