"""Waiting for a job on behalf of a client, for as long as the client is there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import HTTPException
from starlette.types import Receive, Scope

from sgbt.serve.connections import ON_DISCONNECT
from sgbt.serve.jobs import Pool
from sgbt.serve.lanes import BusyError, Job
from sgbt.serve.limits import client_key
from sgbt.serve.refusals import why
from sgbt.serve.worker import DONE, STEP


def submitted(pool: Pool, scope: Scope, task: Mapping[str, Any], seconds: float) -> Job:
    """A job in its lane, or 503 if there is no place."""
    client = client_key(scope["client"][0]) if scope.get("client") else ""
    try:
        return pool.submit(task, seconds=seconds, client=client)
    except BusyError:
        wait = {"Retry-After": "5"}
        raise HTTPException(503, "expected a free place in the queue, got none; try again.", headers=wait) from None


async def answer_to(scope: Scope, receive: Receive, job: Job) -> Any:
    """The answer of a job, or the error that says why there is none; if the client goes away, so does the job."""
    if ON_DISCONNECT in scope:
        scope[ON_DISCONNECT].append(job.leave)
        message = await job.last()
    else:  # on a server that is not ours
        watching = asyncio.ensure_future(_left(receive, job))
        try:
            message = await job.last()
        finally:
            watching.cancel()
    if message["kind"] != DONE:
        raise HTTPException(*why(message))
    return message["answer"]


async def lines_of(job: Job) -> AsyncIterator[bytes]:
    """A job's messages, one JSON object per line, as they come."""
    async for message in job.messages():
        if message["kind"] == STEP:
            line = message["step"]
        elif message["kind"] == DONE:
            line = {"kind": "outcome", **message["answer"]}
        else:
            line = {"kind": "refused", "detail": why(message)[1]}
        yield json.dumps(line).encode() + b"\n"


async def _left(receive: Receive, job: Job) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    job.leave()
