"""Jobs end: with an answer, with a sentence, at their time limit, or because nobody waits for them any more."""

from __future__ import annotations

import asyncio
import errno
import shutil
import time
from multiprocessing import Pipe
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pytest
from tests.soundness.trained import dataset, trained

from sgbt.core.errors import ServeError
from sgbt.models import save_classifier
from sgbt.serve import Limits, Pool
from sgbt.serve.jobs import WorkerProcess
from sgbt.serve.lanes import TIMED_OUT, Lane
from sgbt.serve.worker import DONE, FAILED, STEP

TEXTS = dataset().test.texts[:100]
TEXT = TEXTS[0]
QUICK: dict[str, Any] = {"do": "predict", "texts": [TEXT], "model": None}
SINGLE: dict[str, Any] = {"do": "certify", "text": TEXT}
SLOW: dict[str, Any] = {
    "do": "csv",
    "text": "text\n" + "\n".join(TEXTS * 1000),
    "text_column": "text",
    "label_column": None,
    "most": 10**6,
}
"""A task that takes a minute or more."""
FEW = SLOW | {"text": f"text\n{TEXT}\n"}


def worker_of(pool: Pool, lane: Lane) -> WorkerProcess:
    return next(worker for worker, lanes in pool._workers if lane in lanes)


def test_a_job_that_takes_too_long_is_ended_with_its_process_and_the_next_one_is_answered(runs: list[Path]) -> None:
    async def scenario(pool: Pool) -> None:
        message = await pool.submit(SLOW, seconds=0.5).last()
        assert message == {"kind": TIMED_OUT, "seconds": 0.5}
        assert (await pool.submit(FEW, seconds=60).last())["kind"] == DONE
        assert worker_of(pool, Lane.FILE).starts == 2

    with Pool(runs[:1], limits=Limits(workers=1)) as pool:
        asyncio.run(scenario(pool))


@pytest.mark.parametrize("workers", [1, 2])
def test_files_keep_no_text_waiting_and_end_when_their_clients_leave(runs: list[Path], workers: int) -> None:
    async def scenario(pool: Pool) -> None:
        files = [pool.submit(SLOW, seconds=600) for _ in range(3)]
        heard = files[0].messages()
        assert (await anext(heard))["kind"] == STEP  # the first of them runs
        began = time.monotonic()
        for task in (QUICK, SINGLE):
            assert (await pool.submit(task, seconds=60).last())["kind"] == DONE
        assert time.monotonic() - began < 20
        for job in files:
            job.leave()
        assert (await pool.submit(FEW, seconds=60).last())["kind"] == DONE
        assert time.monotonic() - began < 40  # each of the files takes minutes
        assert worker_of(pool, Lane.FILE).starts == 1  # it ended at a step, not with its process

    with Pool(runs[:1], limits=Limits(workers=workers)) as pool:
        asyncio.run(scenario(pool))


def test_a_job_without_steps_that_nobody_waits_for_is_ended_with_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgbt.serve.jobs.STOP_SECONDS", 0.1)
    worker = WorkerProcess([])
    worker._pipe, theirs = Pipe()  # where nobody ever answers
    began = time.monotonic()
    message = worker.run({"do": "certify"}, 60.0, listener=lambda message: None, left=lambda: True)
    assert message == {"kind": FAILED, "reason": "stopped"}
    assert time.monotonic() - began < 10
    assert theirs.recv_bytes() == b'{"do": "certify"}'
    assert theirs.recv_bytes() == b"null"  # it was asked to stop
    with pytest.raises(EOFError):
        theirs.recv_bytes()  # and its end of the pipe is closed


def test_a_job_that_nobody_waits_for_ends_at_its_next_step(pool: Pool) -> None:
    async def scenario() -> None:
        task = {"do": "live", "text": " ".join(TEXTS[:3]), "model": "firm"}
        messages = pool.submit(task, seconds=60).messages()
        first = await anext(messages)
        await messages.aclose()  # type: ignore[attr-defined]
        assert first["kind"] in (STEP, DONE)
        assert (await pool.submit(QUICK, seconds=60).last())["kind"] == DONE

    asyncio.run(scenario())


def test_a_worker_that_died_is_replaced(runs: list[Path]) -> None:
    async def scenario(pool: Pool) -> None:
        process = worker_of(pool, Lane.TEXT)._process
        assert process is not None
        process.kill()
        process.join()
        assert (await pool.submit(QUICK, seconds=60).last())["kind"] == DONE
        assert pool.restarts == 1

    with Pool(runs[:1], limits=Limits(workers=1)) as pool:
        asyncio.run(scenario(pool))


def test_a_restarted_worker_refuses_another_model_than_was_announced(runs: list[Path], tmp_path: Path) -> None:
    folder, aside = tmp_path / "run", tmp_path / "aside"
    shutil.copytree(runs[0], folder)

    async def scenario(pool: Pool) -> None:
        assert (await pool.submit(QUICK, seconds=60).last())["kind"] == DONE
        folder.rename(aside)
        shutil.copytree(runs[1], folder)
        worker_of(pool, Lane.PREDICT).end()
        refused = await pool.submit(QUICK, seconds=60).last()
        assert refused["kind"] == FAILED
        assert "the model that this server announced" in refused["reason"]
        assert (await pool.submit(FEW, seconds=60).last())["kind"] == FAILED  # the process for files starts late
        assert len(pool.problems) == 2
        shutil.rmtree(folder)
        aside.rename(folder)
        assert (await pool.submit(QUICK, seconds=60).last())["kind"] == DONE
        assert (await pool.submit(FEW, seconds=60).last())["kind"] == DONE
        assert not pool.problems

    with Pool([folder], limits=Limits(workers=1)) as pool:
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
