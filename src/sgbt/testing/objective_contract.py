"""ObjectiveContract: what every objective of training must do, whatever it minimises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sgbt.core.registry import OBJECTIVES
from sgbt.data import TextDataset
from sgbt.evaluate.toy import toy_dataset
from sgbt.models import weights_hash
from sgbt.testing.world import QUICK, TABLE, untrained
from sgbt.training import Objective, Run, train
from sgbt.training.config import with_options
from sgbt.training.loop.listeners import Listeners


class ObjectiveContract:
    """Inherit, with a fixture `name`: the name of an objective in the registry. `options` are options of it."""

    @pytest.fixture
    def options(self) -> Mapping[str, Any]:
        """Options of the objective."""
        return {}

    @pytest.fixture(params=["cnn", "bilstm"])
    def model(self, request: pytest.FixtureRequest) -> str:
        """The names of the models that are trained."""
        return str(request.param)

    @pytest.fixture
    def objective(self, name: str, options: Mapping[str, Any]) -> Objective:
        """The objective."""
        made: Objective = with_options(OBJECTIVES[name](), dict(options), "the contract")
        return made

    def test_it_has_the_name_that_it_is_listed_by(self, name: str) -> None:
        """Folders and records name an objective so."""
        assert OBJECTIVES[name].name == name

    def test_training_moves_every_parameter(self, objective: Objective, model: str) -> None:
        """By a finite loss."""
        given = untrained(model, toy_dataset("toy"))
        losses = Losses()
        made = trained(objective, given, listener=losses)
        before = dict(trained(objective, given, epochs=1, learning_rate=1e-12).model.model.named_parameters())
        for name, weight in made.model.model.named_parameters():
            assert weight.isfinite().all(), name
            if weight.requires_grad:
                assert (weight - before[name]).abs().max() > 1e-6, name
        assert losses.seen
        assert all(torch.isfinite(torch.tensor(list(parts.values()))).all() for parts in losses.seen)

    def test_the_same_seed_gives_the_same_weights_also_after_a_kill(
        self, objective: Objective, model: str, tmp_path: Path
    ) -> None:
        """A run that is interrupted in the middle of an epoch goes on from its checkpoint, step by step."""
        given = untrained(model, toy_dataset("toy"))
        whole = trained(objective, given, out=tmp_path / "whole")
        with pytest.raises(KeyboardInterrupt):
            trained(objective, given, out=tmp_path / "cut", listener=Interrupting(after=4))
        resumed = trained(objective, given, out=tmp_path / "cut")
        assert weights_hash(resumed.model.model) == weights_hash(whole.model.model)
        other = trained(objective, given, seed=1)
        assert weights_hash(other.model.model) != weights_hash(whole.model.model)


class Losses(Listeners):
    """Keeps the parts of every loss."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[dict[str, float]] = []

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """One more step was taken."""
        self.seen.append(parts)


class Interrupting(Listeners):
    """Stops a run as a person does, after so many steps."""

    def __init__(self, *, after: int) -> None:
        super().__init__()
        self.left = after

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """One step less is left."""
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def few() -> TextDataset:
    """A part of the toy dataset."""
    whole = toy_dataset("toy")
    return TextDataset(whole.name, whole.label_names, whole.train[:96], whole.dev[:24], whole.test)


def trained(objective: Objective, model: Any, *, out: Path | None = None, seed: int = 0, **more: Any) -> Run:
    """A short run that writes a checkpoint after every step."""
    listener = more.pop("listener", None)
    config = replace(QUICK, checkpoint_seconds=0.0, **more)
    return train(
        model, few(), objective=objective, substitutions=TABLE, seed=seed, config=config, out=out, listener=listener,
        device="cpu",
    )  # fmt: skip
