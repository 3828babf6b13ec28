"""/health and /metrics: whether the server can answer, and what it has done so far."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from sgbt.serve import schema
from sgbt.serve.jobs import Pool
from sgbt.serve.lanes import Lane
from sgbt.serve.metrics import CONTENT_TYPE
from sgbt.serve.refusals import REFUSALS, Responses

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
