"""BagOfNgrams: one weight for every n-gram of up to four cluster ids in a text, by presence, not frequency."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from sgbt.core.errors import ModelError
from sgbt.core.shapes import Int
from sgbt.data import RaggedIds
from sgbt.embeddings import EmbeddingTable
from sgbt.models.arrays import Fault, check_arrays, faults_of_codes, faults_of_keys
from sgbt.models.bag_of_words.features import places_of
from sgbt.models.blueprint import bag_blueprint, blueprint, empty_bag, read_blueprint, words_read_by
from sgbt.models.deciding import decides_in, has_own_forward, logits_unpadded, rows_of
from sgbt.models.key_index import NOTHING, RunIndex
from sgbt.models.shapes import Ids, Logits, Mask
from sgbt.threats.vocabulary import PADDING, UNKNOWN

BITS = 15
LARGEST = 1 << BITS
"""Codes must be fewer than this, so that four of them fit into one 64-bit key."""
LONGEST = 4
AT_THE_END = 1 << (LONGEST * BITS)
"""What is added to the key of a run that stands among the last words."""
MOST_LAST_WORDS = 50_000
MAP_SHIFT = LONGEST * BITS + 1
MOST_MAPS = 4
"""The two highest bits of a key say by which map from words to codes the run was read."""


@dataclass(frozen=True, slots=True)
class BagOfNgramsConfig:
    """What makes one BagOfNgrams differ from another."""

    classes: int = 2
    longest: int = 4
    """The longest n-gram."""
    minimum_count: int = 2
    """How often an n-gram must occur in train, substitutes counted, to have a weight."""
    resolution: float = 3.0
    """Resolution of the clusters: the larger, the smaller the clusters (`sgbt.threats.codes.community_codes`)."""
    more_resolutions: tuple[float, ...] = ()
    """Resolutions of further clusterings: a text has the n-grams of each of them."""
    label_weight: float = 0.0
    """How much clusters keep words apart that train has in texts of different labels
    (`sgbt.threats.labelled_communities`); zero: clusters are of links alone."""
    distinction: float = 0.0
    """Above zero, the clusters of the first map leave few words ambiguous and tell much of the label, and this is how
    much they distinguish words (`sgbt.threats.synonym_clusters`); `resolution` then says nothing."""
    prior: float = 3.0
    """Pseudo-counts: in how many texts of every class each n-gram is counted beforehand, when features are chosen."""
    ending: int = 0
    """An n-gram among this many last words of a text is a second feature, in addition to the n-gram itself."""

    def __post_init__(self) -> None:
        given: object = self.more_resolutions
        if isinstance(given, list):  # JSON and TOML have lists
            given = tuple(given)
            object.__setattr__(self, "more_resolutions", given)
        if not isinstance(given, tuple) or len(given) >= MOST_MAPS:
            raise ModelError(
                expected=f"a list of at most {MOST_MAPS - 1} numbers", got=repr(given), where="more_resolutions"
            )
        counts = self.classes >= 2 and self.minimum_count >= 1 and 1 <= self.longest <= LONGEST
        above_zero = (*self.resolutions, self.prior)
        real = all(isinstance(each, int | float) and 0 < each < math.inf for each in above_zero)
        weights = (self.label_weight, self.distinction)
        weighed = all(isinstance(each, int | float) and 0 <= each < math.inf for each in weights)
        if not counts or not real or not weighed or self._odd_ending:
            raise ModelError(
                expected=f"two classes, minimum_count of 1, longest from 1 to {LONGEST}, resolutions and prior above 0,"
                f" label_weight and distinction of at least 0, ending a whole number from 0 to {MOST_LAST_WORDS:,}",
                got=str(self),
            )

    @property
    def _odd_ending(self) -> bool:
        return type(self.ending) is not int or not 0 <= self.ending <= MOST_LAST_WORDS

    @property
    def resolutions(self) -> tuple[float, ...]:
        """Of every map from words to codes."""
        return (self.resolution, *self.more_resolutions)

    @property
    def reads_vectors(self) -> bool:
        """Whether word vectors are needed to train such a model."""
        return False


class BagOfNgrams(nn.Module):
    """Logits = bias + the sum of weight[n] over the distinct n-grams n of 1 to `longest` cluster ids in a text.

    With the option `ending`, n-grams among the last words of a text add a second weight: the end of a review carries
    most of its opinion, and substitutions keep positions.

    N-grams that are rare in train have weight zero; `keys` lists the others, sorted. In the code, the id of a word's
    cluster is its code, and an n-gram of codes is a run. Features are binary, because presence predicts labels better
    than counts. No substitution within a cluster changes an n-gram; for ambiguous words, whose substitutes lie in
    several clusters, `sgbt.models.bag_of_ngrams.worst_case` bounds the change.
    """

    kind = "grams"
    Options = BagOfNgramsConfig
    keys: Tensor
    codes: Tensor

    def __init__(
        self, config: BagOfNgramsConfig | None = None, *, vectors: EmbeddingTable | None = None, **options: Any
    ) -> None:
        """An untrained model, by the fields of `BagOfNgramsConfig`; `vectors` are for training alone."""
        super().__init__()
        self.config = replace(config or BagOfNgramsConfig(), **options)
        self.source = vectors
        self.index: RunIndex | None = None
        self.bias = nn.Parameter(torch.zeros(self.config.classes))
        self.adopt(codes=torch.tensor([PADDING, UNKNOWN]), keys=torch.zeros(0, dtype=torch.int64))

    @classmethod
    def untrained(cls, options: BagOfNgramsConfig, vectors: Callable[[], EmbeddingTable]) -> Self:
        """A model of these options, which reads no vectors."""
        return cls(options)

    def adopt(self, *, codes: Tensor, keys: Tensor) -> None:
        """Take the features: a code for every id of the vocabulary [ids], or [maps, ids] of several maps, and sorted
        keys. All weights become zero.

        Codes of `LARGEST` and more are read as the unknown one: any map from words to codes is sound.
        """
        codes = codes.to(torch.int64).masked_fill(codes >= LARGEST, UNKNOWN)
        self.register_buffer("codes", codes.to(self.bias.device))
        self.register_buffer("keys", keys.to(self.bias.device))
        self.weight = nn.Parameter(torch.zeros(len(keys), self.config.classes).to(self.bias))

    def reset_parameters(self) -> None:
        """All weights zero: the loss is convex, so there is nothing to draw."""
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, ids: Ids, mask: Mask | None = None) -> Logits:
        """Logits of token ids [texts, words]; `mask` is True at real words (by default, where an id is not padding).

        Weights are added up in float64 whatever they are stored in, so rounding decides nothing that is certified.
        """
        mask = ids != PADDING if mask is None else mask
        ending = last_words(mask, self.config.ending)
        total = torch.zeros(len(ids), self.config.classes, dtype=torch.float64, device=self.weight.device)
        for number, codes in enumerate(self.maps):
            text, keys = distinct_runs(codes[ids].masked_fill(~mask, PADDING), self.config.longest, ending)
            places = places_of(self.keys, keys | number << MAP_SHIFT)
            listed = places >= 0
            total = total.index_add(0, text[listed], self.weight[places[listed]].double())
        return total + self.bias

    @property
    def maps(self) -> Int[Tensor, "maps ids"]:
        """Every map from words to codes, [maps, ids]."""
        return self.codes if self.codes.dim() == 2 else self.codes.unsqueeze(0)


def last_words(mask: Mask, count: int) -> Tensor:
    """Where the last `count` words of each text of [texts, words] stand."""
    behind = mask.flip(1).cumsum(dim=1).flip(1)  # words from here to the end
    return mask & (behind <= count)


def distinct_runs(codes: Tensor, longest: int, ending: Tensor) -> tuple[Tensor, Tensor]:
    """Every different run of 1 to `longest` codes that each text of [texts, words] has: its text, and its key.

    The key of a run is one whole number. Codes of real words are not zero, so different runs have different keys; a run
    that reaches a zero is none. A run that begins where `ending` is true is also listed with the key of that place.
    """
    runs = _keys_of_runs(codes, longest)
    if bool(ending.any()):
        runs += [torch.where(ending[:, : keys.shape[1]] & (keys > 0), keys | AT_THE_END, 0) for keys in runs]
    keys = torch.cat(runs, dim=1).sort(dim=1).values
    fresh = keys != 0
    fresh[:, 1:] &= keys[:, 1:] != keys[:, :-1]
    return fresh.nonzero(as_tuple=True)[0], keys[fresh]


def _keys_of_runs(codes: Tensor, longest: int) -> list[Tensor]:
    """The keys of all runs of 1, 2, ... codes, each [texts, words - length + 1]; zero for those that are none."""
    keys, found = codes, [codes]
    for length in range(2, min(longest, codes.shape[1]) + 1):
        last = codes[:, length - 1 :]
        before = keys[:, : last.shape[1]]
        keys = torch.where((before > 0) & (last > 0), before << BITS | last, 0)
        found.append(keys)
    return found


@logits_unpadded.register
def _unpadded(model: BagOfNgrams, texts: RaggedIds) -> Tensor | None:
    """Runs are looked up first, and only those listed are sorted, so that each counts once in its text.

    A run is looked up only if its beginning is that of a listed one, which most are not.
    """
    if has_own_forward(model, BagOfNgrams) or model.keys.device.type != "cpu":
        return None
    if model.index is None or not model.index.still_of(model.keys):
        model.index = RunIndex.of(model.keys, _beginnings(model.keys))
    row = rows_of(texts).numpy()
    behind = texts.starts[1:][row] - np.arange(len(row))  # words from here to the end
    found = []
    for number, codes in enumerate(model.maps.numpy()):
        own = codes[texts.flat]
        at, runs, of_map = np.arange(len(own)), own, number << MAP_SHIFT
        for length in range(1, model.config.longest + 1):
            if length > 1:
                whole = behind[at] >= length
                at, runs = at[whole], runs[whole]
                runs = runs << BITS | own[at + (length - 1)]
            places = model.index.places(runs | of_map)
            found.append(_listed(row[at], places, len(model.keys)))
            at, runs = at[places != NOTHING], runs[places != NOTHING]
            if model.config.ending:
                last = behind[at] <= model.config.ending
                places = model.index.places(runs[last] | AT_THE_END | of_map)
                found.append(_listed(row[at[last]], places, len(model.keys)))
    distinct = torch.from_numpy(_distinct(np.concatenate(found)))
    total = torch.zeros(len(texts), model.config.classes, dtype=torch.float64)
    if len(distinct):
        weights = model.weight[distinct % len(model.keys)].double()
        total = total.index_add(0, distinct // len(model.keys), weights)
    return total + model.bias


def _beginnings(keys: Tensor) -> Tensor:
    """The runs that listed ones begin with; one that ends a text begins with itself, wherever else it may stand."""
    maps, runs = keys >> MAP_SHIFT << MAP_SHIFT, keys & (AT_THE_END - 1)
    found = [(maps | runs)[keys & AT_THE_END != 0]]
    for _ in range(LONGEST - 1):
        maps, runs = maps[runs >= LARGEST], runs[runs >= LARGEST] >> BITS
        found.append(maps | runs)
    return torch.cat(found)


def _listed(row: np.ndarray, places: np.ndarray, features: int) -> np.ndarray:
    """One number for each text and listed run."""
    listed = np.flatnonzero(places >= 0)
    found: np.ndarray = row[listed] * features + places[listed]
    return found


def _distinct(numbers: np.ndarray) -> np.ndarray:
    numbers.sort()
    fresh = np.ones(len(numbers), dtype=bool)
    fresh[1:] = numbers[1:] != numbers[:-1]
    return numbers[fresh]


@decides_in.register
def _decides_in(model: BagOfNgrams) -> torch.dtype:
    return torch.float32


@words_read_by.register
def _words_read(part: BagOfNgrams) -> int:
    return int(part.codes.shape[-1])


@blueprint.register
def _blueprint(model: BagOfNgrams) -> dict[str, Any]:
    return bag_blueprint(model)


@read_blueprint.register(BagOfNgrams)
def _empty(kind: type[BagOfNgrams], plan: dict[str, Any]) -> BagOfNgrams:
    model: BagOfNgrams = empty_bag(kind, plan)
    return model


@check_arrays.register
def _check_arrays(model: BagOfNgrams, weights: Mapping[str, Tensor], prefix: str) -> Iterator[Fault]:
    yield from faults_of_codes(f"{prefix}codes", weights, below=LARGEST)
    keys = weights[f"{prefix}keys"]
    yield from faults_of_keys(f"{prefix}keys", keys, _known_keys(model, keys))


def _known_keys(model: BagOfNgrams, keys: Tensor) -> Tensor:
    """Which keys are of a map that there is, of 1 to `longest` codes that are not zero, and of an end that counts."""
    length = torch.zeros_like(keys)
    for place in range(LONGEST):
        code = keys >> place * BITS & LARGEST - 1
        length += (code > 0) & (length == place)
    above = keys >> LONGEST * BITS  # the codes gone: whether it is of the end, and its map
    whole = keys & (1 << LONGEST * BITS) - 1 < 1 << length * BITS
    counted = whole & (length <= model.config.longest) & ((above & 1 == 0) | (model.config.ending > 0))
    return counted & (length > 0) & (keys > 0) & (above >> 1 < len(model.config.resolutions))
