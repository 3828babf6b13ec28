"""What every request must pass: host, origin, rate, token, size and speed; and what every answer carries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import ADDRESS

from sgbt.core.errors import ServeError
from sgbt.serve import Limits
from sgbt.serve.guard import LOOPBACK, Guard
from sgbt.serve.limits import MOST_CLIENTS, RateLimiter

TOKEN = "a token of some length"


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An application that sends a request's body back."""
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def client_of(*, token: str | None = None, names: Any = LOOPBACK, **limits: Any) -> TestClient:
    guard = Guard(
        echo, limits=Limits(**limits), token=token, names=names, free=["/"], kinds={"/json": "application/json"}
    )
    return TestClient(guard, base_url=ADDRESS)


@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization", "Content-Type"])
def test_a_header_of_which_one_counts_may_not_stand_twice(name: str) -> None:
    """The first of two hosts was believed."""
    values = {"Host": ("127.0.0.1:8000", "evil.example"), "Origin": (ADDRESS, "http://evil.example")}
    pairs = [(name, value) for value in values.get(name, ("a", "b"))]
    answer = client_of().get("/x", headers=pairs)
    assert answer.status_code == 400
    assert name.lower() in answer.json()["detail"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:8000", "[::1]:8000", "LOCALHOST"])
def test_loopback_names_are_answered(host: str) -> None:
    assert client_of().get("/x", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::1", "localhost@evil.example"]
)
def test_a_name_pointed_at_this_machine_is_not(host: str) -> None:
    assert client_of().get("/x", headers={"Host": host}).status_code == 421
    assert client_of().get("/", headers={"Host": host}).status_code == 421


def test_any_name_is_answered_where_others_may_reach_the_server() -> None:
    assert client_of(names=None).get("/x", headers={"Host": "models.example"}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [(ADDRESS, 200), ("http://evil.example", 403), ("null", 403), ("http://[", 403), ("\xff", 403)],
)
def test_a_page_of_another_site_is_refused(origin: str, status: int) -> None:
    assert client_of().post("/x", headers={"Origin": origin.encode("latin-1")}).status_code == status


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN} ", 200),
        ("", 401),
        (f"Basic {TOKEN}", 401),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        ("Bearer \xff", 401),
    ],
)
def test_the_token_is_needed_everywhere_but_for_the_page(header: str, status: int) -> None:
    client = client_of(token=TOKEN)
    assert client.get("/x", headers={"Authorization": header.encode("latin-1")}).status_code == status
    assert client.get("/").status_code == 200


def test_wrong_tokens_are_counted_against_the_rate() -> None:
    client = client_of(token=TOKEN, burst=3, per_minute=1)
    statuses = [client.get("/x", headers={"Authorization": f"Bearer {n}"}).status_code for n in range(5)]
    assert statuses == [401, 401, 401, 429, 429]


def test_a_client_that_asks_too_often_is_told_when_to_come_back() -> None:
    client = client_of(burst=2, per_minute=30)
    told = [client.get("/x") for _ in range(3)]
    assert [each.status_code for each in told] == [200, 200, 429]
    assert int(told[-1].headers["Retry-After"]) in (2, 3)


def test_the_bucket_refills_and_forgets_quiet_clients() -> None:
    now = [0.0]
    rate = RateLimiter(Limits(burst=2, per_minute=60), clock=lambda: now[0])
    assert [rate.wait_for("a") > 0 for _ in range(3)] == [False, False, True]
    assert rate.wait_for("b") == 0
    now[0] = 1.0
    assert [rate.wait_for("a") > 0 for _ in range(2)] == [False, True]
    for number in range(MOST_CLIENTS):
        rate.wait_for(f"client {number}")
    assert len(rate._buckets) == MOST_CLIENTS


def pieces(count: int) -> Iterator[bytes]:
    yield from (b"x" * 10 for _ in range(count))


def test_a_body_is_passed_on_whole_up_to_the_limit_and_refused_beyond() -> None:
    client = client_of(text_bytes=100, csv_bytes=200)
    assert client.post("/x", content=b"y" * 100).content == b"y" * 100
    assert client.post("/x", content=b"y" * 101).status_code == 413
    assert client.post("/x", content=pieces(10)).content == b"x" * 100  # in pieces, without a declared length
    assert client.post("/x", content=pieces(11)).status_code == 413
    assert client.post("/certify/csv", content=pieces(20)).status_code == 200
    assert client.post("/certify/csv", content=pieces(21)).status_code == 413
    assert client.post("/x", content=b"y", headers={"Content-Length": "-1"}).status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def never() -> dict[str, Any]:
        await asyncio.sleep(60)
        raise AssertionError

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    guard = Guard(echo, limits=Limits(body_seconds=0.05), token=None, names=None, free=[])
    scope = {"type": "http", "method": "POST", "path": "/x", "headers": [], "client": ("1.2.3.4", 5)}
    asyncio.run(guard(scope, never, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 408


@pytest.mark.parametrize("path", ["/", "/x"])
@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_every_answer_says_what_a_browser_may_do_with_it(path: str, host: str) -> None:
    headers = client_of().get(path, headers={"Host": host, "Origin": f"http://{host}"}).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert not [name for name in headers if name.startswith("access-control")]


def test_a_preflight_of_another_site_gets_no_permission() -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    told = client_of().options("/predict", headers=asked)
    assert told.status_code == 403
    assert "access-control-allow-origin" not in told.headers


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/jsonp", 415),
        ("", 415),
    ],
)
def test_a_body_is_of_the_kind_that_is_described(kind: str, status: int) -> None:
    refused = client_of().post("/json", content=b"{}", headers={"Content-Type": kind})
    assert refused.status_code == status
    assert status == 200 or "application/json" in refused.json()["detail"]


def test_limits_are_above_zero() -> None:
    with pytest.raises(ServeError, match="workers above 0"):
        Limits(workers=0)
