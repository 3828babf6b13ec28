"""Every format, wrapped in every way, and everything that can be wrong with a vector file."""

from __future__ import annotations

import gzip
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sgbt.core.errors import EmbeddingError
from sgbt.embeddings import EmbeddingTable, binary, load_embeddings

WORDS = ("the", "film", "naïve", "n't", '"', "#hash", "{")
VECTORS = np.arange(21, dtype=np.float32).reshape(7, 3) / 8 - 1


def text_of(words: tuple[str, ...] = WORDS, vectors: np.ndarray = VECTORS, *, header: bool = False) -> bytes:
    lines = [f"{word} {' '.join(str(float(x)) for x in row)}" for word, row in zip(words, vectors, strict=True)]
    first = [f"{len(words)} {vectors.shape[1]}"] if header else []
    return "\n".join(first + lines + [""]).encode()


def binary_of(words: tuple[str, ...] = WORDS, vectors: np.ndarray = VECTORS, *, newline: bool = False) -> bytes:
    end = b"\n" if newline else b""
    rows = [word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, vectors, strict=True)]
    return f"{len(words)} {vectors.shape[1]}\n".encode() + b"".join(rows)


def wink_of(words: tuple[str, ...] = WORDS, vectors: np.ndarray = VECTORS) -> bytes:
    rows = {word: [*map(float, row), 9.5, i] for i, (word, row) in enumerate(zip(words, vectors, strict=True))}
    document = {"precision": 8, "size": len(words), "dimensions": 3, "words": [*words, "vectors"], "vectors": rows}
    return json.dumps({**document, "unkVector": [0, 0, 0, 0, -1]}, separators=(",", ":")).encode()


def same(table: EmbeddingTable, words: tuple[str, ...] = WORDS, vectors: np.ndarray = VECTORS) -> bool:
    return table.words == words and np.array_equal(table.vectors, vectors)


FORMATS: dict[str, Callable[[], bytes]] = {
    "glove": text_of,
    "word2vec-text": lambda: text_of(header=True),
    "byte-order-mark": lambda: b"\xef\xbb\xbf" + text_of(header=True),
    "windows": lambda: text_of().replace(b"\n", b"\r\n"),
    "trailing-space": lambda: text_of(header=True).replace(b"\n", b" \n"),
    "tabs": lambda: text_of().replace(b" ", b"\t"),
    "blank-lines-at-the-end": lambda: text_of(header=True) + b"\n\n",
    "no-newline-at-the-end": lambda: text_of(header=True)[:-1],
    "binary": binary_of,
    "binary-newlines": lambda: binary_of(newline=True),
    "wink": wink_of,
}


@pytest.mark.parametrize("wrapping", ["plain", "gzip", "zip"])
@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("size", [1 << 22, 37])
def test_reads_every_format(
    tmp_path: Path, layout: str, wrapping: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("text", "binary"):
        monkeypatch.setattr(f"sgbt.embeddings.{module}.BLOCK_BYTES", size)
    path, content = tmp_path / "vectors", FORMATS[layout]()
    if wrapping == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inside.txt", content)
    else:
        path.write_bytes(gzip.compress(content) if wrapping == "gzip" else content)
    assert same(load_embeddings(path))
    kept = load_embeddings(str(path), words={"film", "#hash", "absent"})
    assert same(kept, ("film", "#hash"), VECTORS[[1, 5]])


def test_reads_an_array_with_its_words_beside(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    np.save(tmp_path / "vectors.npy", VECTORS)
    parquet.write_table(arrow.table({"n": list(range(7)), "index": list(WORDS)}), tmp_path / "words.parquet")
    assert same(load_embeddings(tmp_path / "vectors.npy"))
    assert same(load_embeddings(tmp_path / "vectors.npy", words=["n't"]), ("n't",), VECTORS[[3]])


def test_words_may_contain_spaces(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(text_of(("the", ". . .", "at name@domain.com"), VECTORS[:3]))
    assert load_embeddings(path).words == ("the", ". . .", "at name@domain.com")


def test_the_first_of_repeated_words_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sgbt.embeddings.text.BLOCK_BYTES", 16)
    path = tmp_path / "glove.txt"
    path.write_bytes(text_of(("a", "b", "a", "a", "c"), VECTORS[:5]))
    assert same(load_embeddings(path), ("a", "b", "c"), VECTORS[[0, 1, 4]])


def test_a_vector_without_a_word_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(b"a 1 2 3\n 4 5 6\nb 7 8 9\n")
    assert load_embeddings(path).words == ("a", "b")


def test_a_zip_with_several_members_needs_a_choice(tmp_path: Path) -> None:
    path = tmp_path / "glove.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", text_of())
        archive.writestr("b.txt", text_of(header=True))
    assert same(load_embeddings(path, member="b.txt"))
    with pytest.raises(EmbeddingError, match=r"one member, got a\.txt, b\.txt in .*; name one with member="):
        load_embeddings(path)
    with pytest.raises(EmbeddingError, match=r"the member 'c\.txt'"):
        load_embeddings(path, member="c.txt")


def test_a_name_is_found_through_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = pytest.importorskip("sgbt.resources")
    path = tmp_path / "found.txt"
    path.write_bytes(text_of(header=True))

    class Located:
        layout, paths = "word2vec-text", (path,)

    asked = []
    monkeypatch.setattr(resources, "get", lambda name, *, data_home: asked.append((name, data_home)) or Located)
    table = load_embeddings("glove", data_home=tmp_path)
    assert same(table)
    assert table.name == "glove"
    assert asked == [("glove", tmp_path)]


def test_the_second_load_maps_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(text_of())
    load_embeddings(path)
    monkeypatch.setattr("sgbt.embeddings.load._blocks", lambda *_, **__: pytest.fail("parsed again"))
    again = load_embeddings(path)
    assert same(again)
    base: object = again.vectors
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert not again.vectors.flags.writeable


@pytest.mark.parametrize("damaged", ["about.json", "words.txt", "vectors.npy"])
@pytest.mark.parametrize("damage", ["truncate", "flip", "remove"])
def test_a_damaged_cache_is_made_again(tmp_path: Path, cache: Path, damaged: str, damage: str) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(text_of())
    load_embeddings(path)
    (victim,) = cache.rglob(damaged)
    content = victim.read_bytes()
    victim.unlink()
    if damage != "remove":
        victim.write_bytes(content[:-3] if damage == "truncate" else content[:-1] + bytes([content[-1] ^ 1]))
    assert same(load_embeddings(path))


def test_a_changed_file_is_parsed_again(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(text_of())
    load_embeddings(path)
    path.write_bytes(text_of(WORDS[:2], VECTORS[:2]))
    assert len(load_embeddings(path)) == 2


def test_works_without_a_cache_folder(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    path = tmp_path / "glove.txt"
    path.write_bytes(text_of())
    assert same(load_embeddings(path))


def test_no_word_wanted_gives_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(text_of())
    table = load_embeddings(path, words=[])
    assert (len(table), table.width) == (0, 3)
    assert len(load_embeddings(path, words=[])) == 0


def cut(content: bytes, share: float = 0.5) -> bytes:
    return content[: int(len(content) * share)]


def zipped(content: bytes) -> bytes:
    from io import BytesIO

    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.txt", content)
    return stream.getvalue()


NAN = VECTORS.copy()
NAN[4, 1] = np.nan
LONG = text_of(tuple(f"w{i}" for i in range(2000)), np.random.default_rng(0).random((2000, 3)).astype(np.float32))

BAD: dict[str, tuple[bytes, str]] = {
    "short line": (b"a 1 2 3\nb 1 2\nc 1 2 3\n", "3 numbers after the word, got 2 in .*, line 2"),
    "long line": (b"a 1 2 3\nb 1 2 3 4\nc 1 2 3\n", "3 numbers after the word, got 4 in .*, line 2"),
    "last line cut": (b"a 1 2 3\nb 1 2 3\nc 1", "3 numbers after the word, got 1 in .*, line 3"),
    "word alone": (b"a 1 2 3\nb 1 2 3\nc\n", "3 numbers after the word, got 0 in .*, line 3"),
    "empty": (b"", "word vectors, got an empty file"),
    "blank": (b"\n\n  \n", "word vectors, got an empty file"),
    "prose": (b"It was a dark and stormy night.\nThe end.\n", "numbers on every line, got 'It was a dark"),
    "pixels": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "numbers on every line"),
    "not a number": (b"a 1 2 3\nb 1 x2 3\nc 1 2 3\n", "numbers after 'b', got 'x2' in .*, line 2"),
    "NaN": (text_of(vectors=NAN), "NaN or infinity in the vector of '\"' in .*, line 5"),
    "NaN in binary": (binary_of(vectors=NAN), "NaN or infinity in the vector of '\"' in .*, record 5"),
    "header too high": (text_of(header=True).replace(b"7 3", b"9 3"), "9 vectors, as the header says, got 7"),
    "header too low": (text_of(header=True).replace(b"7 3", b"5 3"), "5 vectors, as the header says, got 7"),
    "header too wide": (text_of(header=True).replace(b"7 3", b"7 4"), "4 numbers after the word, got 3 in .*, line 2"),
    "header too thin": (text_of(header=True).replace(b"7 3", b"7 2"), "2 numbers after the word, got 3 in .*, line 2"),
    "header alone": (b"7 3\n", "numbers on every line, got no vectors"),
    "binary cut": (cut(binary_of(), 0.8), "7 vectors, as the header says, got 5"),
    "binary too long": (binary_of().replace(b"7 3", b"6 3"), "got more bytes after them"),
    "binary too thin": (binary_of().replace(b"7 3", b"7 2"), "the width in the header is wrong"),
    "latin-1": (b"caf\xe9 1 2 3\n", "words in UTF-8, got b'caf\\\\xe9' in .*, line 1"),
    "gzip cut": (cut(gzip.compress(LONG)), "a whole gzip file, got one that is cut short"),
    "gzip garbage": (gzip.compress(LONG)[:20] + b"garbage" * 9, "a whole gzip file"),
    "zip cut": (cut(zipped(LONG)), "a whole compressed file, got one that is cut short"),
    "gzip bomb": (gzip.compress(b"film 1 2\n" + b"0" * (200 << 20)), "and no end"),
    "zip bomb": (zipped(b"0" * (200 << 20)), "and no end"),
    "JSON with half of a surrogate pair": (wink_of().replace(b'"the"', b'"\\ud800"'), "surrogate"),
    "JSON cut": (cut(wink_of(), 0.8), "ends, got a file that is cut short"),
    "other JSON": (b'{"a": [1, 2]}', '"vectors" object'),
    "JSON without size": (b'{"vectors": {"a": [1]}}', '"size" and "dimensions"'),
    "JSON too few": (wink_of().replace(b'"size":7', b'"size":8'), "8 vectors, as the header says, got 7"),
    "JSON short row": (wink_of().replace(b'"dimensions":3', b'"dimensions":6'), "at least 6 numbers for 'the', got 5"),
    "JSON no number": (wink_of().replace(b"-1.0", b'"x"'), "rows of numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_one_clear_sentence(tmp_path: Path, cache: Path, case: str) -> None:
    content, message = BAD[case]
    path = tmp_path / "vectors.any"
    path.write_bytes(content)
    with pytest.raises(EmbeddingError, match=message) as raised:
        load_embeddings(path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)
    assert not [file for file in cache.rglob("*") if file.is_file()], "nothing half-written"


def test_a_missing_file_lists_the_names(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"or one of glove, .*got 'glove\.7B', which does not exist"):
        load_embeddings("glove.7B")
    with pytest.raises(EmbeddingError, match="got a folder"):
        load_embeddings(tmp_path)


def test_an_array_needs_its_words(tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", VECTORS)
    with pytest.raises(EmbeddingError, match=r"one \.parquet file with the words beside the array, got 0"):
        load_embeddings(tmp_path / "vectors.npy")
    (tmp_path / "words.parquet").write_bytes(b"nothing of the kind")
    pytest.importorskip("pyarrow")
    with pytest.raises(EmbeddingError, match="a Parquet file of words"):
        load_embeddings(tmp_path / "vectors.npy")


def test_array_and_words_must_agree(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    np.save(tmp_path / "vectors.npy", VECTORS)
    parquet.write_table(arrow.table({"index": ["a", "b"]}), tmp_path / "words.parquet")
    with pytest.raises(EmbeddingError, match="a row of numbers for each of the 2 words"):
        load_embeddings(tmp_path / "vectors.npy")
    parquet.write_table(arrow.table({"n": [1, 2]}), tmp_path / "words.parquet")
    with pytest.raises(EmbeddingError, match="a column of words, got n"):
        load_embeddings(tmp_path / "vectors.npy")


def test_without_pyarrow_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "vectors.npy", VECTORS)
    (tmp_path / "words.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EmbeddingError, match=r"pip install 'sgbt\[parquet\]'"):
        load_embeddings(tmp_path / "vectors.npy")


def test_the_filter_of_all_words_accepts_everything() -> None:
    assert binary.keeps(None)("anything")
    assert not binary.keeps([])("anything")
