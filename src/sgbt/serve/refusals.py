"""Every error of the server as `{"detail": "one sentence"}`, and the description of when which one comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from sgbt.core.errors import ServeError
from sgbt.serve import schema
from sgbt.serve.guard import HEADERS
from sgbt.serve.lanes import LEFT, TIMED_OUT
from sgbt.serve.worker import REFUSED

Responses = dict[int | str, dict[str, Any]]
REFUSALS: Responses = {
    code: {"model": schema.Refusal, "description": why}
    for code, why in {
        400: "The request is not what its headers say, or came in part.",
        401: "The token is missing or wrong.",
        403: "The request came from a page of another site.",
        408: "The request took too long to arrive.",
        413: "The request is too large.",
        415: "The content type is not the one described.",
        421: "The request names another host.",
        422: "The request, or what it asks for, cannot be met; the sentence says why.",
        429: "Too many requests from this client.",
        500: "An error in the server; its log has the details.",
        503: "Too many jobs are waiting, or too many connections are open.",
        504: "The job took longer than allowed, and was ended.",
    }.items()
}
FAILURE = "expected an answer, got none: an error in the server; its log has the details."
UNREADABLE = "expected a JSON document in UTF-8, got something else."
WITHOUT_SENTENCE = {
    400: UNREADABLE,
    404: "expected one of the addresses that /docs describes, got another.",
    405: "expected a method that /docs describes for this address, got another.",
}
"""What the framework says in two words, in a sentence."""


def refuse_in_sentences(app: FastAPI) -> None:
    """Have the application say what is wrong the way that all of this project does."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _failed)


def why(message: Mapping[str, Any]) -> tuple[int, str]:
    """Status and sentence for a job that ended without an answer."""
    if message["kind"] == REFUSED:
        return 422, str(ServeError(**message["sentence"]))
    if message["kind"] == TIMED_OUT:
        return 504, f"expected an answer within {message['seconds']:g} s, got none; the job was ended."
    if message["kind"] == LEFT:
        return 499, "expected a client that waits for its answer, got none."  # for the metrics: nobody reads it
    return 500, f"expected an answer, got none: {message['reason']}."


def sentence_of(problem: Mapping[str, Any]) -> str:
    """What is wrong with a request; what was sent is not sent back."""
    where = ".".join(str(part) for part in problem["loc"] if part != "body")[:100]
    match problem["type"]:
        case "json_invalid":
            return UNREADABLE
        case "missing":
            return f"expected {where or 'a JSON document'}, got none."
        case "extra_forbidden":
            return f"expected only fields that /docs describes, got {where}."
    return f"{where or 'expected another request'}: {problem['msg']}."


def refusal(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An answer that says why there is no other."""
    return JSONResponse({"detail": detail}, status_code=status, headers=headers)


async def _invalid(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    return refusal(422, sentence_of(problem.errors()[0]))


async def _refused(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, HTTPException)
    own = problem.detail.startswith("expected ")
    detail = problem.detail if own else WITHOUT_SENTENCE.get(problem.status_code, problem.detail)
    return refusal(problem.status_code, detail, problem.headers)


async def _failed(request: Request, problem: Exception) -> JSONResponse:
    return refusal(500, FAILURE, HEADERS)
