"""A whole corpus as numbers: distinct words once, and every text as a run of their ids, cached by content."""

from __future__ import annotations

import contextlib
import hashlib
import struct
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sgbt.core.errors import DataError, SgbtError
from sgbt.core.files import atomic_write, user_cache
from sgbt.data.tokenizer import Tokenizer, lowered

FORMAT = "2"
LONGEST_KEPT = 40
"""Letters."""
MOST_KEPT = 1 << 18


@dataclass(frozen=True, slots=True)
class RaggedIds:
    """Texts of different lengths in one flat array: text i is `flat[starts[i]:starts[i + 1]]`. Nothing is padded."""

    flat: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        row = range(len(self))[row]  # from the end where negative, refused where beyond
        return self.flat[self.starts[row] : self.starts[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """The number of words of every text."""
        return np.diff(self.starts)

    def cut(self, longest: int) -> RaggedIds:
        """Every text cut to its first `longest` words."""
        lengths = np.minimum(self.lengths, longest)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        source = np.arange(starts[-1]) + np.repeat(self.starts[:-1] - starts[:-1], lengths)
        return RaggedIds(self.flat[source], starts)

    def parts(self, words: int) -> Iterator[slice]:
        """Consecutive texts that have so many words together, or one that has more."""
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.starts, self.starts[first] + words, side="right")) - 1
            yield slice(first, max(last, first + 1))
            first = max(last, first + 1)

    def of_rows(self, rows: slice) -> RaggedIds:
        """Consecutive texts by themselves."""
        starts = self.starts[rows.start : rows.stop + 1]
        return RaggedIds(self.flat[starts[0] : starts[-1]], starts - starts[0])


@dataclass(frozen=True, slots=True)
class TokenisedTexts:
    """Texts as ids of their distinct words: `types[id]` is the word."""

    types: tuple[str, ...]
    ids: RaggedIds

    def __len__(self) -> int:
        return len(self.ids)

    def words(self, row: int) -> tuple[str, ...]:
        """The words of one text."""
        return tuple(self.types[number] for number in self.ids[row])

    def counts(self) -> Counter[str]:
        """How often each word occurs in all texts."""
        return Counter(
            dict(zip(self.types, np.bincount(self.ids.flat, minlength=len(self.types)).tolist(), strict=True))
        )

    def as_ids_of(self, numbers: np.ndarray) -> RaggedIds:
        """The same texts with word `types[i]` written as `numbers[i]`: one gather makes vocabulary ids of a corpus."""
        return RaggedIds(numbers[self.ids.flat], self.ids.starts)


def tokenise(texts: Sequence[str], tokenizer: Tokenizer | None = None, *, cache: bool = True) -> TokenisedTexts:
    """All words of all texts; the second time for the same texts, read from the cache.

    The cache is keyed by the content of the texts and the tokenizer's pattern, so it can never be stale.
    """
    tokenizer = tokenizer or Tokenizer()
    if not cache:
        return _tokenise(texts, tokenizer)
    path = user_cache() / "tokens" / f"{_key(texts, tokenizer)}.npz"
    with contextlib.suppress(Exception):  # whatever is wrong with a cached file, it is made again
        return _read(path)
    tokenised = _tokenise(texts, tokenizer)
    with contextlib.suppress(SgbtError):  # a cache that cannot be written costs time, nothing else
        _write(path, tokenised)
    return tokenised


def _tokenise(texts: Sequence[str], tokenizer: Tokenizer) -> TokenisedTexts:
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a new word gets the next number
    ids = Pieces(tokenizer, numbers.__getitem__).ids_of(texts)
    return TokenisedTexts(tuple(numbers), ids)


_packed = struct.Struct("=i").pack


class Pieces(dict[str, bytes]):
    """The numbers of the words of what stands between the spaces of texts, as bytes; each such piece is read once.

    The words of a text are those of its pieces, one after the other, where a space separates words
    (`sgbt.data.token_pattern`); under another pattern a text is one piece. Pieces of more than `LONGEST_KEPT` letters
    hardly occur twice, and are not kept; with more than `MOST_KEPT` pieces, all are forgotten.
    """

    def __init__(self, tokenizer: Tokenizer, number: Callable[[str], int]) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.number = number

    def __missing__(self, piece: str) -> bytes:
        found = b"".join([_packed(self.number(word)) for word in self.tokenizer.words_of_lowered(piece)])
        if len(piece) <= LONGEST_KEPT:
            self[piece] = found
        return found

    def ids_of(self, texts: Sequence[str]) -> RaggedIds:
        """The numbers of all words of texts."""
        if len(self) > MOST_KEPT:
            self.clear()
        separate, get = self.tokenizer.spaces_separate, self.__getitem__
        flat, ends = bytearray(), array("q", [0])
        for text in texts:
            if not isinstance(text, str):
                raise DataError(expected="a list of texts", got=f"a {type(text).__name__} in it", where="the texts")
            low = lowered(text)
            flat += b"".join(map(get, low.split(" "))) if separate else get(low)
            ends.append(len(flat))
        return RaggedIds(np.frombuffer(flat, dtype=np.int32), np.array(ends, dtype=np.int64) // 4)


def _key(texts: Sequence[str], tokenizer: Tokenizer) -> str:
    whole = hashlib.sha256(f"{FORMAT}\0{tokenizer.pattern}\0{len(texts)}\0".encode("utf-8", "surrogatepass"))
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        whole.update(len(content).to_bytes(8, "little"))
        whole.update(content)
    return whole.hexdigest()


def _read(path: Path) -> TokenisedTexts:
    with np.load(path, allow_pickle=False) as arrays:
        joined = arrays["types"].tobytes().decode("utf-8", "surrogatepass")
        ends = np.cumsum(arrays["sizes"]).tolist()
        types = tuple(joined[start:end] for start, end in zip([0, *ends], ends, strict=False))
        return TokenisedTexts(types, RaggedIds(arrays["flat"], arrays["starts"]))


def _write(path: Path, tokenised: TokenisedTexts) -> None:
    types = np.frombuffer("".join(tokenised.types).encode("utf-8", "surrogatepass"), np.uint8)
    sizes = np.fromiter(map(len, tokenised.types), np.int32, len(tokenised.types))
    with atomic_write(path) as stream:
        np.savez(stream, types=types, sizes=sizes, flat=tokenised.ids.flat, starts=tokenised.ids.starts)
