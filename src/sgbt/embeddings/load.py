"""`load_embeddings`: from a name or a file to an `EmbeddingTable`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from sgbt.core.errors import EmbeddingError
from sgbt.core.files import stamp_of, user_cache
from sgbt.embeddings.binary import read_binary
from sgbt.embeddings.block import Block, Keep, first_occurrences, keeps
from sgbt.embeddings.cache import cached
from sgbt.embeddings.npy_parquet import read_npy_parquet
from sgbt.embeddings.opening import layout_of, opened, parquet_beside
from sgbt.embeddings.table import EmbeddingTable
from sgbt.embeddings.text import read_text
from sgbt.embeddings.wink_json import read_wink_json

NAMES = ("glove", "glove.840B.300d", "glove.6B.50d", "glove.6B.100d")
"""The tables that have a name; every other argument is a path."""

_PARSER_VERSION = 1
_STREAMED: dict[str, Callable[..., Iterator[Block]]] = {
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


def _blocks(layout: str, paths: tuple[Path, ...], *, member: str | None, keep: Keep) -> Iterator[Block]:
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
