"""BagOfWords: one free weight per word, and per word with the codes around it; the worst case is exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgbt.core.errors import ModelError
from sgbt.core.shapes import Float, Int
from sgbt.data import RaggedIds
from sgbt.embeddings import EmbeddingTable
from sgbt.models.arrays import Fault, check_arrays, faults_of_codes, faults_of_keys
from sgbt.models.bag_of_words.features import (
    BITS,
    FAMILIES,
    LARGEST,
    OF_CODES_ALONE,
    check_families,
    keys_at,
    places_of,
)
from sgbt.models.bag_of_words.positions import LARGEST_EXPONENT, Places
from sgbt.models.blueprint import bag_blueprint, blueprint, empty_bag, read_blueprint, words_read_by
from sgbt.models.deciding import decides_in, has_own_forward, logits_unpadded, rows_of
from sgbt.models.key_index import KeyIndex
from sgbt.models.shapes import Ids, Logits, Mask
from sgbt.threats.vocabulary import PADDING, UNKNOWN


@dataclass(frozen=True, slots=True)
class BagOfWordsConfig:
    """What makes one BagOfWords differ from another."""

    classes: int = 2
    features: tuple[str, ...] = ("before", "after", "pair", "triple")
    """Families of features beside the words themselves (`features.FAMILIES`); none: one weight per word."""
    minimum_count: int = 10
    """A feature beside the words gets a weight when train has it this often, substitutes counted; else its weight is
    zero."""
    resolution: float = 1.0
    """How finely substitutes are divided into codes (`sgbt.threats.codes.community_codes`)."""
    dropout: float = 0.0
    """The share of features that a training step leaves out."""
    ties: tuple[float, ...] = (30.0, 100.0, 300.0)
    """Resolutions of the communities of substitutes whose words share a part of their weights when training is on the
    worst case (`sgbt.training.sharing`); none: every word learns by itself. They suit tables of some thousand words;
    where a small table has no communities at any of them, those at resolution 1 are taken."""
    from_vectors: bool = False
    """Whether training on the worst case also lets word vectors say what a word weighs (`sgbt.training.sharing`):
    words that train has seldom then learn from words that are used like them. What is trained needs no vectors."""
    places: bool = False
    """Whether a word counts more or less by how far it stands from either end of the text (`positions`)."""

    def __post_init__(self) -> None:
        for name in ("features", "ties"):
            if isinstance(given := getattr(self, name), list):  # JSON and TOML have lists
                object.__setattr__(self, name, tuple(given))
        check_families(self.features)
        if not isinstance(self.places, bool):
            raise ModelError(expected="places true or false", got=repr(self.places))
        counts = self.classes >= 2 and self.minimum_count >= 1 and 0 <= self.dropout < 1
        finenesses = (self.resolution, *self.ties) if isinstance(self.ties, tuple) else (None,)
        if not counts or not all(isinstance(each, int | float) and 0 < each < math.inf for each in finenesses):
            raise ModelError(
                expected="two classes, minimum_count of 1, resolution and ties above 0, dropout below 1",
                got=str(self),
            )

    @property
    def reads_vectors(self) -> bool:
        """Whether word vectors are needed to train such a model."""
        return self.from_vectors


class BagOfWords(nn.Module):
    """Logits = bias + sum over positions, and over the features there, of weight[feature] / sqrt(n), n words in all.

    With the option `places`, a position has a factor of its own in place of 1 / sqrt(n).

    Features are numbered: number 0 is padding and never counts, the vocabulary's ids are the words, and after them
    comes one number for each of the sorted `keys`, the word-and-code features that training found often enough. A
    feature that is not listed has weight zero. Nothing is hashed, so no two features share a weight.

    A repeated word counts each time. Counting it once would make the worst case wrong: two occurrences may take
    different substitutes.
    """

    kind = "linear"
    Options = BagOfWordsConfig
    keys: Tensor
    codes: Tensor

    def __init__(
        self, config: BagOfWordsConfig | None = None, *, vectors: EmbeddingTable | None = None, **options: Any
    ) -> None:
        """An untrained model; the fields of `BagOfWordsConfig` may be given by name. Training gives it its features.

        `vectors` are for training alone, and turn the option `from_vectors` on.
        """
        super().__init__()
        if vectors is not None:
            options["from_vectors"] = True
        self.config = replace(config or BagOfWordsConfig(), **options)
        self.source = vectors
        self.index: KeyIndex | None = None
        self.places = Places() if self.config.places else None
        self.bias = nn.Parameter(torch.zeros(self.config.classes))
        self.adopt(codes=torch.tensor([PADDING, UNKNOWN]), keys=torch.zeros(0, dtype=torch.int64))

    @classmethod
    def untrained(cls, options: BagOfWordsConfig, vectors: Callable[[], EmbeddingTable]) -> Self:
        """A model of these options; vectors are read only where the options ask for them."""
        return cls(options, vectors=vectors() if options.reads_vectors else None)

    def adopt(self, *, codes: Tensor, keys: Tensor) -> None:
        """Take the features: a code for every id of the vocabulary, and sorted keys. All weights become zero."""
        largest = int(codes.max()) if len(codes) and not codes.is_meta else 0
        if len(codes) > LARGEST or largest >= LARGEST:
            raise ModelError(expected=f"fewer than {LARGEST:,} words and clusters", got=f"{len(codes):,} words")
        self.register_buffer("codes", codes.to(torch.int64).to(self.bias.device))
        self.register_buffer("keys", keys.to(self.bias.device))
        rows = len(codes) + len(keys)
        self.weight = nn.Parameter(torch.zeros(rows, self.config.classes).to(self.bias))

    def reset_parameters(self) -> None:
        """All weights zero: the loss is convex in them, so there is nothing to draw."""
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)
        if self.places is not None:
            self.places.reset_parameters()

    def features(self, words: Tensor, before: Tensor, after: Tensor) -> Tensor:
        """The numbers of the features of positions, [..., 1 + families], 0 for what has no weight.

        `words` are ids; `before` and `after` are the codes of the neighbours, zero beyond the text.
        """
        if not self.config.features:
            return words.unsqueeze(-1)
        keys = keys_at(self.config.features, words, self.codes[words], before, after)
        if keys.device.type == "cpu":
            if self.index is None or not self.index.still_of(self.keys):
                self.index = KeyIndex.of(self.keys)
            places = torch.from_numpy(self.index.places(keys.flatten().numpy())).view(keys.shape)
        else:
            places = places_of(self.keys, keys)
        numbers = torch.where(places >= 0, places + len(self.codes), PADDING)
        return torch.cat([words.unsqueeze(-1), numbers], dim=-1)

    def score(
        self, words: Int[Tensor, "*places"], before: Int[Tensor, "*places"], after: Int[Tensor, "*places"]
    ) -> Float[Tensor, "*places classes"]:
        """What one position adds to every logit, its factor apart, [..., classes]; in float64."""
        return F.embedding(self.features(words, before, after), self.weight, padding_idx=PADDING).double().sum(dim=-2)

    def factors(self, mask: Mask) -> Float[Tensor, "texts words"]:
        """What the score of every position of [texts, words] is multiplied by; zero where there is no word.

        Their squares add up to one in every text that has words. In float64.
        """
        if self.places is not None:
            factors: Tensor = self.places(mask)
            return factors
        return mask.sum(dim=1).clamp(min=1).double().rsqrt().unsqueeze(1) * mask

    def forward(self, ids: Ids, mask: Mask | None = None) -> Logits:
        """Logits of token ids [texts, words]; `mask` is True at real words (by default, where an id is not padding).

        Weights are added up in float64 whatever they are stored in, so rounding decides nothing that is certified.
        """
        mask = ids != PADDING if mask is None else mask
        ids = ids.masked_fill(~mask, PADDING)
        before, after = neighbours(self.codes[ids])
        return (self.score(ids, before, after) * self.factors(mask).unsqueeze(-1)).sum(dim=1) + self.bias


def neighbours(codes: Ids) -> tuple[Tensor, Tensor]:
    """The codes before and after each position of [texts, words]; beyond the ends stands padding."""
    return F.pad(codes, (1, 0), value=PADDING)[:, :-1], F.pad(codes, (0, 1), value=PADDING)[:, 1:]


@logits_unpadded.register
def _unpadded(model: BagOfWords, texts: RaggedIds) -> Tensor | None:
    if has_own_forward(model, BagOfWords) or model.keys.device.type != "cpu" or model.places is not None:
        return None
    row, ids = rows_of(texts), torch.from_numpy(texts.flat).long()
    first = torch.from_numpy(texts.starts[:-1][texts.lengths > 0])
    before, after = neighbours(model.codes[ids].unsqueeze(0))
    before[0, first] = PADDING
    after[0, first[1:] - 1] = PADDING
    factors = torch.from_numpy(texts.lengths).clamp(min=1).double().rsqrt()
    added = model.score(ids, before[0], after[0]) * factors[row].unsqueeze(1)
    return torch.zeros(len(texts), model.config.classes, dtype=torch.float64).index_add(0, row, added) + model.bias


@decides_in.register
def _decides_in(model: BagOfWords) -> torch.dtype:
    return torch.float32


@words_read_by.register
def _words_read(part: BagOfWords) -> int:
    return len(part.codes)


@blueprint.register
def _blueprint(model: BagOfWords) -> dict[str, Any]:
    return bag_blueprint(model)


@read_blueprint.register(BagOfWords)
def _empty(kind: type[BagOfWords], plan: dict[str, Any]) -> BagOfWords:
    model: BagOfWords = empty_bag(kind, plan)
    return model


@check_arrays.register
def _check_arrays(model: BagOfWords, weights: Mapping[str, Tensor], prefix: str) -> Iterator[Fault]:
    yield from faults_of_codes(f"{prefix}codes", weights, below=LARGEST)
    keys = weights[f"{prefix}keys"]
    yield from faults_of_keys(f"{prefix}keys", keys, _known_keys(model, keys))
    if bool((weights[f"{prefix}weight"][:1] != 0).any()):
        yield f"zeros in the first row of {prefix}weight, which is padding", "other numbers"
    for name in (f"{prefix}places.start", f"{prefix}places.end") if model.places is not None else ():
        largest = float(weights[name].abs().amax())
        if largest > LARGEST_EXPONENT:
            yield f"numbers of at most {LARGEST_EXPONENT:g} in {name}", f"{largest:.3g}"


def _known_keys(model: BagOfWords, keys: Tensor) -> Tensor:
    """Which keys are of a family that the model counts and, where that reads a word, of a word that it knows."""
    family, word = keys >> 3 * BITS, keys >> 2 * BITS & LARGEST - 1
    known = torch.zeros_like(keys, dtype=torch.bool)
    for name in model.config.features:
        reads_word = name not in OF_CODES_ALONE
        known |= (family == FAMILIES.index(name)) & ((word < len(model.codes)) | (not reads_word))
    return known
