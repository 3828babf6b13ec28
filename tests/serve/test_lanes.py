"""Who waits for whom: clients take turns, who left has no place, and predictions are answered together."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import pytest

from sgbt.serve import Limits, Pool
from sgbt.serve.lanes import BusyError, Job, Lane, Lanes
from sgbt.serve.worker import DONE, FAILED


def job(client: str = "", *texts: str, model: str | None = None) -> Job:
    """A request to predict, or a job on one text if there are no texts."""
    task: dict[str, Any] = {"do": "predict", "texts": texts, "model": model} if texts else {"do": "certify", "text": ""}
    return Job(task, 1.0, asyncio.get_running_loop(), client=client)


def inside_a_loop(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, timeout=30))


def test_clients_take_turns() -> None:
    async def scenario() -> None:
        lanes = Lanes(Limits())
        many, few = [job("many") for _ in range(4)], [job("few"), job("few")]
        for each in many + few:
            lanes.put(each)
        taken = [lanes.take([Lane.TEXT])[0] for _ in range(6)]
        assert taken == [many[0], few[0], many[1], few[1], many[2], many[3]]

    inside_a_loop(scenario())


def test_a_lane_that_is_full_refuses_and_no_client_has_more_than_half_of_it() -> None:
    async def scenario() -> None:
        lanes = Lanes(Limits(queued=4))
        for client in ("a", "a", "b"):
            lanes.put(job(client))
        with pytest.raises(BusyError):
            lanes.put(job("a"))
        lanes.put(job("b"))
        with pytest.raises(BusyError):
            lanes.put(job("c"))
        lanes.put(job("c", "a text to label"))  # another lane
        lanes.take([Lane.TEXT])
        lanes.put(job("c"))

    inside_a_loop(scenario())


def test_letters_that_wait_are_bounded() -> None:
    async def scenario() -> None:
        lanes = Lanes(Limits(queued_bytes=10))
        lanes.put(job("a", "123456"))
        with pytest.raises(BusyError):
            lanes.put(job("b", "12345"))
        lanes.put(job("b", "1234"))

    inside_a_loop(scenario())


def test_jobs_of_clients_that_left_take_up_no_place_and_are_not_taken() -> None:
    async def scenario() -> None:
        lanes = Lanes(Limits(queued=4))
        jobs = [job(client) for client in "aabb"]
        for each in jobs:
            lanes.put(each)
        for each in jobs[:3]:
            each.leave()
        new = job("a")
        lanes.put(new)
        assert lanes.count(Lane.TEXT) == 2
        assert [lanes.take([Lane.TEXT]), lanes.take([Lane.TEXT])] == [[jobs[3]], [new]]

    inside_a_loop(scenario())


def test_predictions_that_wait_go_together_up_to_the_limits_and_by_model() -> None:
    async def scenario() -> None:
        lanes = Lanes(Limits(batch_texts=3, batch_bytes=12))
        jobs = [job(str(n), text) for n, text in enumerate(("1", "2", "3", "4", "5555555", "666666"))]
        jobs += [job("6", "1", "2", "3", "4"), job("7", "7", model="other")]
        for each in jobs:
            lanes.put(each)
        taken = [lanes.take([Lane.PREDICT]) for _ in range(5)]
        assert taken == [jobs[:3], jobs[3:5], [jobs[5]], [jobs[6]], [jobs[7]]]

    inside_a_loop(scenario())


class FakeWorker:
    """A worker that labels a text by itself, and cannot answer where a text is `bad`."""

    alive, closed = True, False

    def __init__(self) -> None:
        self.calls: list[Sequence[str]] = []
        self.free = threading.Event()

    def revive(self, announced: Sequence[str]) -> None:
        pass

    def run(self, task: Mapping[str, Any], seconds: float, **options: Any) -> dict[str, Any]:
        self.free.wait(10)
        self.calls.append(list(task["texts"]))
        if "bad" in task["texts"]:
            return {"kind": FAILED, "reason": "it was bad"}
        return {"kind": DONE, "answer": [json.dumps(text) for text in task["texts"]]}


@contextlib.contextmanager
def served_by_a_fake(limits: Limits) -> Any:
    pool, worker = Pool([], limits=limits), FakeWorker()
    thread = threading.Thread(target=pool._serve, args=(worker, (Lane.PREDICT,)), daemon=True)
    thread.start()
    yield pool, worker
    pool.lanes.close()
    thread.join(10)


async def answers(pool: Pool, worker: FakeWorker, *requests: list[str]) -> list[dict[str, Any]]:
    """The answers to requests that arrive while the worker is busy with another."""
    first = pool.submit({"do": "predict", "texts": ["first"], "model": None}, seconds=5)
    while pool.lanes.count(Lane.PREDICT):
        await asyncio.sleep(0.01)
    jobs = [pool.submit({"do": "predict", "texts": texts, "model": None}, seconds=5) for texts in requests]
    worker.free.set()
    assert (await first.last())["kind"] == DONE
    return [await each.last() for each in jobs]


def test_requests_that_arrive_while_the_worker_is_busy_are_answered_by_one_call() -> None:
    async def scenario(pool: Pool, worker: FakeWorker) -> None:
        got = await answers(pool, worker, ["a"], ["b", "c"], ["d"])
        assert [each["answer"] for each in got] == [['"a"'], ['"b"', '"c"'], ['"d"']]
        assert worker.calls == [["first"], ["a", "b", "c", "d"]]

    with served_by_a_fake(Limits()) as (pool, worker):
        inside_a_loop(scenario(pool, worker))


def test_a_batch_of_one_is_the_way_to_have_none() -> None:
    async def scenario(pool: Pool, worker: FakeWorker) -> None:
        await answers(pool, worker, ["a"], ["b"])
        assert worker.calls == [["first"], ["a"], ["b"]]

    with served_by_a_fake(Limits(batch_texts=1)) as (pool, worker):
        inside_a_loop(scenario(pool, worker))


def test_a_text_that_cannot_be_answered_spoils_no_others() -> None:
    async def scenario(pool: Pool, worker: FakeWorker) -> None:
        got = await answers(pool, worker, ["a"], ["bad"], ["c"])
        assert [each["kind"] for each in got] == [DONE, FAILED, DONE]
        assert [got[0]["answer"], got[2]["answer"]] == [['"a"'], ['"c"']]

    with served_by_a_fake(Limits()) as (pool, worker):
        inside_a_loop(scenario(pool, worker))
