from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
from tests.attacks.world import World, trained

from sgbt.models import TextClassifier


@pytest.fixture(scope="session")
def world() -> World:
    return World.of(spread=1.0)


@pytest.fixture(scope="session")
def classifier_of(world: World) -> Callable[..., TextClassifier]:
    """Trained classifiers by kind, each trained once."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return functools.cache(functools.partial(trained, world))
    finally:
        torch.set_num_threads(threads)
