"""Connections: how many there may be, in all and of one client, and how long each may keep the server waiting.

A connection that is silent costs its client nothing, so it must cost the server nothing either. The head of a request
must be there soon after its first byte or after the connection was made; an answer must be read. Where connections run
out, one that has not sent its whole request makes room for one that may: of the client that has the most, the one that
has kept the server waiting longest. Requests that are being answered are never cut off for others.
"""

from __future__ import annotations

import asyncio
import http
import json
import time
from collections import defaultdict
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from sgbt.serve.limits import Limits, client_key

MOST_HEAD = 1 << 16
"""Bytes of a request that are not its body: its head, mostly. The marks of a body in chunks may be longer than it."""
MARKS_PER_BYTE = 8
ON_DISCONNECT = "sgbt.on_disconnect"
"""In the scope of a request: the functions that are called if its client goes away before the answer is complete."""


class Connections:
    """Every open connection, by client. Without `apart`, all count as one client's: they come from one proxy."""

    def __init__(self, limits: Limits, *, apart: bool = True) -> None:
        self.limits, self._apart = limits, apart
        self._open: defaultdict[str, set[TimedProtocol]] = defaultdict(set)

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def admit(self, connection: TimedProtocol) -> bool:
        """Count a connection in, if need be at the cost of one that waits; False if there is no place."""
        own = self._open[self._client(connection)]
        most = self.limits.client_connections if self._apart else self.limits.connections
        if len(own) >= most and not self._evicted(own):
            return False
        if len(self) >= self.limits.connections and not any(
            map(self._evicted, sorted(self._open.values(), key=len, reverse=True))
        ):
            return False
        self._open[self._client(connection)].add(connection)
        return True

    def discard(self, connection: TimedProtocol) -> None:
        """Count a connection out."""
        client = self._client(connection)
        self._open[client].discard(connection)
        if not self._open[client]:
            del self._open[client]

    def _client(self, connection: TimedProtocol) -> str:
        return client_key(connection.client[0]) if self._apart and connection.client else ""

    def _evicted(self, among: set[TimedProtocol]) -> bool:
        waiting = [each for each in among if each.unfinished]
        if waiting:
            longest = min(waiting, key=lambda each: each.since)
            self.discard(longest)
            longest.transport.abort()
        return bool(waiting)


class Deadline:
    """Something that happens unless it is called off in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, then: Callable[[], None]) -> None:
        self._loop, self._seconds, self._then = loop, seconds, then
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to wait, unless that has begun already."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._over)

    def stop(self) -> None:
        """Call it off."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self) -> None:
        self._timer = None
        self._then()


class TimedProtocol(HttpToolsProtocol):
    """HTTP over one connection, with a deadline for every wait. `registry` counts it with all others."""

    registry: Connections
    _beside_body = _of_body = 0
    _begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or say in a sentence why not."""
        super().connection_made(transport)
        self._cycles: list[RequestResponseCycle] = []
        self.since = time.monotonic()
        limits = self.registry.limits
        self._head = Deadline(self.loop, limits.head_seconds, self._too_slow)
        self._reading = Deadline(self.loop, limits.send_seconds, self._unread)
        self._admitted = self.registry.admit(self)
        if self._admitted:
            self._head.start()
        else:
            self._say(503, "expected a free connection, got none; close others, or try again.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its deadlines."""
        self.registry.discard(self)
        self._head.stop()
        self._reading.stop()
        self.pipeline.clear()
        for cycle in self._cycles:  # of requests sent without waiting for answers, the first may be under way
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
                for call in cycle.scope[ON_DISCONNECT]:  # type: ignore[literal-required]
                    call()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; a head that has begun must come to its end."""
        if not self._admitted or self.transport.is_closing():
            return
        self._beside_body += len(data)
        super().data_received(data)
        if self._beside_body > MOST_HEAD + MARKS_PER_BYTE * self._of_body:
            self.send_400_response("")
        elif self._between:
            self._head.start()
        else:
            self._head.stop()

    def on_message_begin(self) -> None:
        """The first byte of a request is there."""
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there: the application begins at the next turn of the loop."""
        self._begun = False
        super().on_headers_complete()
        self.scope[ON_DISCONNECT] = []  # type: ignore[literal-required]
        self._cycles = [cycle for cycle in self._cycles if not cycle.response_complete]
        self._cycles.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        """A part of the body is there."""
        self._beside_body -= len(body)
        self._of_body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The whole request is there."""
        self._beside_body = self._of_body = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is written; it has yet to be read."""
        self.since = time.monotonic()
        self._reading.stop()
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._reading.start()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is written to."""
        super().pause_writing()
        self._reading.start()

    def resume_writing(self) -> None:
        """The client reads."""
        super().resume_writing()
        if not self._between:  # what is left of a complete answer must be read as well
            self._reading.stop()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()  # the answer is half written: nothing can be said any more
        else:
            self._say(400, "expected a request in HTTP, got something else.")

    def _should_upgrade(self) -> bool:
        return False  # there are no web sockets here

    def _unsupported_upgrade_warning(self) -> None:
        """Answer in HTTP as it is; nobody needs to hear of it."""

    @property
    def unfinished(self) -> bool:
        """Whether the server waits for the client: for a request, or for the rest of one."""
        return self._between or bool(self.cycle.more_body)

    @property
    def _between(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _too_slow(self) -> None:
        if self._begun:
            self._say(408, f"expected the head of a request within {self.registry.limits.head_seconds:g} s.")
        else:
            self.transport.abort()

    def _unread(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _say(self, status: int, detail: str) -> None:
        """Answer by hand, where no application will, and close."""
        if self.transport.is_closing():
            return
        content = json.dumps({"detail": detail}).encode()
        head = (
            f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + content)
        self.transport.close()
        self._reading.start()


def protocol_of(connections: Connections) -> type[asyncio.Protocol]:
    """The protocol whose connections are counted there."""
    return type("CountedProtocol", (TimedProtocol,), {"registry": connections})
