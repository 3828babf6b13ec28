"""Locks between processes: one holder at a time, and the operating system lets go however the holder ends.

Where there is `fcntl` (Linux, macOS) a lock is `flock` of the file. On Windows it is one byte far behind the content,
because a locked byte can be read by nobody else there.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from sgbt.core.errors import SgbtError
from sgbt.core.files import make_folder, writing_errors

RETRY_SECONDS = 0.1
"""How long a process that waits for a lock of Windows pauses before it tries again."""
_LOCKED_BYTE = 1 << 40
_IN_USE = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


@contextlib.contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold `lock` while the block runs, after waiting for whoever holds it."""
    with _opened(lock) as stream:
        with writing_errors(lock):
            _take(stream.fileno(), wait=True)
        yield


@contextlib.contextmanager
def claim(
    lock: Path, *, expected: str = "a folder that no other process is writing to", kind: type[SgbtError] = SgbtError
) -> Iterator[None]:
    """Hold `lock` while the block runs, or refuse at once where another process does."""
    with _opened(lock) as stream:
        hold(stream, lock.parent, expected=expected, kind=kind)
        yield


def hold(stream: IO[bytes], where: Path, *, expected: str, kind: type[SgbtError] = SgbtError) -> None:
    """Hold the file of an open stream until it is closed; `kind`, naming `where`, if another process holds it."""
    with writing_errors(where):
        free = _take(stream.fileno(), wait=False)
    if not free:
        raise kind(expected=expected, got="one in use", where=str(where), remedy="wait for it, or choose another --out")


def _opened(lock: Path) -> IO[bytes]:
    make_folder(lock.parent)
    with writing_errors(lock):
        return lock.open("ab")


def _take(handle: int, *, wait: bool) -> bool:
    """Lock the file of a descriptor; whether that succeeded, which it always does after waiting."""
    try:
        fcntl: Any = importlib.import_module("fcntl")
    except ImportError:
        return _take_byte(handle, wait=wait)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _take_byte(handle: int, *, wait: bool) -> bool:
    msvcrt: Any = importlib.import_module("msvcrt")
    before = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
    try:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            except OSError as problem:
                if problem.errno not in _IN_USE:
                    raise
            else:
                return True
            if not wait:
                return False
            time.sleep(RETRY_SECONDS)
    finally:
        os.lseek(handle, before, os.SEEK_SET)
