from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a user cache folder of its own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SGBT_CACHE", str(folder))
    return folder
