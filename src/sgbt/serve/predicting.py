"""The short way to an answer of /predict: the body is checked while it is parsed, and the worker's JSON is passed on.

The framework would find the route, parse, check, copy, check again and write; that costs more than the model.
"""

from __future__ import annotations

from typing import Any

from fastapi import HTTPException
from pydantic import TypeAdapter, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from sgbt.serve import schema
from sgbt.serve.guard import PREDICT_PATH
from sgbt.serve.jobs import Pool
from sgbt.serve.refusals import refusal, sentence_of
from sgbt.serve.waiting import answer_to, submitted

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
