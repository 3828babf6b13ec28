from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _private_cache(private_cache: Path) -> None:
    """No test here sees the user's own cache."""
