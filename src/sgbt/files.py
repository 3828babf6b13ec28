"""Writing so that nothing is ever half-written, and telling files apart by content.

A file appears under its own name only when it is complete: it is written beside its place under a temporary name,
flushed to disk, and renamed. A process killed at any moment leaves either the old file or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sgbt.errors import SgbtError

PARTIAL = ".partial-"
_WRITING_FAILURES = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}


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
    """What tells cheaply that a file is unchanged: its full path, size and time of change."""
    status = path.stat()
    return f"{path.resolve()}:{status.st_size}:{status.st_mtime_ns}"


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a binary stream whose bytes become `path` on success and leave no trace on failure."""
    make_folder(path.parent)
    with _writing_errors(path):
        handle, name = tempfile.mkstemp(prefix=f"{PARTIAL}{path.name}-", dir=path.parent)
    temporary = Path(name)
    try:
        with _writing_errors(path):
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A new folder whose content becomes `path` on success, replacing what was there, and vanishes on failure."""
    make_folder(path.parent)
    with _writing_errors(path):
        temporary = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}{path.name}-", dir=path.parent))
    try:
        with _writing_errors(path):
            yield temporary
            temporary.chmod(0o755)
            if path.exists():
                discarded = temporary.with_name(temporary.name + "-old")
                path.replace(discarded)
                temporary.replace(path)
                shutil.rmtree(discarded)
            else:
                temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold `lock` while the block runs, so that two processes never do the same work at once.

    The lock belongs to the process: however it ends, the operating system releases it.
    """
    make_folder(lock.parent)
    with _writing_errors(lock), lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def make_folder(folder: Path) -> None:
    """Create `folder` and its parents, or say why that cannot be."""
    with _writing_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def _writing_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno not in _WRITING_FAILURES:
            raise
        raise SgbtError(
            wanted="to write",
            got=(problem.strerror or str(problem)).lower(),
            where=str(path),
            remedy="free some space, or choose a folder you may write to (SGBT_CACHE, --data-home or --out)",
        ) from problem
