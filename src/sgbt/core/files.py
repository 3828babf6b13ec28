"""Writing so that nothing is ever half-written, and telling files apart by content.

A file appears under its own name only when it is complete: it is written beside its place under a temporary name,
flushed to disk, and renamed. A process killed at any moment leaves either the old file or the new one. What is no
regular file is written through or refused (`sgbt.core.outputs`); what was there keeps its mode.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sgbt.core.errors import SgbtError
from sgbt.core.outputs import PARTIAL as PARTIAL
from sgbt.core.outputs import folder_target, new_beside, new_folder_beside, open_through, regular_target, to_disk

_DISK_FAILURES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def user_cache() -> Path:
    """The folder for what can be made again: `SGBT_CACHE`, or `sgbt` in the user's cache folder."""
    chosen = os.environ.get("SGBT_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sgbt"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stamp_of(path: Path) -> str:
    """What shows cheaply that a file is unchanged: its full path, size, number and times.

    The time of writing can be set back (`cp -p`, `touch -r`); the time of the last change of any kind cannot.
    """
    status = path.stat()
    return f"{path.resolve()}:{status.st_size}:{status.st_ino}:{status.st_mtime_ns}:{status.st_ctime_ns}"


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a binary stream whose bytes become `path` on success and leave no trace on failure.

    A link stays, and what it leads to is replaced. Into a pipe or a device bytes go as they come.
    """
    make_folder(path.parent)
    with writing_errors(path):
        target = regular_target(path)
        through = open_through(path) if target is None else None
    if through is not None:
        with disk_errors(path), through:
            yield through
        return
    assert target is not None
    with writing_errors(path):
        temporary, handle = new_beside(target)
    try:
        with disk_errors(path), os.fdopen(handle, "wb") as stream:
            yield stream
            to_disk(stream)
        with writing_errors(path):
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A new folder whose content becomes `path` on success, replacing what was there, and vanishes on failure.

    Where there was one before, two renames follow each other: a kill exactly between them leaves no folder at `path`,
    which a later run makes again, and never a mixture. A link to a folder stays.
    """
    make_folder(path.parent)
    with writing_errors(path):
        target = folder_target(path)
        temporary = new_folder_beside(target)
    try:
        with disk_errors(path):
            yield temporary
        with writing_errors(path):
            _exchange(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _exchange(new: Path, path: Path) -> None:
    if not path.exists():
        new.replace(path)
        return
    new.chmod(stat.S_IMODE(path.stat().st_mode))
    old = new.with_name(new.name + "-old")
    path.replace(old)
    try:
        new.replace(path)
    except BaseException:
        old.replace(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def make_folder(folder: Path) -> None:
    """Create `folder` and its parents, or say why that cannot be."""
    with writing_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def writing_errors(path: Path) -> Iterator[None]:
    """Say in one sentence why `path` cannot be written, when the block, which does nothing else, fails to."""
    try:
        yield
    except OSError as problem:
        raise _unwritable(path, problem) from problem


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Say so in one sentence when the disk fills up or fails in the block; other problems in it pass as they are."""
    try:
        yield
    except OSError as problem:
        if not is_disk_failure(problem):
            raise
        raise _unwritable(path, problem) from problem


def is_disk_failure(problem: Exception) -> bool:
    """Whether the disk is full or failing, which no other source and no second try can mend."""
    return isinstance(problem, OSError) and problem.errno in _DISK_FAILURES


def _unwritable(path: Path, problem: OSError) -> SgbtError:
    return SgbtError(
        expected="to write",
        got=(problem.strerror or str(problem)).lower(),
        where=str(path),
        remedy="free some space, or choose a folder you may write to (SGBT_CACHE, --data-home or --out)",
    )
