"""Several processes that train one model: torch's own DistributedDataParallel, launched with torchrun.

Every process holds the model, takes its share of every batch and averages gradients with the others, so all of them
take the same step. One process, the first, reads and writes files and prints; what it reads, and any error it meets,
is sent to the others, so that all go on together or stop together.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sgbt.core.errors import SgbtError, TrainingError
from sgbt.core.registry import DEVICES

T = TypeVar("T")

PATIENCE = timedelta(hours=12)
"""How long processes wait for one another: the first may fit linear models for an hour before the network begins."""


def device_named(name: str | torch.device = "auto") -> torch.device:
    """The device of that name; `auto` is a GPU where there is one. A process of several takes the GPU of its number."""
    if str(name) == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    kind = str(name).split(":")[0]
    if kind not in DEVICES:
        raise TrainingError(expected=f"one of {', '.join(DEVICES)}", got=repr(str(name)), where="the option device")
    if kind == "cuda" and not torch.cuda.is_available():
        raise TrainingError(
            expected="a GPU that torch can use", got="none", where="the option device", remedy="use cpu or auto"
        )
    if str(name) == "cuda" and "LOCAL_RANK" in os.environ:
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return torch.device(name)


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among those that train together; alone by default."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def first(self) -> bool:
        """Whether this process reads, writes and prints for all."""
        return self.rank == 0

    def wrapped(self, loss: nn.Module) -> nn.Module:
        """The module whose backward pass averages gradients over all processes."""
        if self.size == 1:
            return loss
        return cast(nn.Module, DistributedDataParallel(loss, broadcast_buffers=False))

    def sum(self, figures: Tensor) -> Tensor:
        """The sum of everybody's figures, the same for all."""
        if self.size > 1:
            figures = figures.to(self.device)
            dist.all_reduce(figures)
        return figures.cpu()

    def from_first(self, work: Callable[[], T]) -> T:
        """The result of the first process, for all; an expected error of its is raised by all of them."""
        if self.size == 1:
            return work()
        answer: list[object] = [None, None]
        if self.first:
            try:
                answer[0] = work()
            except SgbtError as problem:
                answer[1] = problem
        dist.broadcast_object_list(answer, src=0, device=self.device)
        if isinstance(answer[1], SgbtError):
            raise answer[1]
        return cast(T, answer[0])


@contextlib.contextmanager
def together(device: torch.device) -> Iterator[Processes]:
    """The processes that torchrun launched (environment WORLD_SIZE above one).

    They join once and stay joined to the end: a second meeting through the same store could find the addresses that
    the first one left there, and wait for ever.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield Processes(device=device)
        return
    if not dist.is_initialized():
        if device.type == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
        atexit.register(_part)
    yield Processes(dist.get_rank(), dist.get_world_size(), device)


def _part() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def is_first() -> bool:
    """Whether this process is the first of those that torchrun launched: it alone prints."""
    return int(os.environ.get("RANK", "0")) == 0
