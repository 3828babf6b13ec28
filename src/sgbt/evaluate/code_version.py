"""Which code made a result: its commit, and a hash of the source involved, blind to comments and layout."""

from __future__ import annotations

import ast
import hashlib
import subprocess
from functools import cache
from pathlib import Path

from sgbt.version import PACKAGE

READING = ("core/shares", "data", "embeddings", "threats", "bounds", "models", "evaluate/materials", "evaluate/toy")
"""What turns names into texts, words and models."""

PARTS: dict[str, tuple[str, ...]] = {
    "train": (*READING, "training", "evaluate/working"),
    "predict": (*READING, "evaluate/working"),
    "certify": (*READING, "certify", "evaluate/working"),
    "attack": (*READING, "attacks", "evaluate/working"),
    "threat": (*READING, "certify", "evaluate/working"),
}
"""For each kind of work, the packages and modules that its result depends on."""


@cache
def code_version(kind: str) -> str:
    """The hash of the code behind one kind of work: it changes when, and only when, a part's code does.

    A module is hashed as its syntax tree without docstrings, so a better sentence does not throw away a day of
    training.
    """
    whole = hashlib.sha256()
    root = PACKAGE
    for part in PARTS[kind]:
        folder = root / part
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]:
            whole.update(f"{path.relative_to(root)}\n{tree_of(path.read_text(encoding='utf-8'))}\n".encode())
    return whole.hexdigest()[:16]


def tree_of(source: str) -> str:
    """A module's syntax tree in writing, docstrings and the places of things left out."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [each for each in body if not _is_note(each)]
            node.body = kept  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_note(node: ast.AST) -> bool:
    """A text that stands alone: a docstring of a module, class, function or constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


INSTALLED = "installed"
"""What stands in place of a commit where sgbt does not run from a checkout."""


@cache
def current_commit() -> str:
    """The commit, with `+` behind it if files differ from it; `installed` outside a checkout."""
    home = PACKAGE
    if not (home.parents[1] / ".git").exists():
        return INSTALLED
    try:
        head = _git(home, "rev-parse", "HEAD")
        return head + ("+" if _git(home, "status", "--porcelain", "--", str(home)) else "")
    except (OSError, subprocess.SubprocessError):
        return INSTALLED


def _git(home: Path, *arguments: str) -> str:
    asked = ["git", "-C", str(home), *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
