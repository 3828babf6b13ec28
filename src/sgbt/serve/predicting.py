"""The short way to an answer of /predict: the body is checked while it is parsed, and the worker's JSON is passed on.

The framework would parse, check, copy, check again and write; at many requests a second that costs more than the model.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from sgbt.serve import schema

ASKED: TypeAdapter[schema.PredictRequest | schema.PredictTextsRequest] = TypeAdapter(schema.AskedPredictions)


class ShortRoute(APIRoute):
    """A route whose endpoint takes a checked request to predict, and gives the bytes of a JSON document."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Parse and check in one go, then call the endpoint."""

        async def handled(request: Request) -> Response:
            try:
                asked = ASKED.validate_json(await request.body())
            except ValidationError as problem:
                errors = problem.errors(include_url=False, include_context=False, include_input=False)
                raise RequestValidationError(errors) from None
            return Response(await self.endpoint(asked, request), media_type="application/json")

        return handled


def task_of(asked: schema.PredictRequest | schema.PredictTextsRequest) -> dict[str, Any]:
    """What the worker is to do."""
    texts = asked.texts if isinstance(asked, schema.PredictTextsRequest) else [asked.text]
    return {"do": "predict", "texts": texts, "model": asked.model}


def answer_of(asked: schema.PredictRequest | schema.PredictTextsRequest, written: list[str]) -> bytes:
    """The answer as it was asked for: one prediction, or a list of them."""
    if isinstance(asked, schema.PredictTextsRequest):
        return f'{{"predictions": [{", ".join(written)}]}}'.encode()
    return written[0].encode()
