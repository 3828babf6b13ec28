"""Which commit of its repository sgbt runs from."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from sgbt.version import PACKAGE

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
