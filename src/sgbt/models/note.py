"""The note that a model's folder keeps on how the model came about: for people and cards, nothing depends on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sgbt.core.documents import read_json_object
from sgbt.core.errors import ModelError
from sgbt.models.folder import CONFIG


def training_note(folder: Path) -> dict[str, Any]:
    """What `save_classifier` was given as `training`; nothing where a folder has none."""
    config = read_json_object(folder / CONFIG, kind=ModelError, expected="a config.json that sgbt wrote", finite=False)
    note = config.get("training")
    if not isinstance(note, dict | None):
        raise ModelError(expected="training in config.json as sgbt writes it", got="something else", where=str(folder))
    return note or {}
