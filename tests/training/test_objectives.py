"""Every loss part of every objective moves the weights it should, and its adversary does what it says."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from tests import small
from tests.training import quick

from sgbt.core.errors import SgbtWarning, TrainingError
from sgbt.core.registry import OBJECTIVES
from sgbt.models import BiLSTM, TextCNN, WordEmbedding, weights_hash, worst_case_logits
from sgbt.training import ASCC, ATFL, GBM, IBP, SEM, SGBT, Certified, Objective, Standard, totals, train
from sgbt.training.loop.steps import Corpus, Step
from sgbt.training.objectives.ascc import _divergence
from sgbt.training.objectives.ascc import _mixed_logits as mixed_logits
from sgbt.training.objectives.certified import spread_of_synonyms
from sgbt.training.objectives.growth import Normaliser

CONVOLUTIONS = {f"convolutions.{number}.weight" for number in range(3)}
LSTMS = {
    f"{direction}.{name}_l0"
    for direction in ("forwards", "backwards")
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
}
BIASES = {f"convolutions.{number}.bias" for number in range(3)}
HEAD, TABLE = {"head.weight", "head.bias"}, {"embedding.weight"}
PROJECTION = {"embedding.projection.weight", "embedding.projection.bias"}
LAYERS = {"cnn": CONVOLUTIONS | BIASES, "bilstm": LSTMS}
BOUNDED = {"cnn": CONVOLUTIONS, "bilstm": LSTMS}
"""What L_GBM and L_SGBT depend on: over all reals, a convolution's bias does not matter to its bound."""


def batch(seed: int = 0) -> Step:
    return small.step_of(small.random_texts(12, 8, seed, shortest=3), seed)


def moved_by(part: torch.Tensor, model: torch.nn.Module) -> set[str]:
    """The parameters on which a part has a gradient other than zero, or than a sum that rounding left near it."""
    named = {name: value for name, value in model.named_parameters() if value.requires_grad}
    found = torch.autograd.grad(part, list(named.values()), allow_unused=True, retain_graph=True)
    assert all(gradient.isfinite().all() for gradient in found if gradient is not None)
    return {
        name for name, gradient in zip(named, found, strict=True) if gradient is not None and gradient.norm() > 1e-7
    }


@pytest.mark.parametrize(("kind", "pooling"), [("cnn", "max"), ("bilstm", "last"), ("bilstm", "max")])
@pytest.mark.parametrize("frozen", [True, False])
def test_every_part_of_every_objective_moves_what_it_should(kind: str, pooling: str, frozen: bool) -> None:
    model = small.model_of(kind, pooling=pooling, trainable_embedding=not frozen)
    words = set() if frozen else TABLE
    through_words = words if kind == "bilstm" else set()  # the box of the table bounds an LSTM's inputs
    everything = LAYERS[kind] | HEAD | words
    expected = {
        "standard": {"cross_entropy": everything},
        "gbm": {"cross_entropy": everything, "growth": BOUNDED[kind] | through_words},
        "sgbt": {
            "cross_entropy": everything,
            "growth": BOUNDED[kind] | through_words,
            "curvature": BOUNDED[kind] | through_words,
        },
        "ibp": {"cross_entropy": everything, "worst_case": everything},
        "ascc": {"cross_entropy": everything, "divergence": everything},
        "atfl": {"cross_entropy": everything, "adversarial": everything, "pairing": everything - {"head.bias"}},
        "sem": {"cross_entropy": everything},
        "worst-edits": {"cross_entropy": everything, "edited": everything},
        "certified": {
            "cross_entropy": everything,
            "worst_case": everything,
            "growth": BOUNDED[kind] | through_words,
            "curvature": BOUNDED[kind] | through_words,
        }
        | ({} if frozen else {"compactness": TABLE}),
    }
    for name, objective in OBJECTIVES.items():
        step, made = batch(), objective()
        parts = made.parts(model, step, made.start(model, step))
        assert {part: moved_by(value, model) for part, value in parts.items()} == expected[name], name


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_a_projection_is_moved_by_the_penalties_of_an_lstm_and_by_compactness(kind: str) -> None:
    model = small.model_of(kind, projection=3)
    objective = Certified(beta=0.1, gamma=0.1)
    parts = objective.parts(model, batch(), objective.start(model))
    for name in ("growth", "curvature"):
        assert moved_by(parts[name], model) == BOUNDED[kind] | (PROJECTION if kind == "bilstm" else set())
    assert moved_by(parts["compactness"], model) == {"embedding.projection.weight"}


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_the_observed_domain_reaches_the_bias_of_a_convolution_too(kind: str) -> None:
    model = small.model_of(kind)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.1).add_(0.05 * torch.randn_like(parameter))
        for name, parameter in model.named_parameters():
            if name in BIASES:
                parameter.fill_(2.0)  # away from the peak of tanh', where the bias matters
    objective = SGBT(domain="observed")
    step = batch()
    parts = objective.parts(model, step, objective.start(model, step))
    assert moved_by(parts["growth"], model) == LAYERS[kind]
    assert moved_by(parts["curvature"], model) == LAYERS[kind]
    assert parts["growth"].item() == pytest.approx(0.1)
    with pytest.raises(TrainingError, match="a batch to observe"):
        objective.start(model, None)


@pytest.mark.parametrize("kind", [TextCNN, BiLSTM])
def test_each_objective_trains_other_weights_than_standard(kind: type) -> None:
    model, data = kind(small.vectors(), dropout=0.0), small.dataset()
    made = {
        name: objective(**({"ramp_epochs": 0.5} if issubclass(objective, IBP) else {}))
        for name, objective in OBJECTIVES.items()
    }
    hashes = {
        name: weights_hash(
            train(model, data, objective=objective, substitutions=small.TABLE, config=small.QUICK).model.model
        )
        for name, objective in made.items()
    }
    assert len(set(hashes.values())) == len(OBJECTIVES)


@pytest.mark.parametrize("kind", [GBM, SGBT])
def test_detached_penalties_are_logged_and_train_the_weights_of_standard(kind: type[GBM]) -> None:
    def trained(objective: Objective) -> str:
        run = quick.run(objective, epochs=1)
        return weights_hash(run.model.model)

    assert trained(kind(detached=True)) == trained(Standard())
    assert trained(kind()) != trained(Standard())
    model, step = small.model_of("cnn").eval(), batch()
    attached, detached = (each.parts(model, step, each.start(model, step)) for each in (kind(), kind(detached=True)))
    assert {name: float(part.detach()) for name, part in attached.items()} == pytest.approx(
        {name: float(part.detach()) for name, part in detached.items()}
    )
    assert attached["growth"].requires_grad
    assert not detached["growth"].requires_grad


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_both_penalties_start_at_exactly_beta_and_gamma_and_fall_when_optimised(kind: str) -> None:
    model, objective = small.model_of(kind), SGBT(beta=0.25, gamma=0.5)
    reference = objective.start(model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    figures = []
    for _ in range(30):
        parts = objective.parts(model, batch(), reference)
        figures.append((float(parts["growth"]), float(parts["curvature"])))
        optimiser.zero_grad()
        (parts["growth"] + parts["curvature"]).backward()
        optimiser.step()
    assert figures[0] == (0.25, 0.5)
    assert figures[-1][0] < 0.8 * figures[0][0]
    assert figures[-1][1] < 0.8 * figures[0][1]


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_the_other_normalisations_divide_by_the_number_of_entries_or_by_one(kind: str) -> None:
    model = small.model_of(kind)
    found = totals(model)
    for normalisation, growth, curvature in (
        ("raw", 1.0, 1.0),
        ("entries", found.growth_entries, found.curvature_entries),
    ):
        objective = SGBT(beta=1.0, gamma=1.0, normalisation=normalisation)
        parts = objective.parts(model, batch(), objective.start(model))
        assert float(parts["growth"]) == pytest.approx(float(found.growth) / growth)
        assert float(parts["curvature"]) == pytest.approx(float(found.curvature) / curvature)
    if kind == "bilstm":  # two directions of 4 outputs that see 6 + 2 x 4 inputs
        assert (found.growth_entries, found.curvature_entries) == (2 * 4 * 14, 2 * 4 * 14 * 14)
    else:  # 5 filters of three widths over texts of 512 words
        assert (found.growth_entries, found.curvature_entries) == (3 * 5 * 512 * 6, 3 * 5 * (512 * 6) ** 2)


def test_a_bilstm_over_the_box_of_a_real_table_has_finite_gradients_to_every_gate() -> None:
    """300 dimensions of size three saturate every gate; the bound must still be finite and move all four of them."""
    model = BiLSTM(small.vectors())
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(300, 64, batch_first=True)
    model.forwards = model.backwards = lstm
    model.embedding.weight = torch.nn.Parameter(3 * (2 * torch.rand(2000, 300) - 1), requires_grad=False)
    found = totals(model)
    assert math.isfinite(found.growth)
    assert math.isfinite(found.curvature)
    (found.growth / found.growth.detach() + found.curvature / found.curvature.detach()).backward()
    for name in ("weight_ih_l0", "weight_hh_l0"):
        sizes = [float(gate.norm()) for gate in lstm.get_parameter(name).grad.split(64)]
        assert min(sizes) > 1e-5 * max(sizes)


def test_an_activation_with_a_kink_is_told_of_once_where_curvature_counts() -> None:
    model = small.model_of("cnn", activation="relu")
    with pytest.warns(SgbtWarning, match="relu has a kink"):
        reference = SGBT().start(model)
    assert float(SGBT().parts(model, batch(), reference)["curvature"]) == 0
    GBM().start(model)  # says nothing: a warning is an error here


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_the_adversary_of_ascc_stays_in_the_hull_and_raises_the_divergence(kind: str) -> None:
    model, step, objective = small.model_of(kind), batch(3), ASCC(sparsity=0.0)
    clean, vectors = model(step.ids, step.mask).detach(), step.vectors(model).detach()
    torch.manual_seed(0)
    mixture = objective.adversary(model, step, vectors, clean)
    assert torch.allclose(mixture.sum(dim=-1), torch.ones(()))
    assert bool((mixture >= 0).all())
    assert not mixture[~step.choices.allowed].any()
    assert not mixture.requires_grad
    even = step.choices.allowed / step.choices.allowed.sum(dim=-1, keepdim=True)
    found, start = (
        _divergence(clean, mixed_logits(model, step, vectors, weights)).item() for weights in (mixture, even)
    )
    assert found > 1.2 * start
    sparse = dataclasses.replace(objective, sparsity=15.0)
    assert sparse.adversary(model, step, vectors, clean).amax(dim=-1).mean() > 0.95


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
@pytest.mark.parametrize(("replaced", "rounds"), [(0.25, 2), (0.25, 3), (0.6, 1), (1.0, 2), (0.0, 2)])
def test_the_attack_of_atfl_takes_allowed_words_keeps_its_budget_and_raises_the_loss(
    kind: str, replaced: float, rounds: int
) -> None:
    model, objective = small.model_of(kind), ATFL(replaced=replaced, rounds=rounds)
    before = after = 0.0
    for seed in range(6):
        step = batch(seed)
        attacked = objective.attacked(model, step)
        choices = step.choices
        fits = ((choices.ids == attacked.unsqueeze(-1)) & choices.allowed).any(dim=-1)
        assert bool(fits.all())
        budget = (step.mask.sum(dim=1) * replaced).ceil()
        assert bool(((attacked != step.ids).sum(dim=1) <= budget).all())
        for ids in (step.ids, attacked):
            loss = torch.nn.functional.cross_entropy(model(ids, step.mask), step.labels).item()
            before, after = (before + loss, after) if ids is step.ids else (before, after + loss)
    assert after > before if replaced else after == before


def test_schedules_of_ibp() -> None:
    objective = IBP(ramp_epochs=2.0, warm_up_epochs=1.0)
    assert [objective.ramp(epoch) for epoch in (0, 0.5, 1, 2, 3, 9)] == [0, 0, 0, 0.5, 1, 1]
    assert [objective.ready(epoch) for epoch in (1, 2, 3)] == [False, False, True]
    assert IBP(ramp_epochs=0.0).ramp(0.0) == 1
    model, step = small.model_of("cnn"), batch()
    early = dataclasses.replace(step, epoch=0.0)
    assert set(objective.parts(model, early, {})) == {"cross_entropy"}
    half = objective.parts(model, dataclasses.replace(step, epoch=2.0), {})
    clean = torch.nn.functional.cross_entropy(model(step.ids), step.labels)
    worst = worst_case_logits(model, step.choices.ids, step.choices.allowed, step.mask, step.labels, epsilon=0.5)
    assert float(half["cross_entropy"]) == pytest.approx(0.6 * float(clean))
    assert float(half["worst_case"]) == pytest.approx(
        0.4 * float(torch.nn.functional.cross_entropy(worst, step.labels))
    )


def test_sem_puts_a_code_before_the_embedding() -> None:
    model = small.model_of("cnn")
    prepared = SEM().prepare(model, Corpus(small.VOCABULARY, {"good": 9, "great": 3}, small.TABLE))
    good, great = (small.VOCABULARY.id_of(word) for word in ("good", "great"))
    assert prepared.embedding.encode(torch.tensor(good)) == prepared.embedding.encode(torch.tensor(great))
    # the rows of one product may differ in their last bits
    assert torch.allclose(*prepared(torch.tensor([[good, 12, 13], [great, 12, 13]])), rtol=1e-6)


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_each_part_of_certified_can_be_switched_off(kind: str) -> None:
    model, step = small.model_of(kind, trainable_embedding=True), batch()
    off = {"beta": 0.0, "gamma": 0.0, "compactness": 0.0, "kappa": 0.0}
    full = {"cross_entropy", "worst_case", "growth", "curvature", "compactness"}
    names = {"beta": "growth", "gamma": "curvature", "compactness": "compactness", "kappa": "worst_case"}
    for option, value in off.items():
        objective = Certified(**{option: value})
        assert set(objective.parts(model, step, objective.start(model))) == full - {names[option]}
    assert set(Certified(**off).parts(model, step, {})) == {"cross_entropy"}


def test_narrow_boxes_have_a_gradient_of_ordinary_size_through_an_lstm_over_a_long_text() -> None:
    """At the start of the ramp boxes are narrow: recurrent weights as they are drawn widen them at every word."""
    sizes = []
    for prepared in (False, True):
        torch.manual_seed(0)
        words = WordEmbedding(small.model_of("cnn").embedding.weight, trainable=True)
        model = BiLSTM(words, hidden=64, pooling="mean")
        if prepared:
            IBP().prepare(model, Corpus(small.VOCABULARY, {}, small.TABLE))
        step = small.step_of([[*small.WORDS] * 14], 1)
        IBP(kappa=1.0, epsilon=1e-12, ramp_epochs=0).parts(model, step, {})["worst_case"].backward()
        assert model.embedding.weight.grad is not None
        sizes.append(float(model.embedding.weight.grad.norm()))
    wild, calm = sizes
    assert not wild < 1e3  # it is not even a number
    assert 0 < calm < 1


@pytest.mark.parametrize("kind", ["interval", "triplet"])
def test_compactness_shrinks_the_sets_of_substitutes_when_optimised(kind: str) -> None:
    model, step = small.model_of("cnn", trainable_embedding=True), batch()
    optimiser = torch.optim.Adam([model.embedding.weight], lr=0.05)

    def spread() -> float:
        return float(spread_of_synonyms(model, step, "interval"))

    before = spread()
    for _ in range(60):
        optimiser.zero_grad()
        spread_of_synonyms(model, step, kind).backward()
        optimiser.step()
    assert spread() < (0.6 if kind == "interval" else 0.9) * before
    assert not model.embedding.weight[0].any()


def test_compactness_without_substitutes_is_zero_with_a_gradient() -> None:
    model = small.model_of("cnn", trainable_embedding=True)
    assert float(spread_of_synonyms(model, small.step_of([["the"], ["was", "a"]]), "interval")) == 0


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (GBM, {"beta": -1.0}),
        (SGBT, {"gamma": -0.1}),
        (SGBT, {"beta": math.nan}),
        (SGBT, {"normalisation": "other"}),
        (GBM, {"domain": "guessed"}),
        (IBP, {"kappa": 1.5}),
        (IBP, {"epsilon": -0.1}),
        (IBP, {"ramp_epochs": -1.0}),
        (IBP, {"warm_up_epochs": -1.0}),
        (ASCC, {"inner_steps": 0}),
        (ASCC, {"divergence": -1.0}),
        (ASCC, {"sparsity": -1.0}),
        (ATFL, {"replaced": 1.1}),
        (ATFL, {"adversarial": 2.0}),
        (ATFL, {"rounds": 0}),
        (ATFL, {"pairing": -1.0}),
        (Certified, {"compactness_measure": "square"}),
        (Certified, {"beta": -1.0}),
        (Certified, {"compactness": -1.0}),
        (Certified, {"normalisation": "other"}),
    ],
)
def test_options_outside_their_range_are_refused(kind: type[Objective], options: dict) -> None:
    with pytest.raises(TrainingError, match="expected"):
        kind(**options)


def test_a_batch_of_empty_texts_is_finite_for_every_objective() -> None:
    for kind in ("cnn", "bilstm"):
        model, step = small.model_of(kind, trainable_embedding=True), small.step_of([[], []])
        for objective in (Standard(), SGBT(), IBP(), ASCC(), ATFL(), Certified()):
            parts = objective.parts(model, step, objective.start(model, step))
            assert all(value.isfinite() for value in parts.values()), objective


def test_a_normaliser_is_a_value() -> None:
    assert Normaliser("initial", "proven") == Normaliser("initial", "proven")
