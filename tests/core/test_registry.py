"""Names of models, objectives and attacks: listed without loading, loaded by name, and open to others."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from typing import Any

import pytest

from sgbt.core.errors import RegistryError
from sgbt.core.registry import Registry, shipped_grids


def test_listing_every_name_imports_no_torch() -> None:
    code = (
        "import sys\n"
        "from sgbt.core.registry import ATTACKS, MODELS, OBJECTIVES, shipped_grids\n"
        "print(len([*ATTACKS, *MODELS, *OBJECTIVES, *shipped_grids()]) > 30, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_grids_are_the_files_that_are_shipped() -> None:
    assert {"table1", "smoke", "imdb-all"} <= set(shipped_grids())


def test_others_add_names_and_none_is_taken_twice() -> None:
    known: Registry[Any] = Registry("model", {"cnn": "sgbt.models.cnn:TextCNN"})
    thing = object()
    assert known.add("mine", thing) is thing
    assert [*known] == ["cnn", "mine"]
    assert known["mine"] is known.add("mine", thing)
    for taken in ("cnn", "mine"):
        with pytest.raises(RegistryError, match="which there is"):
            known.add(taken, object())
    known.remove("mine")
    assert "mine" not in known


def test_an_installed_package_adds_names_by_entry_points_and_replaces_none(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        metadata.EntryPoint("theirs", "collections:OrderedDict", "sgbt.models"),
        metadata.EntryPoint("cnn", "collections:Counter", "sgbt.models"),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: points if group == "sgbt.models" else [])
    known: Registry[Any] = Registry("model", {"cnn": "sgbt.models.cnn:TextCNN"})
    assert [*known] == ["cnn", "theirs"]
    assert known["theirs"].__name__ == "OrderedDict"
    assert known["cnn"].__name__ == "TextCNN"
