from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sgbt.core import files
from sgbt.core.errors import SgbtError
from sgbt.core.files import PARTIAL, atomic_folder, atomic_write, make_folder, sha256_of, stamp_of, user_cache
from sgbt.core.locks import exclusive


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGBT_CACHE", str(tmp_path / "mine"))
    assert user_cache() == tmp_path / "mine"
    monkeypatch.delenv("SGBT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert user_cache() == tmp_path / "xdg" / "sgbt"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert user_cache() == tmp_path / "home" / ".cache" / "sgbt"
    monkeypatch.setenv("SGBT_CACHE", "~/mine")
    assert user_cache() == tmp_path / "home" / "mine"


def test_sha256_is_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256_of(tmp_path / "a") == hashlib.sha256(b"abc").hexdigest()


def test_a_stamp_tells_a_change_that_kept_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    before, times = stamp_of(path), path.stat()
    changed = tmp_path / "b"
    changed.write_bytes(b"abd")
    changed.replace(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert stamp_of(path) != before


class TestAtomicWrite:
    def test_the_bytes_arrive_and_nothing_else(self, tmp_path: Path) -> None:
        with atomic_write(tmp_path / "new" / "a.bin") as stream:
            stream.write(b"whole")
            assert not (tmp_path / "new" / "a.bin").exists()
        assert (tmp_path / "new" / "a.bin").read_bytes() == b"whole"
        assert names_in(tmp_path / "new") == ["a.bin"]

    @pytest.mark.parametrize("problem", [RuntimeError("stop"), KeyboardInterrupt()])
    def test_a_failure_in_the_middle_leaves_the_old_content(self, tmp_path: Path, problem: BaseException) -> None:
        (tmp_path / "a").write_bytes(b"old")
        with pytest.raises(type(problem)), atomic_write(tmp_path / "a") as stream:  # noqa: PT012
            stream.write(b"half of the n")
            raise problem
        assert (tmp_path / "a").read_bytes() == b"old"
        assert names_in(tmp_path) == ["a"]

    def test_a_kill_in_the_middle_leaves_the_old_content(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"old")
        script = (
            "import os, sys, signal; from pathlib import Path; from sgbt.core.files import atomic_write\n"
            "with atomic_write(Path(sys.argv[1])) as s:\n"
            "    s.write(b'half'); s.flush(); os.kill(os.getpid(), signal.SIGKILL)"
        )
        done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "a")], check=False)
        assert done.returncode == -9
        assert (tmp_path / "a").read_bytes() == b"old"

    def test_a_full_disk_is_one_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"old")
        with pytest.raises(SgbtError) as caught, atomic_write(tmp_path / "a"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # what stream.write raises
        assert str(caught.value).startswith(
            f"expected to write, got no space left on device in {tmp_path / 'a'}; free "
        )
        assert (tmp_path / "a").read_bytes() == b"old"
        assert names_in(tmp_path) == ["a"]

    def test_a_disk_that_fills_up_while_flushing_is_one_sentence(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(handle: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(files.os, "fsync", full)
        with pytest.raises(SgbtError, match="no space left"), atomic_write(tmp_path / "a") as stream:
            stream.write(b"x")
        assert names_in(tmp_path) == []

    def test_a_problem_of_the_caller_stays_what_it_is(self, tmp_path: Path) -> None:
        with pytest.raises(ConnectionResetError), atomic_write(tmp_path / "a"):
            raise ConnectionResetError(errno.ECONNRESET, "gone")
        with pytest.raises(PermissionError, match="secret"), atomic_write(tmp_path / "a"):
            raise PermissionError(errno.EACCES, "denied", "/somewhere/secret")
        assert names_in(tmp_path) == []

    def test_a_folder_in_the_way_is_one_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        with (
            pytest.raises(SgbtError, match=r"expected a file to write, got a folder in .*/a;"),
            atomic_write(tmp_path / "a"),
        ):
            pass
        assert names_in(tmp_path) == ["a"]


class TestUnwritableFolder:
    @pytest.mark.parametrize(
        ("place", "reason"),
        [
            ("/proc/nowhere/sgbt", "no such file or directory"),
            ("{file}/below", "not a directory"),
            ("{long}", "too long"),
        ],
    )
    def test_it_is_one_sentence(self, tmp_path: Path, place: str, reason: str) -> None:
        (tmp_path / "file").write_bytes(b"")
        folder = Path(place.format(file=tmp_path / "file", long=tmp_path / ("x" * 300)))
        for attempt in (make_folder, self._write, self._make, self._lock):
            with pytest.raises(SgbtError) as caught:
                attempt(folder)
            assert reason in str(caught.value)
            assert "\n" not in str(caught.value)

    def test_a_folder_without_permission_is_one_sentence(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def denied(*arguments: object, **options: object) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(tmp_path))

        monkeypatch.setattr(files, "new_beside", denied)  # the system refuses root nothing, hence by hand
        with pytest.raises(SgbtError, match="expected to write, got permission denied in"):
            self._write(tmp_path)

    @staticmethod
    def _write(folder: Path) -> None:
        with atomic_write(folder / "a"):
            raise AssertionError("a stream where none can be")

    @staticmethod
    def _make(folder: Path) -> None:
        with atomic_folder(folder / "a"):
            raise AssertionError("a folder where none can be")

    @staticmethod
    def _lock(folder: Path) -> None:
        with exclusive(folder / ".lock"):
            raise AssertionError("a lock where none can be")


class TestAtomicFolder:
    def test_it_replaces_what_was_there(self, tmp_path: Path) -> None:
        (tmp_path / "f").mkdir()
        (tmp_path / "f" / "old").write_bytes(b"")
        with atomic_folder(tmp_path / "f") as folder:
            (folder / "new").write_bytes(b"")
            assert names_in(tmp_path / "f") == ["old"]
        assert names_in(tmp_path / "f") == ["new"]
        assert names_in(tmp_path) == ["f"]

    def test_it_can_be_new(self, tmp_path: Path) -> None:
        with atomic_folder(tmp_path / "deep" / "f") as folder:
            (folder / "new").write_bytes(b"")
        assert names_in(tmp_path / "deep" / "f") == ["new"]
        assert (tmp_path / "deep" / "f").stat().st_mode & 0o777 == 0o755

    @pytest.mark.parametrize("problem", [RuntimeError("stop"), KeyboardInterrupt()])
    def test_a_failure_in_the_middle_leaves_the_old_content(self, tmp_path: Path, problem: BaseException) -> None:
        (tmp_path / "f").mkdir()
        (tmp_path / "f" / "old").write_bytes(b"")
        with pytest.raises(type(problem)), atomic_folder(tmp_path / "f") as folder:  # noqa: PT012
            (folder / "half").write_bytes(b"")
            raise problem
        assert names_in(tmp_path / "f") == ["old"]
        assert names_in(tmp_path) == ["f"]

    def test_a_failure_of_the_last_rename_brings_the_old_content_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "f").mkdir()
        (tmp_path / "f" / "old").write_bytes(b"")
        rename = Path.replace

        def failing(self: Path, target: Path) -> Path:
            if (self / "new").exists():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return rename(self, target)

        monkeypatch.setattr(Path, "replace", failing)
        with pytest.raises(SgbtError, match="no space left"), atomic_folder(tmp_path / "f") as folder:
            (folder / "new").write_bytes(b"")
        assert names_in(tmp_path) == ["f"]
        assert names_in(tmp_path / "f") == ["old"]

    def test_a_full_disk_is_one_sentence(self, tmp_path: Path) -> None:
        with (
            pytest.raises(SgbtError, match="expected to write, got no space left on device"),
            atomic_folder(tmp_path / "f"),
        ):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert names_in(tmp_path) == []


def test_temporary_names_are_hidden() -> None:
    assert PARTIAL.startswith(".")
