"""Opening a vector file whatever it is wrapped in, and telling its format by its first bytes."""

from __future__ import annotations

import codecs
import contextlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from sgbt.core.errors import EmbeddingError
from sgbt.core.unpacking import open_gzip, refuse_zip_bomb
from sgbt.embeddings.header import header_of

HEAD_BYTES = 1 << 17
_GZIP, _ZIP, _NUMPY = b"\x1f\x8b", b"PK\x03\x04", b"\x93NUMPY"


@contextlib.contextmanager
def opened(path: Path, *, member: str | None = None) -> Iterator[BinaryIO]:
    """The bytes of a plain, gzipped or zipped file; whatever is wrong with the wrapping is one clear sentence."""
    try:
        with path.open("rb") as plain:
            start = plain.read(4)
        if start.startswith(_GZIP):
            with open_gzip(path, kind=EmbeddingError) as stream:
                yield stream
        elif start.startswith(_ZIP) or zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive, _inside(archive, path, member) as inside:
                yield inside
        else:
            with path.open("rb") as stream:
                yield stream
    except (EOFError, zlib.error, zipfile.BadZipFile) as problem:
        raise EmbeddingError(
            expected="a whole compressed file",
            got="one that is cut short or damaged",
            where=str(path),
            remedy="fetch it again",
        ) from problem
    except (FileNotFoundError, IsADirectoryError, PermissionError) as problem:
        raise EmbeddingError(
            expected="a file that can be read", got=(problem.strerror or str(problem)).lower(), where=str(path)
        ) from problem


def layout_of(path: Path, *, member: str | None = None) -> str:
    """The layout's name, as resources use it: glove-text, word2vec-text, word2vec-binary, wink-json or npy-parquet."""
    with opened(path, member=member) as stream:
        head = stream.read(HEAD_BYTES).removeprefix(codecs.BOM_UTF8)
    if not head.strip():
        raise EmbeddingError(expected="word vectors", got="an empty file", where=str(path), remedy="fetch it again")
    if head.startswith(_NUMPY):
        return "npy-parquet"
    if re.match(rb'\s*\{\s*"', head):
        return "wink-json"
    first, _, rest = head.partition(b"\n")
    header = header_of(first)
    if header is None:
        return "glove-text"
    return "word2vec-binary" if _is_binary(rest[: 4 * header.width]) else "word2vec-text"


def parquet_beside(path: Path) -> Path:
    """The one Parquet file in the folder of a .npy file: the list of its words."""
    found = sorted(path.parent.glob("*.parquet"))
    if len(found) != 1:
        raise EmbeddingError(
            expected="one .parquet file with the words beside the array",
            got=f"{len(found)} of them",
            where=str(path.parent),
            remedy="put the array and its words into a folder of their own",
        )
    return found[0]


def _is_binary(sample: bytes) -> bool:
    """Numbers as text never hold a control character other than white space; float32 almost always do."""
    return any(byte < 32 and byte not in b"\t\n\r\x0b\x0c" for byte in sample)


def _inside(archive: zipfile.ZipFile, path: Path, member: str | None) -> BinaryIO:
    chosen = archive.getinfo(_member_of(archive, path, member))
    refuse_zip_bomb(chosen, kind=EmbeddingError, where=str(path))
    try:
        return cast(BinaryIO, archive.open(chosen))
    except RuntimeError as problem:
        raise EmbeddingError(
            expected="an archive that needs no password", got=str(problem), where=str(path), remedy="unpack it"
        ) from problem


def _member_of(archive: zipfile.ZipFile, path: Path, member: str | None) -> str:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if member is not None and member in names:
        return member
    if member is None and len(names) == 1:
        return names[0]
    raise EmbeddingError(
        expected=f"the member {member!r}" if member else "one member",
        got=", ".join(names) or "an empty archive",
        where=str(path),
        remedy="name one with member=",
    )
