"""Layouts of plain files, and the steps that make them from fetched archives."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sgbt.resources.members import copy_member, copy_members_below, fingerprint_of_files
from sgbt.resources.resource import Build, Layout

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
