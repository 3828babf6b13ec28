"""Locks: one holder at a time, let go however it ends, with the module that the operating system has for them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from sgbt.attacks.rows import ATTACKS
from sgbt.certify.rows import CERTIFICATES
from sgbt.core import locks
from sgbt.core.errors import SgbtError
from sgbt.core.locks import claim, exclusive
from sgbt.core.rows import RowFile, RowKind


class Bytes(ModuleType):
    """What Windows has: a lock on some bytes of a file, which belongs to the handle that asked for it."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.held: dict[tuple[int, int], int] = {}
        self.broken = 0

    def locking(self, handle: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        if self.broken:
            raise OSError(self.broken, os.strerror(self.broken))
        place = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
        holder = self.held.get(place)
        if holder is not None and holder != handle and self._is_open(holder, place[0]):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        self.held[place] = handle

    def _is_open(self, handle: int, file: int) -> bool:
        try:
            return os.fstat(handle).st_ino == file
        except OSError:
            return False


@pytest.fixture(params=["fcntl", "msvcrt"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The lock module of this system, and the one of Windows in its place."""
    fake = Bytes()
    if request.param == "msvcrt":
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.setitem(sys.modules, "msvcrt", fake)
    return SimpleNamespace(name=request.param, msvcrt=fake)


@pytest.mark.usefixtures("system")
class TestClaim:
    def test_a_second_holder_is_refused_and_a_later_one_is_not(self, tmp_path: Path) -> None:
        lock = tmp_path / "folder" / ".lock"
        with claim(lock), pytest.raises(SgbtError, match=r"nobody else, got one in use .*folder"):  # noqa: SIM117
            with claim(lock, expected="nobody else"):
                raise AssertionError("two holders")
        with claim(lock):
            pass

    def test_what_stands_in_the_file_stays_and_can_be_read(self, tmp_path: Path) -> None:
        (tmp_path / ".lock").write_bytes(b"kept")
        with claim(tmp_path / ".lock"):
            assert (tmp_path / ".lock").read_bytes() == b"kept"


@pytest.mark.usefixtures("system")
def test_who_waits_comes_after_the_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "RETRY_SECONDS", 0.01)
    order: list[str] = []

    def second() -> None:
        with exclusive(tmp_path / ".lock"):
            order.append("second")

    waiting = threading.Thread(target=second)
    with exclusive(tmp_path / ".lock"):
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        order.append("first")
    waiting.join(30)
    assert order == ["first", "second"]


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("kind", [CERTIFICATES, ATTACKS])
def test_a_file_of_rows_has_one_writer(kind: RowKind[Any], tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with RowFile(path, kind):
        with pytest.raises(kind.error, match="got one in use"), RowFile(path, kind):
            raise AssertionError("two writers")
        path.read_bytes()
    with RowFile(path, kind):
        pass


def test_the_place_of_a_stream_stays_where_it_was(tmp_path: Path, system: SimpleNamespace) -> None:
    with (tmp_path / "f").open("a+b") as stream:
        stream.write(b"one")
        stream.flush()
        locks.hold(stream, tmp_path / "f", expected="")
        stream.write(b"two")
        stream.seek(0)
        assert stream.read() == b"onetwo"
    assert (system.name == "msvcrt") == bool(system.msvcrt.held)
    assert all(place >= 1 << 30 for _, place in system.msvcrt.held)  # beyond all content: Windows lets nobody read it


def test_a_disk_without_locks_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Bytes()
    fake.broken = errno.ENOLCK
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    for holder in (claim(tmp_path / ".lock"), exclusive(tmp_path / ".lock"), RowFile(tmp_path / "r", ATTACKS)):
        with pytest.raises(SgbtError, match="expected to write, got no locks available"), holder:
            raise AssertionError("held")


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from sgbt.core.locks import exclusive\n"
        "with exclusive(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(SgbtError, match="one in use"), claim(tmp_path / ".lock"):
            raise AssertionError("two holders")
        holder.kill()
        holder.wait()
        with exclusive(tmp_path / ".lock"):
            pass  # a lock still held would hang here


def test_a_problem_inside_is_not_blamed_on_the_lock(tmp_path: Path) -> None:
    with pytest.raises(PermissionError, match="elsewhere"), exclusive(tmp_path / ".lock"):
        raise PermissionError(errno.EACCES, "denied", "/elsewhere")
