"""Waiting for a job on behalf of a client, for as long as the client is there; and the short way to a prediction."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import HTTPException
from pydantic import TypeAdapter, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from sgbt.serve import schema
from sgbt.serve.connections import ON_DISCONNECT
from sgbt.serve.guard import PREDICT_PATH
from sgbt.serve.jobs import Pool
from sgbt.serve.lanes import BusyError, Job
from sgbt.serve.limits import client_key
from sgbt.serve.refusals import refusal, sentence_of, why
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


Asked = schema.PredictRequest | schema.PredictTextsRequest
ASKED: TypeAdapter[Asked] = TypeAdapter(schema.AskedPredictions)
JSON = (b"content-type", b"application/json")


class PredictFirst:
    """A layer that answers requests to predict, and passes others on. Bodies are whole: `Guard` stands before it."""

    def __init__(self, app: ASGIApp, *, pool: Pool) -> None:
        self._app, self._pool = app, pool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http" or scope["path"] != PREDICT_PATH or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            content = await self._answer((await receive())["body"], scope, receive)
        except ValidationError as problem:
            errors = problem.errors(include_url=False, include_context=False, include_input=False)
            await refusal(422, sentence_of(errors[0]))(scope, receive, send)
        except HTTPException as problem:
            await refusal(problem.status_code, problem.detail, problem.headers)(scope, receive, send)
        else:
            headers = [JSON, (b"content-length", b"%d" % len(content))]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": content})

    async def _answer(self, body: bytes, scope: Scope, receive: Receive) -> bytes:
        asked = ASKED.validate_json(body)
        job = submitted(self._pool, scope, task_of(asked), self._pool.limits.text_seconds)
        return answer_of(asked, await answer_to(scope, receive, job))


def task_of(asked: Asked) -> dict[str, Any]:
    """What the worker is to do."""
    texts = asked.texts if isinstance(asked, schema.PredictTextsRequest) else [asked.text]
    return {"do": "predict", "texts": texts, "model": asked.model}


def answer_of(asked: Asked, written: list[str]) -> bytes:
    """The answer as it was asked for: one prediction, or a list of them."""
    if isinstance(asked, schema.PredictTextsRequest):
        return f'{{"predictions": [{", ".join(written)}]}}'.encode()
    return written[0].encode()
