"""create_app: the routes. Each turns a checked request into a job, and the job's answer into a checked answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from sgbt.serve import schema
from sgbt.serve.guard import CSV_LIVE_PATH, CSV_PATH, PREDICT_PATH, Guard
from sgbt.serve.jobs import Pool
from sgbt.serve.lanes import Job, Lane
from sgbt.serve.metrics import CONTENT_TYPE
from sgbt.serve.refusals import REFUSALS, Responses, refuse_in_sentences
from sgbt.serve.waiting import PredictFirst, answer_to, lines_of, submitted
from sgbt.version import __version__

FILE_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
ADDRESSES = {"/": "index.html", "/docs": "docs.html"}
"""Pages have addresses of their own; every other file is /static/ and its name."""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file's content and what it is."""

    content: bytes
    kind: str


def static_files() -> dict[str, StaticFile]:
    """Every file by the path under which it is asked for."""
    names = {name: address for address, name in ADDRESSES.items()}
    found = {}
    for entry in files("sgbt.serve").joinpath("static").iterdir():
        kind = FILE_KINDS.get(entry.name.rpartition(".")[2])
        if kind is not None:
            found[names.get(entry.name, f"/static/{entry.name}")] = StaticFile(entry.read_bytes(), kind)
    return found


HEALTH_PATH, METRICS_PATH = "/health", "/metrics"
HEALTH: Responses = {503: {"model": schema.Health, "description": "A process that should answer is not there."}}


def add_monitoring(app: FastAPI, pool: Pool) -> None:
    """Add both routes to an application."""

    @app.get(HEALTH_PATH, response_model=schema.Health, responses=REFUSALS | HEALTH)
    async def health() -> JSONResponse:
        """Whether the server can answer. No token is needed: nothing is said that a stranger may not know."""
        problems = pool.problems
        found = schema.Health(
            status="degraded" if problems else "ok", identities=pool.identities, missing_workers=len(problems)
        )
        return JSONResponse(found.model_dump(), status_code=503 if problems else 200)

    @app.get(METRICS_PATH, response_class=PlainTextResponse, responses=REFUSALS)
    async def metrics() -> Response:
        """What the server has done so far, in the text format of Prometheus."""
        waiting = {str(lane): pool.lanes.count(lane) for lane in Lane}
        return Response(pool.metrics.lines(waiting=waiting, restarts=pool.restarts), media_type=CONTENT_TYPE)


ABOUT = """Label a text, prove that no substitution of its words changes the label, or try to change it.

What may replace what is the substitution table that the model was trained for (`GET /models`). Errors are
`{"detail": "one sentence"}`. Where the server has a token, send `Authorization: Bearer TOKEN`.
"""
GUARDED_PATH = "/guarded"
REQUESTS = (
    "PredictRequest",
    "PredictTextsRequest",
    "CertifyRequest",
    "ThreatRequest",
    "AttackRequest",
    "LiveAttackRequest",
)
"""Schemas with models and labels to choose from."""
ABOUT_TEXTS = ("/predict", "/certify", "/certify/threat", "/attack", "/attack/live", GUARDED_PATH)
KINDS = dict.fromkeys(ABOUT_TEXTS, "application/json") | dict.fromkeys((CSV_PATH, CSV_LIVE_PATH), "text/csv")
CSV_BODY = {
    "requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}},
}
STRING = {"schema": {"type": "string"}}
CSV_ANSWER: Responses = {
    200: {
        "description": "The same rows with the columns predicted, probability, verdict, margin, radius, replaceable, "
        "unknown and tier.",
        "headers": {
            "X-Verdicts": {"description": "How many rows there are, and how many of each verdict; JSON.", **STRING},
            "X-Classes": {
                "description": "For each class its texts, how many of them are right and certified, and how often the "
                "model answers it; and a warning if it answers the same for all texts; JSON.",
                **STRING,
            },
        },
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}
TextColumn = Annotated[str, Query(max_length=200, description="The column with the texts.")]
LabelColumn = Annotated[
    str | None, Query(max_length=200, description="The column with the true labels, if there is one.")
]
ModelName = Annotated[str | None, Query(max_length=200, description="One of the names that /models lists.")]
ROWS: Responses = {
    200: {
        "description": "One JSON object per line: how many `rows` are done, and at the end `outcome` with the rows as "
        "`csv` and the `certificates` as JSON lines for sgbt verify, or `refused`.",
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    }
}
LINES: Responses = {
    200: {
        "description": "One JSON object per line: swaps as they are made (`swap`), `harder` when all attacks are tried,"
        " and at the end `outcome` or `refused`.",
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    }
}


def create_app(pool: Pool, *, token: str | None = None, names: Iterable[str] | None = None) -> FastAPI:
    """The application over a pool that is open. `token` and `names` as in `Guard`."""
    app = FastAPI(title="sgbt", version=__version__, description=ABOUT, docs_url=None, redoc_url=None)
    files, limits = static_files(), pool.limits

    _add_texts(app, pool)
    _add_files(app, pool)
    if pool.behind is not None:
        _add_guarded(app, pool)
    add_monitoring(app, pool)

    async def page(request: Request) -> Response:
        file = files[request.url.path]
        return Response(file.content, media_type=file.kind, headers={"Cache-Control": "no-cache"})

    for path in files:
        app.add_api_route(path, page, methods=["GET"], include_in_schema=False)
    app.openapi = partial(_described, app, pool.models)  # type: ignore[method-assign]
    refuse_in_sentences(app)
    app.add_middleware(PredictFirst, pool=pool)
    app.add_middleware(
        Guard,
        limits=limits,
        token=token,
        names=names,
        free=(*files, HEALTH_PATH),
        kinds=KINDS,
        metrics=pool.metrics,
        paths={route.path for route in app.routes if isinstance(route, Route)},
    )
    return app


def _add_texts(app: FastAPI, pool: Pool) -> None:
    """What can be asked about one text, and predictions for many."""
    seconds = pool.limits.text_seconds

    @app.get("/models", response_model=list[schema.ModelCard], responses=REFUSALS)
    async def models() -> list[dict[str, Any]]:
        """The models, in the order of the command line."""
        return pool.models

    @app.post(PREDICT_PATH, response_model=schema.Prediction | schema.PredictedTexts, responses=REFUSALS)
    async def predict(asked: schema.AskedPredictions) -> None:
        """The label of a text, or of many at once."""
        raise AssertionError("it is described here, and answered by PredictFirst")

    @app.post("/certify", response_model=schema.CertifiedText, responses=REFUSALS)
    async def certify(asked: schema.CertifyRequest, request: Request) -> Any:
        """The label of a text, whether it is proven to stay, and every word's share of the worst case."""
        task = {"do": "certify", **asked.model_dump()}
        return await answer_to(request.scope, request.receive, submitted(pool, request.scope, task, seconds))

    @app.post("/certify/threat", response_model=schema.ThreatProof, responses=REFUSALS)
    async def certify_threat(asked: schema.ThreatRequest, request: Request) -> Any:
        """Whether the label of a text is proven to stay under a threat of several kinds of edits."""
        task = {"do": "threat", **asked.model_dump()}
        return await answer_to(request.scope, request.receive, submitted(pool, request.scope, task, seconds))

    @app.post("/attack", response_model=schema.Attacked, responses=REFUSALS)
    async def attack(asked: schema.AttackRequest, request: Request) -> Any:
        """Try to change the label of a text by replacing words."""
        task = {"do": "attack", **asked.model_dump()}
        return await answer_to(request.scope, request.receive, submitted(pool, request.scope, task, seconds))

    @app.post("/attack/live", response_class=StreamingResponse, responses=REFUSALS | LINES)
    async def attack_live(asked: schema.LiveAttackRequest, request: Request) -> StreamingResponse:
        """The same, swap by swap, until the label flips or the proof holds."""
        job = submitted(pool, request.scope, {"do": "live", **asked.model_dump()}, seconds)
        return StreamingResponse(lines_of(job), media_type="application/x-ndjson")


def _add_guarded(app: FastAPI, pool: Pool) -> None:
    @app.post(GUARDED_PATH, response_model=schema.GuardedText, responses=REFUSALS)
    async def guarded(asked: schema.GuardedRequest, request: Request) -> Any:
        """The label of a text: the first model's where it is proven and sure, else that of the model behind it."""
        task = {"do": "guarded", **asked.model_dump()}
        job = submitted(pool, request.scope, task, pool.limits.text_seconds)
        return await answer_to(request.scope, request.receive, job)


def _add_files(app: FastAPI, pool: Pool) -> None:
    """What can be asked about a file."""
    limits = pool.limits

    async def begun(request: Request, text: str, label: str | None, model: str | None) -> Job:
        content = _decoded(await request.body())
        columns = {"text_column": text, "label_column": label}
        task = {"do": "csv", "text": content, "model": model, "most": limits.csv_rows, **columns}
        return submitted(pool, request.scope, task, limits.csv_seconds)

    @app.post(CSV_LIVE_PATH, response_class=StreamingResponse, responses=REFUSALS | ROWS, openapi_extra=CSV_BODY)
    async def certify_csv_live(
        request: Request, text: TextColumn = "text", label: LabelColumn = None, model: ModelName = None
    ) -> StreamingResponse:
        """The same as it is made: how many rows are done, and at the end the file and its certificates."""
        return StreamingResponse(lines_of(await begun(request, text, label, model)), media_type="application/x-ndjson")

    @app.post(CSV_PATH, response_class=Response, responses=REFUSALS | CSV_ANSWER, openapi_extra=CSV_BODY)
    async def certify_csv(
        request: Request, text: TextColumn = "text", label: LabelColumn = None, model: ModelName = None
    ) -> Response:
        """The rows of a CSV file, each with its label and its certificate."""
        done = await answer_to(request.scope, request.receive, await begun(request, text, label, model))
        counts = json.dumps({"rows": done["rows"], **done["verdicts"]})
        return Response(
            done["csv"],
            media_type="text/csv",
            headers={
                "Content-Disposition": 'attachment; filename="certified.csv"',
                "X-Verdicts": counts,
                "X-Classes": json.dumps(done["classes"]),
            },
        )


def _described(app: FastAPI, models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The OpenAPI description, with the models and labels that this very server has."""
    if app.openapi_schema is None:
        described = FastAPI.openapi(app)
        choices = {
            "model": [model["name"] for model in models],
            "label": list(dict.fromkeys(label for model in models for label in model["labels"])),
        }
        schemas = described["components"]["schemas"]
        for name in REQUESTS:
            fields = schemas[name]["properties"]
            for field in fields.keys() & choices.keys():
                fields[field]["anyOf"][0] = {"type": "string", "enum": choices[field]}
        for path in (CSV_PATH, CSV_LIVE_PATH):
            for parameter in described["paths"][path]["post"]["parameters"]:
                if parameter["name"] == "model":
                    parameter["schema"]["anyOf"][0] = {"type": "string", "enum": choices["model"]}
    assert app.openapi_schema is not None
    return app.openapi_schema


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise HTTPException(422, f"expected text in UTF-8, got the byte 0x{body[problem.start]:02x}.") from None
