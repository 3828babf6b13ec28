"""Reading single members out of published archives, as streams: nothing is ever unpacked by its own path."""

from __future__ import annotations

import hashlib
import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sgbt.core.errors import ResourceError, SgbtError
from sgbt.core.unpacking import open_gzip
from sgbt.resources.sources import SourceFailure

UNREADABLE = (
    *(OSError, EOFError, ValueError, LookupError, TypeError, RuntimeError),
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, SgbtError),
)
"""What reading a file raises when it is not what its name says: cut short, damaged, or another thing altogether."""


@contextmanager
def member(archive: Path, name: str) -> Iterator[IO[bytes]]:
    """The stream of one member of a wheel, zip or tarball."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as bundle, bundle.open(name) as stream:
                yield stream
        else:
            with tarfile.open(archive) as tarball:
                opened = tarball.extractfile(name)
                if opened is None:
                    raise KeyError(name)
                with opened as stream:
                    yield stream
    except (KeyError, zipfile.BadZipFile, tarfile.TarError, EOFError) as problem:
        raise SourceFailure(f"{archive.name} has no readable member {name}") from problem


def copy_member(archive: Path, name: str, target: Path) -> None:
    """Write one member to `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with member(archive, name) as stream, target.open("wb") as out:
        shutil.copyfileobj(stream, out, 1 << 20)


def copy_members_below(archive: Path, prefix: str, target: Path) -> None:
    """Write every plain file directly below `prefix` in a zip archive into the folder `target`."""
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive) as bundle:
        names = [name for name in bundle.namelist() if name.startswith(prefix) and "/" not in name[len(prefix) :]]
        for name in names:
            if base := name[len(prefix) :]:
                copy_member(archive, name, target / base)


def sha256_of_content(path: Path) -> str:
    """The SHA-256 of a file's content, after unpacking when it is gzipped: so a copy packed anew is the same."""
    with open_gzip(path, kind=ResourceError) if path.suffix == ".gz" else path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fingerprint_of_files(paths: tuple[Path, ...]) -> str:
    """One SHA-256 for several files, or for the files of a folder, by name and content."""
    whole = hashlib.sha256()
    for path in paths:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        for file in files:
            whole.update(f"{file.name.removesuffix('.gz')} {sha256_of_content(file)}\n".encode())
    return whole.hexdigest()


def fingerprint_of_wordnet(paths: tuple[Path, ...]) -> str:
    """One SHA-256 for a WordNet database: its data, index and exception files, whatever else lies in the folder."""
    parts = [f"{kind}.{part}" for kind in ("data", "index") for part in ("adj", "adv", "noun", "verb")]
    parts += [f"{part}.exc" for part in ("adj", "adv", "noun", "verb")]
    return fingerprint_of_files(tuple(paths[0] / part for part in parts))
