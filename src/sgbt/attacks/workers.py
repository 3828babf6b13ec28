"""Work on many numbers, in several processes of this machine.

Each process is a copy of this one, takes every n-th number, and sends its answers through a pipe of its own. If this
process dies, however it dies, the pipes break and the others end with their next answer.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import TypeVar

import torch

from sgbt.errors import AttackError, SgbtError

T = TypeVar("T")


def in_processes(work: Callable[[Sequence[int]], Iterator[T]], numbers: Sequence[int], *, workers: int) -> Iterator[T]:
    """What `work` gives for all numbers, in the order in which it comes; one worker is this process itself."""
    if workers < 1:
        raise AttackError(wanted="one worker or more", got=str(workers), where="workers")
    if min(workers, len(numbers)) < 2:
        yield from work(numbers)
        return
    context = multiprocessing.get_context("fork")
    open_ends: list[Connection] = []
    processes = []
    for worker in range(min(workers, len(numbers))):
        receiver, sender = context.Pipe(duplex=False)
        open_ends.append(receiver)
        arguments = (work, numbers[worker::workers], sender, tuple(open_ends))
        process = context.Process(target=_work, args=arguments, daemon=True)
        process.start()
        sender.close()  # the worker's copy is the only one left: when it goes, we are told
        processes.append(process)
    try:
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
        for process in processes:
            process.terminate()
            process.join()
    for process in processes:
        if process.exitcode not in (0, -15):
            raise AttackError(
                wanted="a worker that lives until its work is done",
                got=f"one that ended with code {process.exitcode}",
                remedy="use fewer workers; the memory may not suffice",
            )


class _Failure:
    """A problem of a worker, carried to the process that a person looks at."""

    def __init__(self, problem: BaseException) -> None:
        self.sentence = None
        if isinstance(problem, SgbtError):
            self.sentence = problem.wanted, problem.got, problem.where, problem.remedy
        self.trace = "".join(traceback.format_exception(problem))

    def again(self) -> None:
        if self.sentence is not None:
            wanted, got, where, remedy = self.sentence
            raise AttackError(wanted=wanted, got=got, where=where, remedy=remedy)
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
