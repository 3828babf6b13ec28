"""Clients that go away before their answer: their jobs end, and others do not wait for them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.serve.sockets import Address, asked, connected, listening, request
from tests.soundness.trained import dataset

from sgbt.serve import Limits, Pool, create_app
from sgbt.serve.guard import LOOPBACK
from sgbt.serve.lanes import Lane

TEXTS = dataset().test.texts[:100]
JSON = "application/json"
LIMITS = Limits(workers=1, burst=10**6, per_minute=10**6, csv_rows=10**6)
LARGE = ("text\n" + "\n".join(TEXTS * 300)).encode()
"""Rows that take minutes."""


def uploaded(body: bytes) -> bytes:
    return request("/certify/csv", method="POST", body=body, Content_Type="text/csv")


def until(happened: object, seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if happened():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("path", ["/predict", "/certify"])
def test_abandoned_files_keep_nobody_waiting(runs: list[Path], path: str) -> None:
    with Pool(runs[:1], limits=LIMITS) as pool, listening(create_app(pool, names=LOOPBACK), LIMITS) as address:
        clients = [connected(address) for _ in range(3)]
        for client in clients:
            client.sendall(uploaded(LARGE))
        assert until(lambda: pool.lanes.count(Lane.FILE) == 2)  # one runs, two wait
        assert answered_within(address, request(path, method="POST", body=b'{"text": "x"}', Content_Type=JSON), 20)
        for client in clients:
            client.close()
        assert answered_within(address, uploaded(b"text\nx\n"), 40)
        assert pool.lanes.count(Lane.FILE) == 0


def answered_within(address: Address, sent: bytes, seconds: float) -> bool:
    began = time.monotonic()
    with connected(address) as client:
        client.settimeout(seconds)
        client.sendall(sent)
        got = client.recv(1000)
    return got.startswith(b"HTTP/1.1 200") and time.monotonic() - began < seconds


def test_a_client_that_waits_gets_its_answer_however_it_sends(pool: Pool) -> None:
    with listening(create_app(pool, names=LOOPBACK), LIMITS) as address:
        body = b'{"text": "x"}'
        for _ in range(3):
            status, said = asked(address, request("/predict", method="POST", body=body, Content_Type=JSON))
            assert (status, said["words"]) == (200, 1)
