"""What the server must never do, whatever is asked: open a path, wait without end, or take on more than it can."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import ADDRESS

from sgbt.serve import Limits, create_app
from sgbt.serve.guard import LOOPBACK
from sgbt.serve.lanes import TIMED_OUT, BusyError, Job
from sgbt.serve.metrics import Metrics
from sgbt.serve.worker import FAILED


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A named pipe: whoever opens it to read waits for a writer that never comes, and can be seen waiting."""
    path = tmp_path / "trap"
    os.mkfifo(path)
    return path


def is_open(trap: Path) -> bool:
    """Whether some process has the pipe open to read; without one, the system refuses to open it to write."""
    try:
        os.close(os.open(trap, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as problem:
        if problem.errno == errno.ENXIO:
            return False
        raise
    return True


def test_the_trap_sees_a_reader(trap: Path) -> None:
    assert not is_open(trap)
    reader = os.open(trap, os.O_RDONLY | os.O_NONBLOCK)
    assert is_open(trap)
    os.close(reader)


@pytest.mark.parametrize("how", ["{}", "file://{}", "../../../../../../../..{}", "{}\\0.csv"])
def test_no_path_from_a_request_is_opened(client: TestClient, trap: Path, how: str) -> None:
    path = how.format(trap)
    for route in ("/predict", "/certify", "/attack", "/attack/live"):
        assert client.post(route, json={"text": path}).status_code == 200
        for field in ("model", "label", "method", "path"):
            told = client.post(route, json={"text": "a text", field: path})
            assert told.status_code in (200, 422)
            assert told.status_code == 422 or '"refused"' in told.text
    for query in ({"text": path}, {"label": path}, {"model": path}):
        asked = {"content": f"text\n{path}\n".encode(), "headers": {"Content-Type": "text/csv"}}
        assert client.post("/certify/csv", params=query, **asked).status_code == 422
    told = client.post("/certify/csv", content=f"text\n{path}\n".encode(), headers={"Content-Type": "text/csv"})
    assert told.status_code == 200
    for address in (f"/static/{path}", f"/{path}", f"/static/page.js?{path}"):
        assert client.get(address).status_code in (200, 400, 404)
    assert not is_open(trap)


class Stub:
    """A pool in which every job ends in one way."""

    limits = Limits(burst=10**6, per_minute=10**6)
    metrics = Metrics()
    models = ({"name": "none", "labels": ["a", "b"]},)
    behind = None

    def __init__(self, message: Mapping[str, Any] | None) -> None:
        self.message = message

    def submit(self, task: Mapping[str, Any], *, seconds: float, client: str) -> Job:
        if self.message is None:
            raise BusyError
        job = Job(task, seconds, asyncio.get_running_loop())
        job.tell(dict(self.message))
        return job


ENDS = {
    "no place in the queue": (None, 503, "a free place in the queue"),
    "no time left": ({"kind": TIMED_OUT, "seconds": 30}, 504, "an answer within 30 s"),
    "a worker that died": ({"kind": FAILED, "reason": "the process ended"}, 500, "the process ended"),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("path", ["/predict", "/certify", "/attack", "/attack/live", "/certify/csv"])
def test_what_cannot_be_done_is_told_with_its_number(name: str, path: str) -> None:
    message, status, said = ENDS[name]
    pool: Any = Stub(message)
    client = TestClient(create_app(pool, names=LOOPBACK), base_url=ADDRESS)
    if path == "/certify/csv":
        told = client.post(path, content=b"text\nx\n", headers={"Content-Type": "text/csv"})
    else:
        told = client.post(path, json={"text": "x"})
    assert said in told.text
    if path == "/attack/live" and message is not None:
        assert (told.status_code, told.json()["kind"]) == (200, "refused")  # it had begun to answer
        return
    assert told.status_code == status
    assert set(told.json()) == {"detail"}
    assert status != 503 or int(told.headers["Retry-After"]) > 0


def test_what_was_sent_is_not_sent_back_as_markup() -> None:
    pool = SimpleNamespace(limits=Stub.limits, models=Stub.models, metrics=Stub.metrics, behind=None)
    client = TestClient(create_app(pool, names=LOOPBACK), base_url=ADDRESS)  # type: ignore[arg-type]
    for told in (client.post("/predict", json={"<script>": 1}), client.get("/<script>"), client.get("/?<script>")):
        assert "text/html" not in told.headers["content-type"] or "<script>" not in told.text
        assert told.headers["x-content-type-options"] == "nosniff"


def test_an_error_in_the_server_is_a_sentence_that_says_nothing_of_its_inside() -> None:
    class Broken(Stub):
        def submit(self, task: Mapping[str, Any], *, seconds: float, client: str) -> Job:
            raise ValueError("a secret")

    pool: Any = Broken(None)
    client = TestClient(create_app(pool, names=LOOPBACK), base_url=ADDRESS, raise_server_exceptions=False)
    refused = client.post("/certify", json={"text": "x"})
    assert refused.status_code == 500
    assert refused.json()["detail"].startswith("expected an answer")
    assert "secret" not in refused.text
    assert refused.headers["x-content-type-options"] == "nosniff"
