"""What the package takes from the operating system, and what it does where that is missing."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sgbt.core import machine
from sgbt.core.outputs import open_through, regular_target

LIKE_WINDOWS = """
import ctypes, os, pathlib, pkgutil, importlib, signal, subprocess, sys
import asyncio, multiprocessing.connection, tempfile, urllib.request
import numpy, torch, networkx, rich.console, rich.progress, safetensors.torch, typer
for optional in ("fastapi", "uvicorn", "numba", "sklearn.base", "ray", "pyarrow.parquet", "matplotlib.pyplot", "nltk"):
    try:
        importlib.import_module(optional)
    except ImportError:
        pass
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "fchown", "fchmod", "O_CLOEXEC", "O_NOFOLLOW", "sysconf", "sched_getaffinity", "getuid"):
    vars(os).pop(name, None)
for name in ("SIGKILL", "SIGALRM", "SIGHUP"):
    vars(signal).pop(name, None)
loaded = ctypes.CDLL
def only_named(name, *arguments, **options):
    if name is None:
        raise TypeError("bad argument type for built-in operation")
    return loaded(name, *arguments, **options)
ctypes.CDLL = only_named
sys.platform = "win32"
import sgbt
for module in pkgutil.walk_packages(sgbt.__path__, "sgbt."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from sgbt import resources
from sgbt.core import files, machine
from sgbt.cli.app import keep_freed_memory
target = pathlib.Path(sys.argv[1])
for content in (b"one\\n", b"two\\n"):
    with files.atomic_write(target) as stream:
        stream.write(content)
assert target.read_bytes() == b"two\\n"
assert machine.cores() >= 1
assert machine.peak_bytes() == 0
assert machine.before_program() is None
machine.end_with_parent()
keep_freed_memory()
print("whole")
"""


def test_every_module_loads_and_files_are_written_where_there_is_only_what_windows_has(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIKE_WINDOWS, str(tmp_path / "f")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "whole\n"), done.stderr


class TestMemory:
    def test_this_machine_has_some(self) -> None:
        assert 1 << 20 < machine.available_memory() < float("inf")
        assert machine.peak_bytes() > 1 << 20

    def test_without_proc_all_that_the_machine_has_is_the_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "KERNEL", Path("/nowhere"))
        monkeypatch.setattr(machine, "GROUP", Path("/nowhere"))
        expected = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        assert machine.available_memory() == expected
        monkeypatch.delattr(os, "sysconf")
        assert machine.available_memory() == float("inf")

    def test_a_control_group_is_a_limit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "GROUP", tmp_path)
        (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 100\n", encoding="utf-8")
        (tmp_path / "memory.current").write_text("1100\n", encoding="utf-8")
        (tmp_path / "memory.max").write_text("4000\n", encoding="utf-8")
        assert machine.available_memory() == 3000

    def test_the_peak_is_told_in_bytes_on_macos_and_in_kilobytes_elsewhere(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("resource.getrusage", lambda who: type("Usage", (), {"ru_maxrss": 5}))
        assert machine.peak_bytes() == 5 * 1024
        monkeypatch.setattr(sys, "platform", "darwin")
        assert machine.peak_bytes() == 5


def test_no_other_system_is_asked_to_end_with_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (machine.before_program() is machine.end_with_parent) == (sys.platform == "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: pytest.fail("a C library was asked"))
    monkeypatch.setattr(sys, "platform", "darwin")
    machine.end_with_parent()
    assert machine.before_program() is None


def test_an_open_stream_of_this_process_is_known_where_there_is_no_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On macOS /dev/stdout leads to /dev/fd/1 and no further."""
    monkeypatch.setattr("os.path.realpath", lambda path: str(path))
    with (tmp_path / "redirected").open("wb") as stream:
        name = Path(f"/dev/fd/{stream.fileno()}")
        assert regular_target(name) is None
        with open_through(name) as through:
            through.write(b"whole")
    assert (tmp_path / "redirected").read_bytes() == b"whole"
