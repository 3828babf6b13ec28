"""What the operating system says about this machine and does for a process, and what holds where it does not."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

KERNEL = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")
_PR_SET_PDEATHSIG = 1
_C = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded here: after a fork it may be too late


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> float:
    """Bytes that new processes can have, by kernel and control group; where both are silent, all that there is.

    Infinite where the system does not say even that.
    """
    limits = [float("inf")]
    with contextlib.suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        fields = dict(line.split(":", 1) for line in KERNEL.read_text("utf-8").splitlines())
        limits.append(int(fields["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        pass
    try:
        stat = dict(line.split() for line in (GROUP / "memory.stat").read_text("utf-8").splitlines())
        used = int((GROUP / "memory.current").read_text("utf-8")) - int(stat["inactive_file"])  # given back on demand
        limits.append(int((GROUP / "memory.max").read_text("utf-8")) - used)
    except (OSError, KeyError, ValueError):
        pass
    return min(limits)


def peak_bytes() -> int:
    """The most memory that this process has had so far; 0 where the system does not say."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if sys.platform == "darwin" else 1024)


def end_with_parent() -> None:
    """Ask Linux to end this process when its parent ends, even by kill -9; elsewhere nothing happens."""
    if sys.platform == "linux" and _C is not None:
        _C.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def before_program() -> Callable[[], None] | None:
    """What a child runs before its program starts (`preexec_fn`), so that it ends with us; None but on Linux."""
    return end_with_parent if sys.platform == "linux" else None
