"""Jobs end: with an answer, with a sentence, at their time limit, or because nobody waits for them any more."""

from __future__ import annotations

import asyncio
import errno
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pytest
from tests.soundness.trained import dataset, trained

from sgbt.errors import ServeError
from sgbt.models import save_classifier
from sgbt.serve import Limits, Pool
from sgbt.serve.jobs import TIMED_OUT, BusyError, Job
from sgbt.serve.worker import DONE, STEP

TEXT = dataset().test.texts[0]
QUICK: dict[str, Any] = {"do": "predict", "text": TEXT}
SLOW: dict[str, Any] = {
    "do": "csv",
    "text": "text\n" + "\n".join(dataset().test.texts[:100] * 1000),
    "text_column": "text",
    "label_column": None,
    "most": 10**6,
}
"""A task that takes a minute or more."""


async def last_of(job: Job) -> dict[str, Any]:
    return [message async for message in job.messages()][-1]


def test_a_job_that_takes_too_long_is_ended_with_its_process_and_the_next_one_is_answered(runs: list[Path]) -> None:
    async def scenario(pool: Pool) -> None:
        process = pool._workers[0]._process
        assert process is not None
        message = await last_of(pool.submit(SLOW, seconds=0.5))
        assert message == {"kind": TIMED_OUT, "seconds": 0.5}
        answer = await last_of(pool.submit(QUICK, seconds=60))
        assert answer["kind"] == DONE
        assert not process.is_alive()

    with Pool(runs[:1], limits=Limits(workers=1)) as pool:
        asyncio.run(scenario(pool))


def test_a_queue_that_is_full_refuses(runs: list[Path]) -> None:
    async def scenario(pool: Pool) -> None:
        running = pool.submit(SLOW, seconds=3)
        while not pool._jobs.empty():
            await asyncio.sleep(0.01)
        waiting = [pool.submit(QUICK, seconds=60) for _ in range(2)]
        with pytest.raises(BusyError):
            pool.submit(QUICK, seconds=60)
        assert (await last_of(running))["kind"] == TIMED_OUT
        assert [(await last_of(job))["kind"] for job in waiting] == [DONE, DONE]
        assert pool.submit(QUICK, seconds=60)

    with Pool(runs[:1], limits=Limits(workers=1, queued=2)) as pool:
        asyncio.run(scenario(pool))


def test_a_job_that_nobody_waits_for_ends_at_its_next_step(pool: Pool) -> None:
    async def scenario() -> None:
        task = {"do": "live", "text": " ".join(dataset().test.texts[:3]), "model": "firm"}
        messages = pool.submit(task, seconds=60).messages()
        first = await anext(messages)
        await messages.aclose()  # type: ignore[attr-defined]
        assert first["kind"] in (STEP, DONE)
        answer = await last_of(pool.submit(QUICK, seconds=60))
        assert answer["kind"] == DONE

    asyncio.run(scenario())


def test_a_worker_that_died_is_replaced(runs: list[Path]) -> None:
    async def scenario(pool: Pool) -> None:
        process = pool._workers[0]._process
        assert process is not None
        process.kill()
        process.join()
        assert (await last_of(pool.submit(QUICK, seconds=60)))["kind"] == DONE

    with Pool(runs[:1], limits=Limits(workers=1)) as pool:
        asyncio.run(scenario(pool))


def test_a_folder_that_is_no_run_is_told_before_anything_is_served(tmp_path: Path) -> None:
    with pytest.raises(ServeError, match="the folder of a trained model"), Pool([tmp_path / "nowhere"]):
        pass


def test_a_process_that_cannot_be_started_is_told_as_the_machine_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(process: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(SpawnProcess, "start", refused)
    with pytest.raises(OSError, match="temporarily unavailable"), Pool([tmp_path]):
        pass


def test_a_model_without_a_table_is_told_before_anything_is_served(tmp_path: Path) -> None:
    from dataclasses import replace

    save_classifier(replace(trained("cnn"), table=None), tmp_path / "bare")
    with pytest.raises(ServeError, match="a substitution table"), Pool([tmp_path / "bare"]):
        pass


def test_two_folders_of_one_name_are_told_apart(runs: list[Path]) -> None:
    with Pool([runs[0], runs[0]], limits=Limits(workers=1)) as pool:
        assert [model["name"] for model in pool.models] == ["plain", "plain (2)"]
