"""The default table as it really is; skips where no data home has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sgbt.embeddings import load_embeddings
from sgbt.resources import locate


@pytest.fixture(scope="session")
def glove() -> Path:
    located = locate("glove")
    if located is None:
        pytest.skip("glove is not on this machine (sgbt data get glove)")
    return located.paths[0]


def test_glove_as_published(glove: Path) -> None:
    table = load_embeddings(glove)
    assert (len(table), table.width) == (33_860, 300)
    assert table.words[:3] == ("the", "and", "to")
    assert any(len(word.split()) > 1 for word in table.words), "some words contain a no-break space"
    assert table.vector("the")[:2] == pytest.approx([0.27204, -0.06203], abs=1e-6)
    assert "n't" not in table
    np.testing.assert_array_equal(table.matrix(["n't", "film"], seed=0)[0], table.vector("not"))
    film, movie, tax = (
        table.restricted_to(["film", "movie", "tax"]).normalised().matrix(["film", "movie", "tax"], seed=0)
    )
    assert film @ movie > 0.7
    assert film @ tax < 0.3
