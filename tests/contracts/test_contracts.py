"""Every model, tier, attack and objective that comes with sgbt keeps the contract of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from sgbt.core.registry import ATTACKS, MODELS, OBJECTIVES, TIERS
from sgbt.testing import AttackContract, ModelContract, ObjectiveContract, TierContract

SMALL_ATTACKS = {"genetic": {"population": 6, "generations": 3}, "pso": {"particles": 4, "iterations": 2}}
MODEL_CASES: list[tuple[str, dict[str, Any] | None]] = [
    *((name, None) for name in MODELS.own),
    ("cnn", {"filters": 5, "kernel_sizes": (3, 2), "pooling": "mean", "activation": "gelu"}),
    ("cnn", {"filters": 5, "kernel_sizes": (2,), "activation": "relu", "projection": 5, "trainable_embedding": True}),
    ("bilstm", {"hidden": 3, "pooling": "mean"}),
    ("bilstm", {"hidden": 3, "pooling": "max", "projection": 5}),
    ("linear", {"features": ()}),
]


class TestModels(ModelContract):
    @pytest.fixture(params=MODEL_CASES, ids=lambda case: f"{case[0]} {case[1] or ''}")
    def case(self, request: pytest.FixtureRequest) -> Any:
        return request.param

    @pytest.fixture
    def name(self, case: Any) -> str:
        return case[0]

    @pytest.fixture
    def options(self, case: Any) -> dict[str, Any] | None:
        return case[1]


class TestTiers(TierContract):
    @pytest.fixture(params=TIERS.own)
    def name(self, request: pytest.FixtureRequest) -> str:
        return request.param


class TestAttacks(AttackContract):
    @pytest.fixture(params=ATTACKS.own)
    def name(self, request: pytest.FixtureRequest) -> str:
        return request.param

    @pytest.fixture
    def options(self, name: str) -> dict[str, Any]:
        return SMALL_ATTACKS.get(name.split(":")[0], {})


class TestObjectives(ObjectiveContract):
    @pytest.fixture(params=OBJECTIVES.own)
    def name(self, request: pytest.FixtureRequest) -> str:
        return request.param
