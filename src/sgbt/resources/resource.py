"""The values of this package: what a resource is, how it lies on disk, and who can supply it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sgbt.resources.sources import Source, copy_member, copy_members_below, fingerprint_of_files

Fingerprint = Callable[[tuple[Path, ...]], str]
Build = Callable[[tuple[Path, ...], Path], None]


@dataclass(frozen=True, slots=True)
class Layout:
    """One way in which a resource can lie in a data home.

    `patterns` are paths below the data home (shell patterns allowed); the layout is present when each matches. Where
    `known` is not empty, `fingerprint` of the matched paths must be one of them: then the content is the real one.
    """

    name: str
    patterns: tuple[str, ...]
    fingerprint: Fingerprint
    known: frozenset[str] = frozenset()

    def find(self, home: Path) -> tuple[Path, ...]:
        """The paths of this layout below `home`, or nothing when one is missing."""
        found: list[Path] = []
        for pattern in self.patterns:
            matches = sorted(home.glob(pattern))
            if not matches:
                return ()
            found += matches
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Provider:
    """Someone who can supply a resource in one layout: sources to fetch, and how to build its files from them."""

    name: str
    layout: str
    sources: tuple[Source, ...]
    build: Build

    @property
    def size(self) -> int:
        """Bytes to fetch."""
        return sum(source.size for source in self.sources)


@dataclass(frozen=True, slots=True)
class Resource:
    """A named thing from outside, with its licence, its layouts and its providers in the order they are tried."""

    name: str
    title: str
    licence: str
    layouts: tuple[Layout, ...]
    providers: tuple[Provider, ...]
    by_hand: str = ""
    """What a person can do when no provider works."""

    def layout(self, name: str) -> Layout:
        """The layout of that name."""
        return next(layout for layout in self.layouts if layout.name == name)

    def find(self, home: Path) -> Iterator[tuple[Layout, tuple[Path, ...]]]:
        """Each layout that is present below `home`, with its paths."""
        for layout in self.layouts:
            if paths := layout.find(home):
                yield layout, paths


@dataclass(frozen=True, slots=True)
class Attempt:
    """One provider that was tried, and what came of it."""

    provider: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Located:
    """A resource on disk: its layout, its paths, who supplied it, and what was tried on the way."""

    name: str
    layout: str
    paths: tuple[Path, ...]
    provider: str
    verified: bool
    attempts: tuple[Attempt, ...] = field(default=(), compare=False)


files_layout = partial(Layout, fingerprint=fingerprint_of_files)
"""A layout that is known by the content of its files."""


def members(*pairs: tuple[str, str]) -> Build:
    """A build step: copy members of the first archive to paths of the layout."""

    def build(archives: tuple[Path, ...], folder: Path) -> None:
        for name, target in pairs:
            copy_member(archives[0], name, folder / target)

    return build


def folder_below(prefix: str, target: str) -> Build:
    """A build step: copy the files below a prefix of the first archive into one folder."""

    def build(archives: tuple[Path, ...], folder: Path) -> None:
        copy_members_below(archives[0], prefix, folder / target)

    return build


def as_is(target: str) -> Build:
    """A build step: the fetched file is the layout's file."""

    def build(archives: tuple[Path, ...], folder: Path) -> None:
        place = folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(archives[0].read_bytes())

    return build
