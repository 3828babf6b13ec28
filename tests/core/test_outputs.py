"""What is written to: regular files behind links stay behind them, streams are written through, the rest is refused."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sgbt.attacks.rows import ATTACKS
from sgbt.certify.rows import CERTIFICATES
from sgbt.core.errors import SgbtError
from sgbt.core.files import atomic_folder, atomic_write
from sgbt.core.rows import RowFile


def write(path: Path, content: bytes = b"new") -> None:
    with atomic_write(path) as stream:
        stream.write(content)


def append(path: Path) -> None:
    with RowFile(path, CERTIFICATES):
        pass


def append_attacks(path: Path) -> None:
    with RowFile(path, ATTACKS):
        pass


def fill(path: Path) -> None:
    with atomic_folder(path) as folder:
        (folder / "a").write_bytes(b"new")


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def null_device(path: Path) -> Path:
    """A device of one's own that takes everything, as /dev/null does; only an administrator can make one."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.open("wb").close()
    except PermissionError:
        pytest.skip("no device can be made here")
    return path


class TestLinks:
    def test_a_file_behind_links_is_replaced_and_the_links_stay(self, tmp_path: Path) -> None:
        (tmp_path / "far").mkdir()
        (tmp_path / "far" / "real").write_bytes(b"old")
        (tmp_path / "near").symlink_to("far/real")
        (tmp_path / "nearer").symlink_to(tmp_path / "near")
        write(tmp_path / "nearer")
        assert (tmp_path / "near").readlink() == Path("far/real")
        assert (tmp_path / "nearer").is_symlink()
        assert (tmp_path / "far" / "real").read_bytes() == b"new"
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["far", "near", "nearer", "real"]

    def test_a_folder_behind_a_link_is_replaced_and_the_link_stays(self, tmp_path: Path) -> None:
        (tmp_path / "far" / "real").mkdir(parents=True)
        (tmp_path / "far" / "real" / "old").touch()
        (tmp_path / "near").symlink_to("far/real")
        fill(tmp_path / "near")
        assert (tmp_path / "near").is_symlink()
        assert [path.name for path in (tmp_path / "far" / "real").iterdir()] == ["a"]

    @pytest.mark.parametrize("how", [write, append, append_attacks, fill])
    @pytest.mark.parametrize(("target", "said"), [("nothing", "leads nowhere"), ("link", "link")])
    def test_a_link_to_nothing_or_to_itself_is_one_sentence(self, tmp_path: Path, how, target: str, said: str) -> None:  # type: ignore[no-untyped-def]
        (tmp_path / "link").symlink_to(target)
        with pytest.raises(SgbtError, match=said):
            how(tmp_path / "link")
        assert [path.name for path in tmp_path.iterdir()] == ["link"]


class TestStreams:
    @pytest.mark.parametrize("how", [write, append, append_attacks])
    def test_a_device_is_written_through_and_stays_a_device(self, tmp_path: Path, how) -> None:  # type: ignore[no-untyped-def]
        device = null_device(tmp_path / "null")
        how(device)
        assert stat.S_ISCHR(device.stat().st_mode)
        assert [path.name for path in tmp_path.iterdir()] == ["null"]

    def test_a_pipe_is_written_through(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        got: list[bytes] = []
        reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
        reader.start()
        write(tmp_path / "pipe", b"through")
        reader.join(10)
        assert got == [b"through"]
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)

    @pytest.mark.parametrize("name", ["stdout", "/proc/self/fd/1"])
    @pytest.mark.parametrize("behind", ["a pipe", "a file"])
    def test_standard_output_keeps_what_was_printed_before_and_after(
        self, tmp_path: Path, name: str, behind: str
    ) -> None:
        """A link as /dev/stdout is one, but not that one: an administrator who writes wrongly would replace it."""
        (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
        script = (
            "import sys; from pathlib import Path; from sgbt.core.files import atomic_write\n"
            "print('before')\n"
            "with atomic_write(Path(sys.argv[1])) as stream: stream.write(b'between\\n')\n"
            "print('after')"
        )
        with (tmp_path / "out").open("w+b") as out:
            done = subprocess.run(
                [sys.executable, "-c", script, str(tmp_path / name)],
                stdout=subprocess.PIPE if behind == "a pipe" else out, stderr=subprocess.PIPE, check=False,
            )  # fmt: skip
        assert done.returncode == 0, done.stderr
        printed = done.stdout if behind == "a pipe" else (tmp_path / "out").read_bytes()
        assert printed == b"before\nbetween\nafter\n"


class TestWhatIsNoFile:
    @pytest.mark.parametrize("how", [write, append, append_attacks])
    def test_a_folder(self, tmp_path: Path, how) -> None:  # type: ignore[no-untyped-def]
        (tmp_path / "folder").mkdir()
        with pytest.raises(SgbtError, match="folder"):
            how(tmp_path / "folder")

    @pytest.mark.parametrize("how", [write, append, append_attacks, fill])
    def test_a_socket(self, tmp_path: Path, how, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
        monkeypatch.chdir(tmp_path)  # the name of a socket is short
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
            with pytest.raises(SgbtError, match="a socket"):
                how(tmp_path / "socket")
            assert stat.S_ISSOCK((tmp_path / "socket").stat().st_mode)

    def test_a_file_where_a_folder_belongs(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"mine")
        with pytest.raises(SgbtError, match="a file"):
            fill(tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == b"mine"
        assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.usefixtures("umask")
class TestModes:
    def test_a_new_file_and_folder_have_what_the_user_allows(self, tmp_path: Path) -> None:
        write(tmp_path / "a")
        fill(tmp_path / "b")
        assert mode_of(tmp_path / "a") == 0o640
        assert mode_of(tmp_path / "b") == 0o750

    def test_what_was_there_keeps_its_mode(self, tmp_path: Path) -> None:
        (tmp_path / "a").touch()
        (tmp_path / "a").chmod(0o604)
        (tmp_path / "b").mkdir()
        (tmp_path / "b").chmod(0o705)
        with atomic_write(tmp_path / "a") as stream:
            (partial,) = (path for path in tmp_path.iterdir() if path.name.startswith(".partial-"))
            assert mode_of(partial) == 0o604  # never more open than the file was, while it is written either
            stream.write(b"new")
        fill(tmp_path / "b")
        assert mode_of(tmp_path / "a") == 0o604
        assert mode_of(tmp_path / "b") == 0o705

    def test_a_long_name(self, tmp_path: Path) -> None:
        write(tmp_path / ("n" * 255))
        assert (tmp_path / ("n" * 255)).read_bytes() == b"new"
