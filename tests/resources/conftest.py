from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.resources.things import thing

from sgbt.resources import CATALOGUE
from sgbt.resources.sources import Source


@pytest.fixture(autouse=True)
def _private_cache(private_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here sees the user's own cache, or a proxy."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make the given sources the providers of the resource `thing`."""

    def put(*sources: Source, known: bool = True) -> None:
        monkeypatch.setitem(CATALOGUE, "thing", thing(*sources, known=known))

    return put
