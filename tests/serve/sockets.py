"""A real server on a real socket, and clients that do what no library for HTTP lets them do."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from sgbt.serve import Limits
from sgbt.serve.server import bound, configured

Address = tuple[str, int]
SHORT = Limits(burst=10**6, per_minute=10**6, head_seconds=0.4, body_seconds=0.4, send_seconds=0.4)
"""Deadlines that a test can wait for."""


@contextlib.contextmanager
def listening(app: Any, limits: Limits = SHORT, *, proxy: str | None = None) -> Iterator[Address]:
    """The address of an application while it is served, as `sgbt serve` serves it."""
    with bound("127.0.0.1", 0) as opened:
        server = uvicorn.Server(configured(app, limits, proxy=proxy))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield opened.getsockname()[:2]
        finally:
            server.should_exit = True
            thread.join(timeout=10)


def connected(address: Address) -> socket.socket:
    return socket.create_connection(address, timeout=10)


def request(path: str = "/x", *, method: str = "GET", body: bytes = b"", **headers: str) -> bytes:
    """A request as it goes over the wire; `Content_Type` names the header Content-Type."""
    named = {"Host": "127.0.0.1", "Content_Length": str(len(body))} | headers
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def answer(client: socket.socket) -> tuple[int, Any]:
    """The status and the body of one answer; status 0 is a connection that was closed without any."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while b"\r\n\r\n" not in got and (piece := client.recv(65536)):
            got += piece
        if not got:
            return 0, None
        head, _, body = got.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        while len(body) < int(lengths[0].partition(b":")[2]) and (piece := client.recv(65536)):
            body += piece
        return int(head.split()[1]), json.loads(body) if body else None
    return 0, None


def asked(address: Address, sent: bytes) -> tuple[int, Any]:
    """The answer to one request on a connection of its own."""
    with connected(address) as client:
        client.sendall(sent)
        return answer(client)


def seconds_until_closed(client: socket.socket) -> float:
    """How long the server keeps a connection on which nothing more is sent."""
    began = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while client.recv(65536):
            pass
    return time.monotonic() - began
