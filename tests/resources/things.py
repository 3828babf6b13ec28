"""A small resource called `thing`, sources that behave as told, and a web server that misbehaves on demand."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sgbt.resources import CATALOGUE, Layout, Provider, Resource
from sgbt.resources.sources import Errand, Source, SourceFailure, WebAddress, fingerprint_of_files

CONTENT = b"the real thing\n" * 4000
PATH = "things/thing.txt"
KNOWN = hashlib.sha256(f"thing.txt {hashlib.sha256(CONTENT).hexdigest()}\n".encode()).hexdigest()


@dataclass
class Given:
    """A source that hands over `content`, or fails with `failure`; `asked` counts."""

    content: bytes = CONTENT
    failure: str = ""
    title: str = "given"
    size: int = 0
    asked: int = 0

    def fetch(self, errand: Errand) -> Path:
        self.asked += 1
        if self.failure:
            raise SourceFailure(self.failure)
        path = errand.folder / "given"
        path.write_bytes(self.content)
        return path


def copy(archives: tuple[Path, ...], folder: Path) -> None:
    """The build step of `thing`: its file is the first archive."""
    (folder / PATH).parent.mkdir(parents=True)
    (folder / PATH).write_bytes(archives[0].read_bytes())


def put(home: Path, content: bytes = CONTENT) -> Path:
    """The file of `thing` below this folder, as a person would put it there."""
    path = home / PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def thing(*sources: Source, known: bool = True) -> Resource:
    """The resource `thing`, with one provider for each source: `first`, `second`, `third`."""
    layout = Layout("plain", (PATH,), fingerprint_of_files, frozenset({KNOWN} if known else set()))
    names = ("first", "second", "third")
    providers = tuple(Provider(name, "plain", (source,), copy) for name, source in zip(names, sources, strict=False))
    return Resource("thing", "A thing", "free", (layout,), providers, by_hand="make it yourself")


def install(address: str) -> None:
    """For a process of its own: put the thing at `address` into the catalogue."""
    CATALOGUE["thing"] = thing(WebAddress(address, len(CONTENT)))


@dataclass
class Behaviour:
    """How the server answers: it sends `sent` bytes, waits for `go`, sends the rest if `rest` says so, and closes."""

    sent: int = len(CONTENT)
    rest: bool = False
    announced: int | None = len(CONTENT)
    chunked: bool = False
    status_line: bytes = b""
    body: bytes = CONTENT
    go: threading.Event = field(default_factory=threading.Event)
    requests: int = 0


@contextmanager
def served(behaviour: Behaviour) -> Iterator[str]:
    """The address of a local server that answers as `behaviour` says at the moment of asking."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            behaviour.requests += 1
            self.close_connection = True
            if behaviour.status_line:
                self.wfile.write(behaviour.status_line)
                return
            self.send_response(200)
            if behaviour.chunked:
                self.send_header("Transfer-Encoding", "chunked")
            elif behaviour.announced is not None:
                self.send_header("Content-Length", str(behaviour.announced))
            self.end_headers()
            piece = behaviour.body[: behaviour.sent]
            self.wfile.write(b"%x\r\n" % len(piece) + piece + b"\r\n" if behaviour.chunked else piece)
            self.wfile.flush()
            behaviour.go.wait(60)
            if behaviour.rest:
                self.wfile.write(behaviour.body[len(piece) :])

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/files/thing.txt"
    finally:
        behaviour.go.set()
        server.shutdown()
        server.server_close()
        thread.join()
