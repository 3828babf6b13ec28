from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.walked import walked, world

__all__ = ["walked", "world"]


@pytest.fixture(autouse=True)
def _private_cache(private_cache: Path) -> None:
    """No test here sees the user's own cache."""
