"""The page's own files: read once when the server starts, handed out by name, so that no request ever opens a path."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
ADDRESSES = {"/": "index.html", "/docs": "docs.html"}
"""Pages have addresses of their own; every other file is /static/ and its name."""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file's content and what it is."""

    content: bytes
    kind: str


def static_files() -> dict[str, StaticFile]:
    """Every file by the path under which it is asked for."""
    names = {name: address for address, name in ADDRESSES.items()}
    found = {}
    for entry in files("sgbt.serve").joinpath("static").iterdir():
        kind = KINDS.get(entry.name.rpartition(".")[2])
        if kind is not None:
            found[names.get(entry.name, f"/static/{entry.name}")] = StaticFile(entry.read_bytes(), kind)
    return found
