"""No client keeps others out: not by silence, not by sending slowly, not by reading slowly, not by many connections."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace
from typing import Any

import pytest
from tests.serve.sockets import SHORT, Address, answer, asked, connected, listening, request, seconds_until_closed

from sgbt.serve.connections import ON_DISCONNECT
from sgbt.serve.guard import LOOPBACK, Guard
from sgbt.serve.limits import Limits, client_key

PATIENT = replace(SHORT, head_seconds=60.0, body_seconds=60.0, send_seconds=60.0)
"""Deadlines that no test waits for: what holds with them does not hold because of them."""


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Sends a body back; /large is large, and /slow takes its time."""
    body = (await receive())["body"]
    if scope["path"] == "/slow":
        await asyncio.sleep(0.5)
    if scope["path"] == "/large":
        body = b"x" * (1 << 24)
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


def guarded(limits: Limits, token: str | None = None) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        await guard(scope, receive, send)

    guard = Guard(echo, limits=limits, token=token, names=LOOPBACK, free=["/"])
    return app


def answers(address: Address) -> bool:
    began = time.monotonic()
    return asked(address, request())[0] == 200 and time.monotonic() - began < 5


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", request(Content_Length="9")])
@pytest.mark.parametrize("token", [None, "a token of some length"])
def test_unfinished_requests_on_many_connections_shut_nobody_out(sent: bytes, token: str | None) -> None:
    with listening(guarded(PATIENT, token), PATIENT) as address, contextlib.ExitStack() as stack:
        for _ in range(140):
            client = stack.enter_context(connected(address))
            with contextlib.suppress(ConnectionError):
                client.sendall(sent)
        assert asked(address, request("/"))[0] == 200


def test_the_places_of_all_clients_together_are_not_taken_by_silence_either() -> None:
    few = replace(PATIENT, connections=8, client_connections=100)
    with listening(guarded(few), few) as address, contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connected(address))
        assert answers(address)


def test_requests_that_are_being_answered_are_not_cut_off_and_one_more_hears_why_not() -> None:
    few = replace(PATIENT, client_connections=3)
    with listening(guarded(few), few) as address, contextlib.ExitStack() as stack:
        busy = [stack.enter_context(connected(address)) for _ in range(3)]
        for client in busy:
            client.sendall(request("/slow"))
        time.sleep(0.2)
        with connected(address) as late:
            status, said = answer(late)
        assert status == 503
        assert said["detail"].startswith("expected a free connection")
        assert [answer(client)[0] for client in busy] == [200, 200, 200]
        assert answers(address)


@pytest.mark.parametrize(
    ("sent", "status"), [(b"", 0), (b"GET / HTT", 408), (request("/", method="POST", Content_Length="9"), 408)]
)
def test_a_request_that_does_not_come_to_its_end_is_not_waited_for(sent: bytes, status: int) -> None:
    with listening(guarded(SHORT), SHORT) as address, connected(address) as client:
        client.sendall(sent)
        assert answer(client)[0] == status
        assert seconds_until_closed(client) < 5


def test_a_head_that_comes_byte_by_byte_is_not_waited_for() -> None:
    with listening(guarded(SHORT), SHORT) as address, connected(address) as client:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            client.sendall(b"GET / HTTP/1.1\r\nX: ")
            while time.monotonic() - began < 5:
                client.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - began < 4


def test_a_second_request_on_a_connection_has_the_same_deadline() -> None:
    with listening(guarded(SHORT), SHORT) as address, connected(address) as client:
        client.sendall(request())
        assert answer(client)[0] == 200
        client.sendall(b"GET / HTT")
        assert answer(client)[0] == 408


def test_a_body_that_goes_on_after_the_refusal_is_not_read_for_ever() -> None:
    with listening(guarded(SHORT, "a token of some length"), SHORT) as address, connected(address) as client:
        client.sendall(request(method="POST", Content_Length="200000"))
        assert answer(client)[0] == 401
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 5:
                client.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - began < 4


def test_an_answer_that_nobody_reads_is_given_up() -> None:
    with listening(guarded(SHORT), SHORT) as address, connected(address) as client:
        client.sendall(request("/large"))
        time.sleep(1.5)  # nothing is read
        got = 0
        with contextlib.suppress(ConnectionError):
            while piece := client.recv(1 << 20):
                got += len(piece)
        assert 0 < got < 1 << 24


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 100_000]
)
def test_what_is_not_http_is_refused_in_a_sentence(sent: bytes) -> None:
    with listening(guarded(SHORT), SHORT) as address:
        status, said = asked(address, sent)
        assert status == 400
        assert said["detail"].startswith("expected a request in HTTP")


def test_a_broken_body_after_a_good_head_is_an_error_and_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with listening(guarded(SHORT), SHORT) as address:
        head = b"POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert asked(address, head + b"zz\r\n")[0] == 400
        assert answers(address)
    assert not [record for record in caplog.records if record.exc_info]


def test_trailers_without_end_are_refused() -> None:
    with listening(guarded(PATIENT), PATIENT) as address, connected(address) as client:
        client.sendall(b"POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
        with contextlib.suppress(ConnectionError):
            client.sendall(b"A: " + b"x" * 100_000)
        assert answer(client)[0] == 400


def test_a_body_in_small_chunks_is_read() -> None:
    with listening(guarded(PATIENT), PATIENT) as address:
        head = b"POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        status, said = asked(address, head + b'1\r\n"\r\n' + b"1\r\nx\r\n" * 50_000 + b'1\r\n"\r\n0\r\n\r\n')
        assert (status, said) == (200, "x" * 50_000)


def test_requests_sent_without_waiting_are_answered_in_their_order() -> None:
    with listening(guarded(SHORT), SHORT) as address, connected(address) as client:
        large = b'"' + b"x" * 200_000 + b'"'
        client.sendall(
            request("/slow", method="POST", body=b"1")
            + request("/", method="POST", body=large)
            + request("/", body=b"3")
        )
        got = b""
        while not got.endswith(b"\r\n\r\n3"):
            piece = client.recv(1 << 16)
            assert piece, got[-200:]
            got += piece
        assert got.count(b"HTTP/1.1 200") == 3
        assert got.index(b"\r\n\r\n1") < got.index(large)


def test_all_requests_of_a_client_that_left_hear_of_it() -> None:
    heard: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope[ON_DISCONNECT].append(lambda: heard.append("called"))
            while (await receive())["type"] != "http.disconnect":
                pass
            heard.append("received")

    with listening(app, PATIENT) as address:
        with connected(address) as client:
            client.sendall(request() + request())
            time.sleep(0.3)
        for _ in range(100):
            if len(heard) > 1:
                break
            time.sleep(0.05)
    assert heard == ["called", "received"]  # the second request never began


def test_an_upgrade_is_answered_as_if_it_was_not_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with listening(guarded(SHORT), SHORT) as address, connected(address) as client:
        for _ in range(2):
            client.sendall(request(Connection="Upgrade", Upgrade="websocket"))
            assert answer(client)[0] == 200
    assert not caplog.records


def test_a_forwarded_address_is_believed_from_the_proxy_alone() -> None:
    limits = replace(SHORT, burst=2, per_minute=1)
    for proxy, statuses in ((None, [200, 200, 429]), ("127.0.0.1", [200, 200, 200]), ("10.0.0.1", [200, 200, 429])):
        with listening(guarded(limits), limits, proxy=proxy) as address:
            got = [asked(address, request(X_Forwarded_For=f"192.0.2.{number}"))[0] for number in range(3)]
        assert got == statuses, proxy


def test_a_network_of_ipv6_is_one_client() -> None:
    assert client_key("2001:db8::1") == client_key("2001:db8::ffff:1") != client_key("2001:db8:0:1::1")
    assert client_key("192.0.2.1") == client_key("::ffff:192.0.2.1") != client_key("192.0.2.2")
