"""Work done on several batches at a time, with results in the order of the batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], *, threads: int) -> Iterator[Result]:
    """work(item) for every item. Meanwhile torch computes each operation on one thread: threads share out the items.

    Torch leaves Python's lock while it computes, so threads are enough, and all read the same tables. Only a few items
    are taken before their turn.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if threads == 1:
            yield from map(work, items)
            return
        pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
    finally:
        torch.set_num_threads(before)
