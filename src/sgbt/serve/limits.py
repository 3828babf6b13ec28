"""Limits: how much one request, one client and all clients together may ask of the server."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from sgbt.core.errors import ServeError

MOST_CLIENTS = 4096
"""Clients whose buckets are remembered; the one that was quiet longest is forgotten first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the server grants. Whoever asks for more gets an answer that says so, never a slower server for others."""

    text_bytes: int = 1 << 18
    """Largest request about one text."""
    predict_bytes: int = 1 << 20
    """Largest request to predict, with one text or many."""
    csv_bytes: int = 1 << 22
    """Largest file."""
    csv_rows: int = 5000
    """Most rows of a file."""
    body_seconds: float = 15.0
    """How long a client may take to send a request."""
    text_seconds: float = 30.0
    """How long a job on one text may run before it is ended."""
    csv_seconds: float = 600.0
    """How long a job on a file may run before it is ended."""
    workers: int = 2
    """Processes that work on single texts; there is one more for files."""
    queued: int = 16
    """Jobs on a text that may wait, and as many on files; one more is refused, and half of them to one client."""
    queued_predictions: int = 1024
    """Requests to predict that may wait, likewise."""
    queued_bytes: int = 1 << 26
    """Letters of all jobs that wait, of each of these three kinds."""
    batch_texts: int = 128
    """Texts of several requests to predict that are given to the model at once; one has them answered one by one."""
    batch_bytes: int = 1 << 20
    """Letters of several requests to predict that are given to the model at once."""
    burst: int = 60
    """Requests that one client may make at once,"""
    per_minute: int = 240
    """and how many it earns back in a minute."""
    connections: int = 128
    """Connections that may be open at the same time,"""
    client_connections: int = 32
    """and how many of them one client's."""
    head_seconds: float = 5.0
    """How long a client may take to send the head of a request."""
    send_seconds: float = 30.0
    """How long a client may leave an answer unread."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ServeError(
                    expected=f"{field.name} above 0",
                    got=str(getattr(self, field.name)),
                    where="the limits of the server",
                )


@lru_cache(MOST_CLIENTS)
def client_key(address: str) -> str:
    """What counts as one client: an IPv4 address, or the network of 64 bits that an IPv6 address is one of."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((int(parsed) >> 64 << 64, 64)))
    return address


class RateLimiter:
    """A bucket of tokens for each client: full at first, one token per request, refilled steadily."""

    def __init__(self, limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._per_second = float(limits.burst), limits.per_minute / 60
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_for(self, client: str) -> float:
        """Take a token; zero if there was one, else the seconds until there will be."""
        now, client = self._clock(), client_key(client)
        tokens, seen = self._buckets.pop(client, (self._size, now))
        tokens = min(self._size, tokens + (now - seen) * self._per_second)
        granted = tokens >= 1
        self._buckets[client] = (tokens - 1 if granted else tokens, now)
        while len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if granted else (1 - tokens) / self._per_second
