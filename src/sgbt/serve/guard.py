"""Guard: what every request must pass before anything looks at it, and what every answer carries.

Order: the host it was sent to, the page it came from, the client's rate, the token, the kind of its body, then size and
speed of the body.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sgbt.serve.limits import Limits, RateLimiter
from sgbt.serve.metrics import Metrics

LOOPBACK = ("127.0.0.1", "::1", "localhost")
CSV_PATH, CSV_LIVE_PATH, PREDICT_PATH = "/certify/csv", "/certify/csv/live", "/predict"
ONCE = ("host", "origin", "authorization", "content-type")
"""Headers of which one counts: of two, a proxy may read one and this server the other."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""Nothing but this server's own files may run, style or be called; nothing may frame the page."""
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """The outermost layer of the application.

    `names` are the hosts that a request may name; None is any. On a loopback address they are the loopback names: a
    page of another site whose name was pointed at 127.0.0.1 (DNS rebinding) still names its own host, and is refused.
    Paths in `free` need no token: they hold the page itself, and nothing of the models. `kinds` is the content type
    that a path takes: no page of another site can send one of them without asking first, and then it is refused.
    What is measured is measured by path for those in `paths`, and for all others together.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits,
        token: str | None,
        names: Iterable[str] | None,
        free: Iterable[str],
        kinds: Mapping[str, str] | None = None,
        metrics: Metrics | None = None,
        paths: Iterable[str] = (),
    ) -> None:
        self._app, self._limits = app, limits
        self._token = None if token is None else token.encode()
        self._names = None if names is None else frozenset(names)
        self._free, self._kinds = frozenset(free), kinds or {}
        self._rate = RateLimiter(limits)
        self._sizes = dict.fromkeys((CSV_PATH, CSV_LIVE_PATH), limits.csv_bytes) | {PREDICT_PATH: limits.predict_bytes}
        self._metrics, self._paths = metrics or Metrics(), frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on with its body at hand."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no web sockets here
        answer = _Answer(send)
        began = time.perf_counter()
        try:
            refusal = self._refusal(scope)
            if refusal is None:
                body, refusal = await self._body(scope, receive)
            if refusal is not None:
                await _refuse(answer, *refusal)
                return
            await self._app(scope, _given(body, receive), answer)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.answered(path, answer.status, time.perf_counter() - began)

    def _refusal(self, scope: Scope) -> tuple[int, str, dict[str, str]] | None:
        headers = Headers(scope=scope)
        if twice := [name for name in ONCE if len(headers.getlist(name)) > 1]:
            return 400, f"expected the header {twice[0]} once, got it several times.", {}
        host = headers.get("host", "")
        if self._names is not None and _hostname(host) not in self._names:
            return 421, f"expected a request to one of {', '.join(sorted(self._names))}, got another host.", {}
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host:
            return 403, "expected a request of this server's own page, got one of another site.", {}
        if scope["path"] in self._free:
            return None
        wait = self._rate.wait_for(scope["client"][0] if scope.get("client") else "")
        if wait:
            seconds = str(int(wait) + 1)
            return 429, f"expected fewer requests a minute; try again in {seconds} s.", {"Retry-After": seconds}
        if self._token is not None and not self._knows(headers.get("authorization", "")):
            return 401, "expected the header Authorization: Bearer TOKEN.", {"WWW-Authenticate": "Bearer"}
        kind = self._kinds.get(scope["path"]) if scope["method"] == "POST" else None
        if kind is not None and headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
            return 415, f"expected the content type {kind}.", {}
        return None

    def _knows(self, authorization: str) -> bool:
        kind, _, given = authorization.partition(" ")
        assert self._token is not None
        same = hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), self._token)
        return same and kind.lower() == "bearer"

    async def _body(self, scope: Scope, receive: Receive) -> tuple[bytes, tuple[int, str, dict[str, str]] | None]:
        """The whole body, unless it is too long or too slow."""
        most = self._sizes.get(scope["path"], self._limits.text_bytes)
        too_long = 413, f"expected at most {most:,} bytes, got more.", {"Connection": "close"}
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared) > most:
            return b"", too_long
        pieces, size = [], 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return b"", (400, "expected a whole request, got a part of one.", {})
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    if size > most:
                        return b"", too_long
                    if not message.get("more_body"):
                        return b"".join(pieces), None
        except TimeoutError:
            seconds = self._limits.body_seconds
            return b"", (408, f"expected the whole request within {seconds:g} s.", {"Connection": "close"})


def _netloc(origin: str) -> str | None:
    """The host and port in an Origin header; None if there are none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _hostname(host: str) -> str:
    """The name in a Host header, without its port: `[::1]:8000` is `::1`."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


class _Answer:
    """A `send` that adds the headers that are missing, and remembers the status; 500 until there is one."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            there = {name for name, _ in message.setdefault("headers", [])}
            message["headers"] = [*message["headers"], *(pair for pair in RAW_HEADERS if pair[0] not in there)]
        await self._send(message)


def _given(body: bytes, receive: Receive) -> Receive:
    """A `receive` that hands out the body once; after that it reports when the client goes away."""
    left = [body]

    async def receiving() -> MutableMapping[str, Any]:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return receiving


async def _refuse(send: Send, status: int, detail: str, headers: dict[str, str]) -> None:
    content = json.dumps({"detail": detail}).encode()
    named = {"content-type": "application/json", "content-length": str(len(content))} | headers
    encoded = [(name.lower().encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": content})
