"""The clients of benchmarks/serve_load.py: they get answers, count them, and stop where one is refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.serve.sockets import listening

from sgbt.serve import Limits, Pool, create_app
from sgbt.serve.guard import LOOPBACK

GENEROUS = Limits(burst=10**6, per_minute=10**6)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    folder = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    described = importlib.util.spec_from_file_location("serve_load", folder / "serve_load.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


@pytest.mark.parametrize("texts", [1, 3])
def test_requests_are_counted(script: ModuleType, pool: Pool, texts: int) -> None:
    with listening(create_app(pool, names=LOOPBACK), GENEROUS) as (_, port):
        found: dict[str, Any] = script.loaded(port, 2, texts, 5, 0.5)
    assert found["requests_per_second"] > 0
    assert found["texts_per_second"] == pytest.approx(texts * found["requests_per_second"])
    assert 0 < found["p50_ms"] <= found["p99_ms"]


def test_a_refusal_is_no_fast_answer(script: ModuleType, pool: Pool) -> None:
    app = create_app(pool, token="0123456789abcdef", names=LOOPBACK)
    with listening(app, GENEROUS) as (_, port), pytest.raises(SystemExit, match="refused"):
        script.loaded(port, 1, 1, 5, 0.2)
