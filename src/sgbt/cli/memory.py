"""How the process of the command keeps memory: what is freed is soon wanted again."""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> None:
    """Ask glibc to keep freed memory instead of giving it back; elsewhere nothing happens.

    Tensors of some megabytes come and go with every batch. By default a thread's memory goes back to the system each
    time and is cleared page by page when it returns: with two threads that was a sixth of the time of certificates.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none, or ignore it
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, 1 << 30)
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
