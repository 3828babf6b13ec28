"""Finding a resource on disk, or fetching it once from the first provider that has the real thing."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

from sgbt.core.errors import NotVerifiedWarning, ResourceError, SgbtError
from sgbt.core.files import (
    PARTIAL,
    atomic_write,
    disk_errors,
    is_disk_failure,
    make_folder,
    stamp_of,
    user_cache,
    writing_errors,
)
from sgbt.core.locks import exclusive
from sgbt.resources.catalogue import resource_named
from sgbt.resources.resource import Attempt, Layout, Located, Provider, Resource
from sgbt.resources.sources import UNREADABLE, Errand, Progress, Silent, SourceFailure

SETTLED_SECONDS = 0.1
"""A file system's clock ticks every few milliseconds: of two changes within one tick, it shows only the first."""


class UnavailableError(ResourceError):
    """No provider could supply a resource; `attempts` says who was asked and what each answered."""

    def __init__(self, resource: Resource, attempts: tuple[Attempt, ...]) -> None:
        self.attempts = attempts
        tried = "; ".join(f"{attempt.provider}: {attempt.outcome}" for attempt in attempts)
        remedy = resource.by_hand or "connect to the internet or to a package registry"
        super().__init__(
            expected=f"the resource {resource.name}", got=f"nothing from any provider ({tried})", remedy=remedy
        )


def data_homes(chosen: Path | None = None) -> tuple[Path, ...]:
    """The folders a resource is looked up in: the data home (`chosen`, else `SGBT_DATA`), then the user cache."""
    named = chosen or (Path(os.environ["SGBT_DATA"]) if os.environ.get("SGBT_DATA") else None)
    cache = user_cache() / "data"
    return (named.expanduser(), cache) if named else (cache,)


def writable_home(homes: tuple[Path, ...]) -> Path:
    """The first data home that is meant to be written to.

    A folder whose owner has no write permission is somebody's read-only collection: what is fetched goes to the user
    cache instead, even when the process (root's, say) could write there.
    """
    for home in homes:
        if not home.exists() or (home.stat().st_mode & stat.S_IWUSR and os.access(home, os.W_OK)):
            return home
    return homes[-1]


def locate(name: str, *, data_home: Path | None = None) -> Located | None:
    """The resource as it lies on disk with the right content, or nothing; never fetches."""
    return _locate(resource_named(name), data_homes(data_home), [])


def get(name: str, *, data_home: Path | None = None, progress: Progress | None = None) -> Located:
    """The resource, fetched first when no data home has it.

    Only one process fetches a resource at a time. Files reach the data home by renaming, after their content was
    checked, so a kill at any moment leaves nothing that a later run would take for the resource. Content that has no
    fingerprint is used, with a warning each time.
    """
    located = _get(name, data_home=data_home, progress=progress)
    if not located.verified:
        warnings.warn(
            f"{name} ({located.paths[0]}) is not verified: it has no fingerprint to compare its content with",
            NotVerifiedWarning,
            stacklevel=2,
        )
    return located


def _get(name: str, *, data_home: Path | None, progress: Progress | None) -> Located:
    resource, homes, attempts = resource_named(name), data_homes(data_home), list[Attempt]()
    if found := _locate(resource, homes, attempts):
        return found
    # a copy in the user's own data home that is not the published one is the user's: it is never overwritten
    home = writable_home((*(home for home in homes[:-1] if not any(resource.find(home))), homes[-1]))
    make_folder(home)
    with exclusive(home / f".lock-{resource.name}"):
        if found := _locate(resource, homes, []):  # another process fetched it while this one waited
            return found
        _remove_leftovers(home, resource)
        for provider in resource.providers:
            try:
                _fetch(resource, provider, homes, home, progress or Silent())
            except SourceFailure as failure:
                attempts.append(Attempt(provider.name, str(failure)))
                continue
            located = _locate(resource, (home,), attempts)
            assert located is not None, f"{provider.name} built files that do not make a layout of {resource.name}"
            attempts.append(Attempt(provider.name, "supplied it"))
            return replace(located, provider=provider.name, attempts=tuple(attempts))
    raise UnavailableError(resource, tuple(attempts))


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a resource on disk; `genuine` is None where there is no published checksum to compare with."""

    place: Path
    genuine: bool | None


def check(name: str, *, data_home: Path | None = None) -> list[Copy]:
    """Every copy of the resource in the data homes, read afresh and compared with the published content."""
    return [
        Copy(paths[0], is_genuine(layout, paths, afresh=True) if layout.known else None)
        for home in data_homes(data_home)
        for layout, paths in resource_named(name).find(home)
    ]


def is_genuine(layout: Layout, paths: tuple[Path, ...], *, afresh: bool = False) -> bool:
    """Whether the content is the known one, remembered per file state so that a file is read for this only once.

    `afresh` reads it again all the same.
    """
    if not layout.known:
        return True
    try:
        state = _state(layout, paths)
        memory = user_cache() / "fingerprints" / state
        if not afresh and (remembered := _recall(memory)):
            return remembered in layout.known
        actual = layout.fingerprint(paths)
        settled = _settled(paths) and _state(layout, paths) == state
    except UNREADABLE:
        return False
    if settled:
        with contextlib.suppress(SgbtError), atomic_write(memory) as stream:
            stream.write(actual.encode())
    return actual in layout.known


def _files(paths: tuple[Path, ...]) -> list[Path]:
    return [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]


def _state(layout: Layout, paths: tuple[Path, ...]) -> str:
    parts = [layout.name, *sorted(layout.known), *map(stamp_of, _files(paths))]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _settled(paths: tuple[Path, ...]) -> bool:
    """Whether the last change is long enough ago that another one would show in the times of the file."""
    newest = max(max(status.st_mtime_ns, status.st_ctime_ns) for status in map(Path.stat, _files(paths)))
    return time.time_ns() - newest > SETTLED_SECONDS * 1e9


def _recall(memory: Path) -> str:
    """The remembered fingerprint, or nothing where there is none that can be one."""
    with contextlib.suppress(OSError, ValueError):
        remembered = memory.read_text(encoding="ascii")
        return remembered if len(bytes.fromhex(remembered)) == hashlib.sha256().digest_size else ""
    return ""


def _locate(resource: Resource, homes: tuple[Path, ...], attempts: list[Attempt]) -> Located | None:
    for home in homes:
        outcome = "not there"
        for layout, paths in resource.find(home):
            if is_genuine(layout, paths):
                return Located(
                    resource.name, layout.name, paths, f"data home {home}", bool(layout.known), tuple(attempts)
                )
            outcome = f"{paths[0].relative_to(home)} is there, but its content is not the published one (checksum)"
        attempts.append(Attempt(f"data home {home}", outcome))
    return None


def _fetch(resource: Resource, provider: Provider, homes: tuple[Path, ...], home: Path, progress: Progress) -> None:
    layout = resource.layout(provider.layout)
    with writing_errors(home):
        work = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}{resource.name}-", dir=home))
    try:
        with disk_errors(home):
            built = _build(resource, provider, Errand(work, homes, progress))
        paths = layout.find(built)
        if not paths or not is_genuine(layout, paths):
            raise SourceFailure("its content is not the published one (checksum)")
        with writing_errors(home):
            for path in paths:
                _move_into_place(path, home / path.relative_to(built))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _build(resource: Resource, provider: Provider, errand: Errand) -> Path:
    """The folder with the layout's files, made from what the provider's sources supplied."""
    archives = []
    for number, source in enumerate(provider.sources):
        folder = errand.folder / f"fetched-{number}"
        folder.mkdir()
        archives.append(source.fetch(replace(errand, folder=folder)))
    built = errand.folder / "built"
    built.mkdir()
    errand.progress.start(f"unpacking {resource.name}", None)
    try:
        provider.build(tuple(archives), built)
    except UNREADABLE as problem:
        if is_disk_failure(problem):
            raise
        raise SourceFailure(f"{archives[0].name} cannot be read ({problem or type(problem).__name__})") from problem
    finally:
        errand.progress.finish()
    return built


def _move_into_place(path: Path, target: Path) -> None:
    make_folder(target.parent)
    if path.is_dir():
        path.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
    path.replace(target)


def _remove_leftovers(home: Path, resource: Resource) -> None:
    """Folders of fetches that were killed; nobody else is at it, because the caller holds the lock."""
    for leftover in home.glob(f"{PARTIAL}{resource.name}-*"):
        shutil.rmtree(leftover, ignore_errors=True)
