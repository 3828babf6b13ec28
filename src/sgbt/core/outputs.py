"""What a path to be written stands for: a regular file, behind links or not; a stream to write through; or neither.

Links are followed and stay. A regular file can be replaced as a whole. A pipe, a device (/dev/null) and an open
stream of this process (/dev/stdout) take bytes as they come and are never replaced. Whatever else bears the name, a
folder, a socket, a disk, a link that leads nowhere, is refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from sgbt.core.errors import SgbtError

PARTIAL = ".partial-"
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a disk",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
}
_STREAMS = (stat.S_IFIFO, stat.S_IFCHR)
_OWN = re.compile(r"(?:/proc/(?:self|thread-self|\d+)(?:/task/\d+)?|/dev)/fd/(\d+)")
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would else write every line end as two bytes
MOST_LINKS = 40


def regular_target(path: Path) -> Path | None:
    """The regular file, there already or not yet, that a write to `path` reaches; None where it goes into a stream."""
    target = _followed(path)
    if _own_stream(target) is not None:
        return None
    kind = _kind_of(target)
    if kind in (0, stat.S_IFREG):
        return target
    if kind in _STREAMS:
        return None
    raise _refused(path, "a file to write", _KINDS.get(kind, "something else"))


def folder_target(path: Path) -> Path:
    """The folder, there already or not yet, that `path` names, its links followed."""
    target = _followed(path)
    kind = _kind_of(target)
    if kind not in (0, stat.S_IFDIR):
        raise _refused(path, "a folder to write", _KINDS.get(kind, "something else"))
    return target


def open_through(path: Path) -> BinaryIO:
    """A stream that writes into a pipe, a device or an open stream of this process, as it comes."""
    target = _followed(path)
    own = _own_stream(target)
    if own is None:
        return os.fdopen(os.open(target, os.O_WRONLY | _BINARY), "wb")
    for printed in (sys.stdout, sys.stderr):
        printed.flush()  # what was printed before comes before
    return os.fdopen(os.dup(own), "wb")


def open_to_append(path: Path) -> BinaryIO:
    """A stream to read and extend the regular file that `path` names, or to write through: see `is_regular`."""
    target = regular_target(path)
    return open_through(path) if target is None else target.open("a+b")


def is_regular(stream: BinaryIO) -> bool:
    """Whether a stream of `open_to_append` is a file: one that can be read, locked, cut and resumed.

    Standard output is none even where it was redirected into a file: what that file has is not ours.
    """
    return "+" in stream.mode


def to_disk(stream: BinaryIO) -> None:
    """Flush a stream and, where there is a disk behind it, wait for that."""
    stream.flush()
    try:
        os.fsync(stream.fileno())
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):  # a pipe or a device has no disk
            raise


def new_beside(target: Path) -> tuple[Path, int]:
    """A new file beside `target`, and its descriptor; as open to others as `target` is, or as the umask lets it be."""
    temporary = _temporary_name(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY  # O_EXCL follows no link
    try:
        known = target.stat()
    except FileNotFoundError:
        return temporary, os.open(temporary, flags, 0o666)
    handle = os.open(temporary, flags, 0o600)
    if hasattr(os, "fchown"):  # Windows has neither owners nor modes of this kind
        with contextlib.suppress(OSError):  # a file of another owner stays theirs where that is ours to decide
            os.fchown(handle, known.st_uid, known.st_gid)
        os.fchmod(handle, stat.S_IMODE(known.st_mode))
    return temporary, handle


def new_folder_beside(target: Path) -> Path:
    """A new folder beside `target`: as the umask lets it be, or closed to others until it takes the place of one."""
    temporary = _temporary_name(target)
    temporary.mkdir(0o700 if target.exists() else 0o777)
    return temporary


def _temporary_name(target: Path) -> Path:
    """A hidden name that says whose it is; a long name is cut, for a file's name has at most 255 bytes."""
    return target.with_name(f"{PARTIAL}{target.name[:40]}-{secrets.token_hex(6)}")


def _followed(path: Path) -> Path:
    """`path` with the links at its end followed, up to an open stream of this process."""
    found = path
    for _ in range(MOST_LINKS):
        if _own_stream(found) is not None or not found.is_symlink():
            break
        found = found.parent / found.readlink()
    else:
        raise _refused(path, "a path to write to", "a link that leads back to itself")
    if found is not path and _own_stream(found) is None and not os.path.lexists(found):
        raise _refused(path, "a path to write to", f"a link that leads nowhere ({found})")
    return found


def _own_stream(path: Path) -> int | None:
    """The number of the open stream of this process that `path` names, if it names one."""
    parent = os.path.realpath(path.parent)
    named = _OWN.fullmatch(f"{parent}/{path.name}")
    ours = parent == "/dev/fd" or parent.startswith(os.path.realpath("/proc/self") + "/")  # /dev/fd: macOS
    return int(named[1]) if named and ours else None


def _kind_of(path: Path) -> int:
    """What kind of thing bears the name, as `stat` numbers kinds; 0 for nothing."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return 0


def _refused(path: Path, expected: str, got: str) -> SgbtError:
    return SgbtError(expected=expected, got=got, where=str(path), remedy="choose another path")
