"""What words, and sets of words that may stand for one another, add to a model's first layer: each found once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.certify.specification import Specification
from sgbt.core.shapes import Int
from sgbt.models import BiLSTM, TextCNN
from sgbt.models.embedding import WordEmbedding
from sgbt.threats import SubstitutionIndex

LIMIT_BYTES = 2 << 30
SETS_AT_ONCE = 1024


class Images:
    """The image of every word under one affine map, and the least and greatest image over every set of words.

    `values` [entries, outputs] has an entry for each word and, for each set of more than one word, an entry for the
    least and one for the greatest images: `own`, `low` and `high` [sets] say which entries those are. An entry is
    filled when it is first required, so a table of a whole vocabulary costs only what is asked of it.
    """

    def __init__(self, words: WordList, weight: Tensor, bias: Tensor | None, scale: float) -> None:
        self._weight, self._bias, self._scale = weight, bias, scale
        # not the list itself, which has this table among its own: a ring of a gigabyte would outlive its use
        self._embedding, self._codes, self._choices = words.embedding, words.codes, words.choices
        choices = words.choices
        varied = (choices != choices[:, :1]).any(dim=1)
        number = varied.cumsum(dim=0) - 1
        self.own = choices[:, 0].contiguous()
        self.low = torch.where(varied, len(words.codes) + 2 * number, self.own)
        self.high = self.low + varied
        entries = len(words.codes) + 2 * int(varied.sum())
        self.values = weight.new_empty(entries, weight.shape[0])
        self._ready_words = torch.zeros_like(words.codes, dtype=torch.bool)
        self._ready_sets = torch.zeros_like(varied)
        self._lock = threading.Lock()

    def require(self, sets: Tensor) -> Images:
        """Fill what the given distinct sets need; several threads may ask at once."""
        with self._lock:
            missing = sets[~self._ready_sets[sets]]
            for start in range(0, len(missing), SETS_AT_ONCE):
                self._fill(missing[start : start + SETS_AT_ONCE])
        return self

    def _fill(self, sets: Tensor) -> None:
        choices = self._choices[sets]
        words = torch.unique(choices)
        words = words[~self._ready_words[words]]
        vectors = self._embedding(self._codes[words])
        self.values[words] = F.linear(vectors, self._weight, self._bias)
        self._ready_words[words] = True
        varied = self.low[sets] != self.own[sets]
        choices, low, high = choices[varied], self.low[sets[varied]], self.high[sets[varied]]
        own = self.values.index_select(0, choices[:, 0])
        least, greatest = own.clone(), own.clone()
        for slot in range(1, choices.shape[1]):
            image = self.values.index_select(0, choices[:, slot])
            torch.minimum(least, image, out=least)
            torch.maximum(greatest, image, out=greatest)
        if self._scale != 1.0:
            least, greatest = own + self._scale * (least - own), own + self._scale * (greatest - own)
        self.values[low], self.values[high] = least, greatest
        self._ready_sets[sets] = True


@dataclass(frozen=True, eq=False)
class WordList:
    """Words by `codes` [words], and sets of them: `choices` [sets, slots], the original first.

    A slot that does not count repeats the original, so that least and greatest over all slots are right.
    """

    embedding: WordEmbedding
    codes: Tensor
    choices: Tensor
    images: dict[tuple[str, float], Images] = field(default_factory=dict)

    @staticmethod
    def of_index(embedding: WordEmbedding, index: SubstitutionIndex) -> WordList:
        """Every word of a model, and every row of an index as a set."""
        device = embedding.weight.device
        codes = torch.arange(embedding.weight.shape[0], device=device)
        return WordList(embedding, codes, embedding.encode(index.choices.to(device)))


@dataclass(frozen=True, eq=False)
class Placed:
    """The words of a specification: set `places[text, word]` of `words` stands there; `scale` as in it.

    `places` is filled up with padding to the length that was asked for.
    """

    words: WordList
    places: Int[Tensor, "texts words"]
    distinct: Tensor
    scale: float

    def images(self, name: str, weight: Tensor, bias: Tensor | None = None) -> Images:
        """The images under one of the model's affine maps, [outputs, width], which `name` identifies."""
        key = (name, self.scale)
        known = self.words.images.get(key)
        if known is None:  # of two threads that come here at once, the first one's table is kept
            known = self.words.images.setdefault(key, Images(self.words, weight, bias, self.scale))
        return known.require(self.distinct)


class WordTables:
    """The word lists of a run over one frozen model: with an index, one for all specifications that number its rows.

    Otherwise, or where the images of all words would take more than `limit` bytes, each has a list of its own.
    """

    def __init__(self, index: SubstitutionIndex | None = None, *, limit: int = LIMIT_BYTES) -> None:
        self._index, self._limit = index, limit
        self._lists: dict[int, WordList] = {}
        self._lock = threading.Lock()

    def place(self, model: TextCNN | BiLSTM, spec: Specification, *, least: int = 1) -> Placed:
        """The words of a specification as a model reads them, filled up to at least so many positions."""
        missing = max(least - spec.ids.shape[1], 0)
        if spec.rows is not None and self._index is not None and self._fits(model):
            with self._lock:
                words = self._lists.get(id(model))
                if words is None:
                    words = self._lists[id(model)] = WordList.of_index(model.embedding, self._index)
            places = F.pad(spec.rows, (0, missing))
            return Placed(words, places, torch.unique(places), spec.scale)
        codes = model.embedding.encode(F.pad(spec.ids, (0, 0, 0, missing)))
        allowed = F.pad(spec.allowed, (0, 0, 0, missing))
        listed = torch.where(allowed, codes, codes[..., :1]).flatten(0, 1)
        sets, places = torch.unique(listed, dim=0, return_inverse=True)
        distinct, choices = torch.unique(sets, return_inverse=True)
        words = WordList(model.embedding, distinct, choices)
        everything = torch.arange(len(sets), device=places.device)
        return Placed(words, places.view(codes.shape[:2]), everything, spec.scale)

    def _fits(self, model: TextCNN | BiLSTM) -> bool:
        """Whether a table of all images stays within the limit; there are two more for each word with substitutes."""
        assert self._index is not None
        outputs = sum(weight.numel() // model.embedding.width for weight in _entering(model))
        entries = model.embedding.weight.shape[0] + 2 * int((self._index.counts > 1).sum())
        return entries * outputs * model.embedding.weight.element_size() <= self._limit


@singledispatch
def _entering(model: Any) -> list[Tensor]:
    """The weights by which words enter."""
    raise TypeError(type(model).__name__)


@_entering.register
def _into_cnn(model: TextCNN) -> list[Tensor]:
    return [layer.get_parameter("weight") for layer in model.convolutions]


@_entering.register
def _into_bilstm(model: BiLSTM) -> list[Tensor]:
    return [lstm.get_parameter("weight_ih_l0") for lstm in (model.forwards, model.backwards)]
