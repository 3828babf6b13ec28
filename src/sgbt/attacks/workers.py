"""Work on many numbers, in several processes of this machine.

Each process takes every n-th number, and sends its answers through a pipe of its own. If this process dies, however it
dies, the pipes break and the others end with their next answer. On Linux a process is a copy of this one; elsewhere,
where there are no copies or they are not safe beside threads, it starts anew and is sent its work.
"""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TypeVar

import torch

from sgbt.core.errors import AttackError, SgbtError

T = TypeVar("T")
START = "fork" if sys.platform == "linux" else "spawn"
"""How processes are started."""


def in_processes(work: Callable[[Sequence[int]], Iterator[T]], numbers: Sequence[int], *, workers: int) -> Iterator[T]:
    """What `work` gives for all numbers, in the order in which it comes; one worker is this process itself."""
    if workers < 1:
        raise AttackError(expected="one worker or more", got=str(workers), where="workers")
    if min(workers, len(numbers)) < 2:
        yield from work(numbers)
        return
    context = multiprocessing.get_context("fork") if START == "fork" else multiprocessing.get_context("spawn")
    open_ends: list[Connection] = []
    processes: list[BaseProcess] = []
    try:
        for worker in range(min(workers, len(numbers))):
            receiver, sender = context.Pipe(duplex=False)
            open_ends.append(receiver)
            copied = tuple(open_ends) if START == "fork" else ()  # ends that only a copy of this process has too
            process = context.Process(target=_work, args=(work, numbers[worker::workers], sender, copied), daemon=True)
            _start(process)
            sender.close()  # the worker's copy is the only one left: when it goes, the pipe ends
            processes.append(process)
        while open_ends:
            for ready in wait(open_ends):
                assert isinstance(ready, Connection)
                try:
                    answer = ready.recv()
                except EOFError:
                    open_ends.remove(ready)
                    continue
                if isinstance(answer, _Failure):
                    answer.again()
                yield answer
    finally:
        for started in processes:
            started.terminate()
            started.join()
    for ended in processes:
        if ended.exitcode not in (0, -15):
            raise AttackError(
                expected="a worker that lives until its work is done",
                got=f"one that ended with code {ended.exitcode}",
                remedy="use fewer workers; the memory may not suffice",
            )


def _start(process: BaseProcess) -> None:
    try:
        process.start()
    except (pickle.PicklingError, AttributeError, TypeError) as problem:  # which of them depends on what it is
        raise AttackError(
            expected="a model that can be sent to another process",
            got=f"one that cannot ({problem})",
            where="workers",
            remedy="use one worker, or a model made by a function or class of a module",
        ) from problem


class _Failure:
    """A problem of a worker, carried to the process that a person looks at."""

    def __init__(self, problem: BaseException) -> None:
        self.sentence = None
        if isinstance(problem, SgbtError):
            self.sentence = problem.expected, problem.got, problem.where, problem.remedy
        self.trace = "".join(traceback.format_exception(problem))

    def again(self) -> None:
        if self.sentence is not None:
            expected, got, where, remedy = self.sentence
            raise AttackError(expected=expected, got=got, where=where, remedy=remedy)
        raise RuntimeError(f"a worker failed:\n{self.trace}")


def _work(
    work: Callable[[Sequence[int]], Iterator[T]],
    numbers: Sequence[int],
    sender: Connection,
    others: Sequence[Connection],
) -> None:
    for receiver in others:
        receiver.close()
    torch.set_num_threads(1)
    try:
        for answer in work(numbers):
            sender.send(answer)
    except (BrokenPipeError, KeyboardInterrupt):
        return
    except BaseException as problem:
        sender.send(_Failure(problem))
