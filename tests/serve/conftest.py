"""Two tiny trained models in folders, and one pool of workers that has them loaded, for all tests of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.serve.browsing import address, browser, page
from tests.soundness.trained import trained

from sgbt.models import save_classifier
from sgbt.serve import Limits, Pool, create_app
from sgbt.serve.guard import LOOPBACK

__all__ = ["address", "browser", "page"]
ADDRESS = "http://127.0.0.1:8000"
GENEROUS = Limits(workers=1, burst=10**6, per_minute=10**6, csv_rows=50)
"""Limits that no test meets by accident."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A model trained normally, and one trained to be certified."""
    folder = tmp_path_factory.mktemp("runs")
    note = {"objective": "standard", "dataset": "made up"}
    return [
        save_classifier(trained("cnn"), folder / "plain", training=note),
        save_classifier(trained("cnn", "ibp", "mean"), folder / "firm", training=note | {"objective": "ibp"}),
    ]


@pytest.fixture(scope="session")
def pool(runs: list[Path]) -> Iterator[Pool]:
    with Pool(runs, limits=GENEROUS) as pool:
        yield pool


@pytest.fixture(scope="session")
def client(pool: Pool) -> Iterator[TestClient]:
    with TestClient(create_app(pool, names=LOOPBACK), base_url=ADDRESS) as client:
        yield client
