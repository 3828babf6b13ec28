"""Two processes that train into one folder: the second is told so at once, and the first goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import small

import sgbt
from sgbt.core.locks import claim


def test_a_folder_in_use_is_refused_and_free_again_afterwards(tmp_path: Path) -> None:
    model, data = sgbt.TextCNN(small.vectors(), filters=4, kernel_sizes=(1,)), small.dataset(train=16, dev=8)
    with (
        claim(tmp_path / "run" / ".lock"),
        pytest.raises(sgbt.SgbtError, match=r"no other process is writing to, got one in use.*another --out"),
    ):
        sgbt.train(model, data, config=small.QUICK, out=tmp_path / "run")
    assert not (tmp_path / "run" / "config.json").exists()
    sgbt.train(model, data, config=small.QUICK, out=tmp_path / "run")
    assert (tmp_path / "run" / "config.json").exists()
