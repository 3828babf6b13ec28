"""`load_embeddings`: from a name or a file to an `EmbeddingTable`."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from sgbt.core.errors import EmbeddingError
from sgbt.core.files import stamp_of, user_cache
from sgbt.core.unpacking import open_gzip, refuse_zip_bomb
from sgbt.embeddings.binary import Keep, VectorBlock, first_occurrences, header_of, keeps, read_binary, read_npy_parquet
from sgbt.embeddings.table import EmbeddingTable, cached
from sgbt.embeddings.text import read_text, read_wink_json

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


NAMES = ("glove", "glove.840B.300d", "glove.6B.50d", "glove.6B.100d")
"""The tables that have a name; every other argument is a path."""

_PARSER_VERSION = 1
_STREAMED: dict[str, Callable[..., Iterator[VectorBlock]]] = {
    "glove-text": read_text,
    "word2vec-text": read_text,
    "word2vec-binary": read_binary,
    "wink-json": read_wink_json,
}


def load_embeddings(
    name_or_path: str | Path,
    *,
    words: Collection[str] | None = None,
    data_home: Path | None = None,
    member: str | None = None,
) -> EmbeddingTable:
    """Load word vectors by name, or from any file of vectors.

    Input: one of `NAMES`, found through `sgbt.resources`; or the path of GloVe text, word2vec text or word2vec binary
    (plain, gzipped or zipped; `member` picks one file of a larger zip), of a .npy array with one .parquet word list
    beside it, or of the wink JSON. With `words` only those are read and kept.
    Output: the table, in the order of the file. Where a word comes twice its first vector counts.
    The parsed table is kept in the user's cache folder under the file's path, size and time of change.
    """
    if isinstance(name_or_path, str) and name_or_path in NAMES:
        from sgbt.resources import get

        located = get(name_or_path, data_home=data_home)
        name, layout, paths = name_or_path, located.layout, located.paths
    else:
        path = Path(name_or_path).expanduser()
        _check_exists(path, name_or_path)
        name, layout = path.name, layout_of(path, member=member)
        paths = (path, parquet_beside(path)) if layout == "npy-parquet" else (path,)

    keep = keeps(words)
    key = _key(layout, paths, member, words)
    return cached(
        user_cache() / "embeddings" / key,
        lambda: first_occurrences(_blocks(layout, paths, member=member, keep=keep)),
        name=name,
    )


def _blocks(layout: str, paths: tuple[Path, ...], *, member: str | None, keep: Keep) -> Iterator[VectorBlock]:
    if layout == "npy-parquet":
        yield from read_npy_parquet(paths[0], paths[1], keep=keep)
        return
    reader = _STREAMED.get(layout)
    if reader is None:
        raise EmbeddingError(expected=f"one of {', '.join(_STREAMED)}, npy-parquet", got=layout, where=str(paths[0]))
    stream: BinaryIO
    with opened(paths[0], member=member) as stream:
        yield from reader(stream, where=str(paths[0]), keep=keep)


def _check_exists(path: Path, given: str | Path) -> None:
    if not path.is_file():
        raise EmbeddingError(
            expected=f"a file of word vectors, or one of {', '.join(NAMES)}",
            got="a folder" if path.is_dir() else f"{str(given)!r}, which does not exist",
            remedy="check the name or the path",
        )


def _key(layout: str, paths: tuple[Path, ...], member: str | None, words: Collection[str] | None) -> str:
    """What the parsed content depends on, as a folder name."""
    digest = hashlib.sha256(f"{_PARSER_VERSION}:{layout}:{member}".encode())
    for path in paths:
        digest.update(f"\n{stamp_of(path)}".encode())
    if words is not None:
        digest.update("\n".join(sorted(set(words))).encode())
    return digest.hexdigest()[:32]
