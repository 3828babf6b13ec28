"""How many requests a second `/predict` answers, with batches and without, for 8 clients and for 64.

    python benchmarks/serve_load.py                              a TextCNN of the paper's size with made-up words
    python benchmarks/serve_load.py runs/a --words 20            a trained run, short texts alone
    python benchmarks/serve_load.py --against OTHER/CLONE/src    another version of the server in the same run, as well

Every server is started before anything is measured, and they are measured in turn, round after round, so that whatever
else the machine does meets all of them; figures are medians over the rounds, ratios are of a round's figures. Clients
keep their connection and send the next request as soon as they have the answer. They run on the same cores as the
servers (raw sockets in one process: a small part of a core). `cpu ms` is the processor time of a request in all
processes of the server (Linux), which depends little on what else the machine does. A version is measured without the
packages that it does not ask for, even where they are installed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

WORDS, WIDTH = 20_000, 300
LETTERS = str.maketrans(string.digits, string.ascii_lowercase[:10])
SERVER = """
import json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[3])))  # None: as if it was not installed
from pathlib import Path
from sgbt.serve import Limits, serve
wanted = json.loads(sys.argv[2])
known = {name: value for name, value in wanted.items() if name in Limits.__dataclass_fields__}
if __name__ == "__main__":
    serve([Path(sys.argv[1])], port=0, limits=Limits(**known), ready=lambda address, pool: print(address, flush=True))
"""
GENEROUS = {"burst": 10**7, "per_minute": 10**7, "queued": 1000, "connections": 1000, "client_connections": 1000}
"""No client is refused: what is measured is how fast, not how much."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=Path, help="folder of a trained model")
    parser.add_argument(
        "--against", type=Path, help="folder src of another version, measured as well, and the baseline"
    )
    parser.add_argument(
        "--words", type=int, nargs="*", default=[20, 230], help="in a text, on average; a film review has some 230"
    )
    parser.add_argument("--clients", type=int, nargs="*", default=[8, 64])
    parser.add_argument("--many", type=int, default=32, help="texts in a request, for the row of many texts at once")
    parser.add_argument("--seconds", type=float, default=5.0, help="of one measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
    parser.add_argument("--load", nargs=5, help=argparse.SUPPRESS)  # this script as the clients of one measurement
    options = parser.parse_args()
    if options.load:
        port, clients, texts, words, seconds = options.load
        print(json.dumps(loaded(int(port), int(clients), int(texts), int(words), float(seconds))))
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        run = options.run or made_up(Path(folder) / "run")
        ours = Path(__file__).resolve().parent.parent / "src"
        servers = {"one by one": (ours, GENEROUS | {"batch_texts": 1}), "batches": (ours, GENEROUS)}
        if options.against:
            servers = {"against": (options.against, GENEROUS)} | servers
        running = {name: stack.enter_context(served(run, *server)) for name, server in servers.items()}
        rows = measured(running, options)
    show(rows)
    if options.out:
        from _rows import write_rows  # it loads torch, which the clients do without

        write_rows(options.out, rows)


def made_up(folder: Path) -> Path:
    """A TextCNN of the paper's size, untrained: its answers mean nothing and take as long as others."""
    import numpy as np
    import torch

    import sgbt
    from sgbt.models import TextClassifier, save_classifier
    from sgbt.threats import Vocabulary

    words = tuple(word(number) for number in range(WORDS))
    values = np.random.default_rng(0).normal(size=(WORDS, WIDTH)).astype(np.float32)
    torch.manual_seed(0)
    model = sgbt.TextCNN(sgbt.EmbeddingTable(words, values, "made up"), classes=2)
    vocabulary = Vocabulary(words)
    model.embedding.adopt(vocabulary)
    table = sgbt.SubstitutionTable({words[n]: [words[n + 1]] for n in range(0, WORDS, 2)}, "made up")
    return save_classifier(TextClassifier(model, vocabulary, ("no", "yes"), table), folder, training={})


def word(number: int) -> str:
    return f"w{number}".translate(LETTERS)


@contextlib.contextmanager
def served(run: Path, source: Path, limits: dict[str, int]) -> Iterator[tuple[int, int]]:
    """The port and the process of a server of that version; limits that it does not know are left out."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(SERVER)
        script.flush()
        server = subprocess.Popen(
            [sys.executable, script.name, str(run), json.dumps(limits), json.dumps(undeclared(source))],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(source.resolve()), "OMP_NUM_THREADS": "1"},
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline()
            if not address:
                raise SystemExit(f"the server of {source} did not start")
            yield int(address.rstrip("/\n").rpartition(":")[2]), server.pid
        finally:
            server.terminate()
            server.wait()


def undeclared(source: Path) -> list[str]:
    """Packages that make a server faster where they are installed, and that this version does not ask for."""
    asked_for = (source.resolve().parent / "pyproject.toml").read_text()
    return [name for name in ("httptools", "uvloop") if name not in asked_for]


class Client(asyncio.Protocol):
    """One client that always has one request under way."""

    def __init__(self, requests: list[bytes], until: float, seconds: list[float], refused: list[bytes]) -> None:
        self._requests, self._until, self._seconds, self._refused = requests, until, seconds, refused

    def connection_made(self, transport: Any) -> None:
        self._transport, self._got = transport, b""
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, end, body = self._got.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if end and len(body) >= int(length):
            if head.startswith(b"HTTP/1.1 200"):
                self._seconds.append(time.perf_counter() - self._began)
            else:
                self._refused.append(head[:40])
            self._got = b""
            self._ask()

    def _ask(self) -> None:
        self._began = time.perf_counter()
        if self._began < self._until:
            self._transport.write(random.choice(self._requests))
        else:
            self._transport.close()


def loaded(port: int, clients: int, texts: int, words: int, seconds: float) -> dict[str, Any]:
    """What so many clients got in so many seconds."""
    draw = random.Random(1)

    def text() -> str:  # of all lengths around the one asked for; frequent words are frequent, as in any language
        length = draw.randint(max(words // 2, 1), words * 3 // 2)
        return " ".join(word(min(int(draw.paretovariate(0.5)), WORDS - 1)) for _ in range(length))

    bodies = [
        {"text": text()} if texts == 1 else {"texts": [text() for _ in range(texts)]} for _ in range(200 // texts + 1)
    ]
    requests = []
    for body in map(str.encode, map(json.dumps, bodies)):
        head = "POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        requests.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    times: list[float] = []
    refused: list[bytes] = []

    async def all_clients() -> None:
        loop, until = asyncio.get_running_loop(), time.perf_counter() + seconds
        for _ in range(clients):
            await loop.create_connection(lambda: Client(requests, until, times, refused), "127.0.0.1", port)
        await asyncio.sleep(until - time.perf_counter() + 1)

    asyncio.run(all_clients())
    if refused or not times:
        raise SystemExit(f"{len(refused)} of {len(refused) + len(times)} requests were refused: {refused[:1]}")
    times.sort()
    return {
        "requests_per_second": len(times) / seconds,
        "texts_per_second": len(times) * texts / seconds,
        "p50_ms": 1000 * times[len(times) // 2],
        "p99_ms": 1000 * times[len(times) * 99 // 100],
        "client_cpu": time.process_time() / seconds,
    }


def cpu_seconds(server: int) -> float:
    """Processor time of a process and its children so far: what a request costs, whatever else the machine does."""
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    for process in (server, *map(int, children)):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / tick
    return total


def measured(servers: dict[str, tuple[int, int]], options: argparse.Namespace) -> list[dict[str, Any]]:
    """One row for each number of clients and each server; then one of many texts in a request."""
    rows = []
    questions = [(clients, 1) for clients in options.clients] + [(options.clients[0], options.many)]
    for words, (clients, texts) in itertools.product(options.words, questions):
        able = {name: server for name, server in servers.items() if texts == 1 or name == "batches"}
        rounds: list[dict[str, dict[str, Any]]] = []
        for _ in range(options.rounds):
            rounds.append({})
            for name, (port, process) in able.items():
                before = cpu_seconds(process)
                asked = [port, clients, texts, words, options.seconds]
                done = subprocess.run(
                    [sys.executable, __file__, "--load", *map(str, asked)],
                    check=True,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                found = json.loads(done.stdout)
                requests = found["requests_per_second"] * options.seconds
                rounds[-1][name] = found | {"cpu_ms": 1000 * (cpu_seconds(process) - before) / requests}
        first = next(iter(able))
        for name in able:
            figures = {key: median(each[name][key] for each in rounds) for key in rounds[0][name]}
            ratio = median(each[name]["requests_per_second"] / each[first]["requests_per_second"] for each in rounds)
            rows.append(
                {"clients": clients, "texts": texts, "words": words, "server": name}
                | {key: round(value, 2) for key, value in figures.items()}
                | {"ratio": round(ratio, 2)}
            )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    print("words  clients  texts  server       requests/s   texts/s    p50 ms    p99 ms    cpu ms   ratio")
    for row in rows:
        print(
            f"{row['words']:5}  {row['clients']:7}  {row['texts']:5}  {row['server']:10}  "
            f"{row['requests_per_second']:11.1f} {row['texts_per_second']:9.1f} {row['p50_ms']:9.1f} "
            f"{row['p99_ms']:9.1f} {row['cpu_ms']:9.3f} {row['ratio']:7.2f}"
        )
    print(f"load of the machine over the last minute: {os.getloadavg()[0]:.1f}, on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
