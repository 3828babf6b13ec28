"""Folders as the Hugging Face hub has them: made and read offline, pushed and fetched where huggingface_hub is."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

from sgbt.bridges.model_card import model_card
from sgbt.core.errors import ModelError, visible
from sgbt.core.files import atomic_folder
from sgbt.models import TextClassifier, load_classifier
from sgbt.models.folder import CONFIG, TABLE, VOCABULARY, WEIGHTS


def imported(module: str, *, package: str) -> Any:
    """A module of another package, or one sentence that says how to get it."""
    try:
        return import_module(module)
    except ImportError as problem:
        missing = getattr(problem, "name", None) or str(problem)
        raise ModelError(
            expected=f"the package {package}",
            got="an environment without it" if missing.split(".")[0] == module.split(".")[0] else f"no {missing}",
            remedy=f"pip install {package}",
        ) from problem


def classifier_of(source: TextClassifier | str | Path) -> TextClassifier:
    """A classifier as it is, or the one in a folder."""
    return source if isinstance(source, TextClassifier) else load_classifier(source)


CARD = "README.md"
FILES = (CONFIG, WEIGHTS, VOCABULARY, TABLE)


def export(
    run: str | Path,
    out: str | Path,
    **about: Any,
) -> Path:
    """Write what others need of a run into a new folder: the model, and a card with what was measured.

    What goes on the card is given as to `model_card`, which proves a sample of the certificates again. Logs and
    checkpoints stay behind. The folder is complete or not there at all.
    """
    run, out = Path(run), Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not (out / CARD).is_file():
        raise ModelError(
            expected="a new folder, or one that was exported before",
            got="something else",
            where=str(out),
            remedy="choose another one",
        )
    card = model_card(run, **about)
    with atomic_folder(out) as folder:
        for name in FILES:
            if (run / name).is_file():
                shutil.copyfile(run / name, folder / name)
        (folder / CARD).write_text(visible(card), encoding="utf-8")
    return out


def load_from_hub(name: str | Path, *, revision: str | None = None) -> TextClassifier:
    """The classifier in a folder, or in a repository of the hub such as `somebody/model`. Nothing is ever unpickled."""
    if Path(name).is_dir():
        return load_classifier(name)
    hub = imported("huggingface_hub", package="huggingface_hub")
    try:
        folder = hub.snapshot_download(str(name), revision=revision, allow_patterns=[*FILES, CARD])
    except Exception as problem:
        raise _no_answer(str(name), problem) from problem
    return load_classifier(folder)


def push(folder: str | Path, repository: str, *, private: bool = True) -> str:
    """Upload a folder that `export` wrote to the hub, under the account that huggingface_hub is logged in with."""
    folder = Path(folder)
    if not (folder / CARD).is_file():
        raise ModelError(
            expected="a folder with a model card", got="none", where=str(folder), remedy="write one with export"
        )
    load_classifier(folder)  # what others could not load is not sent
    hub = imported("huggingface_hub", package="huggingface_hub")
    try:
        hub.create_repo(repository, private=private, exist_ok=True)
        return str(hub.upload_folder(repo_id=repository, folder_path=str(folder)))
    except Exception as problem:
        raise _no_answer(repository, problem) from problem


def _no_answer(name: str, problem: Exception) -> ModelError:
    """Whatever the hub's library raises, of which there are many kinds, is one sentence here."""
    reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
    return ModelError(
        expected=f"the folder or hub repository {name!r}",
        got=f"no answer ({reason[:160]})",
        remedy="check the name, the network and the log-in (hf auth login)",
    )
