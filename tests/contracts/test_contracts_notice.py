"""The contracts can fail: for each promise, something that breaks it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from sgbt.attacks import Limited
from sgbt.certify import SeparableBound, Verifier
from sgbt.core.registry import ATTACKS, TIERS, Registry
from sgbt.models import TextClassifier, TextCNN, worst_case_logits
from sgbt.testing import AttackContract, ModelContract, ObjectiveContract, TierContract
from sgbt.testing.world import classifier_of
from sgbt.training import Objective


@contextmanager
def added(registry: Registry[Any], value: Any) -> Iterator[None]:
    registry.add("broken", value)
    try:
        yield
    finally:
        registry.remove("broken")


class Odd(TextCNN):
    """A model that is wrong about something."""

    fault = ""

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        logits = super().forward(ids, mask)
        if self.fault == "companions":
            return logits + 0.01 * ids.shape[1]
        return logits.detach() + 0 * self.head.weight.sum() if self.fault == "gradient" else logits


@worst_case_logits.register
def _too_low(model: Odd, *asked: Tensor, epsilon: float = 1.0) -> Tensor:
    return worst_case_logits.dispatch(TextCNN)(model, *asked, epsilon=epsilon) - (model.fault == "worst case") * 1e-3


def odd(fault: str) -> TextClassifier:
    given = classifier_of("cnn", data="toy3")
    model = copy.deepcopy(given.model)
    model.__class__ = Odd
    model.fault = fault
    return replace(given, model=model)


def test_models_that_break_a_promise() -> None:
    contract = ModelContract()
    for fault, check in (
        ("worst case", contract.test_no_version_of_a_text_exceeds_the_worst_case),
        ("companions", contract.test_neither_padding_nor_companions_nor_what_a_mask_hides_change_an_answer),
        ("gradient", contract.test_the_loss_moves_every_parameter),
    ):
        check(odd("none"))
        with pytest.raises(AssertionError):
            check(odd(fault))


@dataclass(frozen=True)
class Hopeful:
    """Tier ibp, and a little more than that."""

    more: float

    def offered(self, verifier: Verifier) -> bool:
        return True

    def bounds(self, verifier: Verifier) -> list[SeparableBound]:
        (bound,) = verifier.bounds("ibp")
        return [SeparableBound(bound.spec, bound.constant + self.more, bound.gains)]


def test_a_tier_that_proves_too_much() -> None:
    contract, classifier = TierContract(), classifier_of("cnn", data="toy3")
    with added(TIERS, Hopeful(0.0)):
        contract.test_no_version_of_a_text_goes_below_the_bound("broken", classifier)
        contract.test_certificates_and_radii_hold_for_every_version("broken", classifier)
    with added(TIERS, Hopeful(50.0)):
        for check in (
            contract.test_no_version_of_a_text_goes_below_the_bound,
            contract.test_certificates_and_radii_hold_for_every_version,
        ):
            with pytest.raises(AssertionError):
                check("broken", classifier)


@dataclass(frozen=True, kw_only=True)
class Careless(Limited):
    """Asks nothing."""

    name = "broken"

    def search(self, scorer: Any, rng: np.random.Generator) -> Any:
        yield from ()
        return None

    def __post_init__(self) -> None:
        """Nothing is checked."""


@dataclass(frozen=True, kw_only=True)
class Unseeded(Careless):
    """Draws from a generator of its own."""

    def search(self, scorer: Any, rng: np.random.Generator) -> Any:
        rng = np.random.default_rng()
        for _ in range(int(rng.integers(1, 50))):
            yield from scorer.probabilities(scorer.space.original[None])
        return None


def test_attacks_that_do_not_ask_or_are_not_seeded() -> None:
    contract, classifier = AttackContract(), classifier_of("cnn", data="toy3")
    with added(ATTACKS, Careless()), pytest.raises(AssertionError):
        contract.test_queries_are_counted_and_their_limit_is_kept("broken", {}, classifier)
    with added(ATTACKS, Unseeded()), pytest.raises(AssertionError):
        contract.test_a_success_is_an_adversarial_example("broken", {}, classifier)


@dataclass(frozen=True)
class Frozen(Objective):
    """Trains nothing but the bias of the head."""

    def parts(self, model: Any, step: Any, reference: Any) -> dict[str, Tensor]:
        return {"bias": model.head.bias.sum()}


CALLS = itertools.count()


@dataclass(frozen=True)
class Counting(Objective):
    """Hangs on how often it was called in this process, which no checkpoint knows."""

    def parts(self, model: Any, step: Any, reference: Any) -> dict[str, Tensor]:
        share = 1 + next(CALLS) % 7
        return {name: share * part for name, part in super().parts(model, step, reference).items()}


def test_objectives_that_forget_a_parameter_or_remember_what_no_checkpoint_has(tmp_path: Path) -> None:
    contract = ObjectiveContract()
    with pytest.raises(AssertionError):
        contract.test_training_moves_every_parameter(Frozen(), "cnn")
    with pytest.raises(AssertionError):
        contract.test_the_same_seed_gives_the_same_weights_also_after_a_kill(Counting(), "cnn", tmp_path)
