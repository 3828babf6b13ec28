"""The windows of a TextCNN: the exact range of every pre-activation over all substitutions, and what each swap adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgbt.certify.lines import Box
from sgbt.certify.specification import Specification
from sgbt.certify.word_tables import Images, Placed, WordTables
from sgbt.core.shapes import Bool, Float, Int
from sgbt.models import TextCNN

WORDS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class WordBlock:
    """Some distinct words that occur equally often, at places `start` to `stop` of the order, all of one word together.

    `entries` [words, choices] says where the images of their choices stand, the word's own first.
    """

    start: int
    stop: int
    entries: Tensor


@dataclass(frozen=True, eq=False)
class RepeatedWords:
    """The replaceable words of a batch, ordered by how often they occur, then by how many substitutes they have."""

    spec: Specification
    placed: Placed

    @cached_property
    def entries(self) -> Tensor:
        """Where the images of every choice stand, [texts, words, choices]; the word's own first."""
        slots = self.spec.ids.shape[2]
        return F.embedding(self.placed.places, self.placed.words.choices[:, :slots])

    @property
    def order(self) -> Tensor:
        """The numbers of the replaceable words (`AllowedSwaps.spots`) in that order."""
        return self._ordered[0]

    @property
    def most(self) -> int:
        """The greatest number of choices of a word."""
        return max(block.entries.shape[1] for block in self.blocks)

    @cached_property
    def blocks(self) -> list[WordBlock]:
        """All of them, a few distinct words at a time."""
        return list(self._blocks())

    @cached_property
    def _ordered(self) -> tuple[Tensor, Tensor, Tensor]:
        """The order, how often the word at each place of it occurs, and its last substitute."""
        swaps = self.spec.swaps
        sets = self.placed.places[swaps.spots[:, 0], swaps.spots[:, 1]]
        _, word, occurrences = torch.unique(sets, return_inverse=True, return_counts=True)
        slots = torch.arange(1, swaps.taken.shape[1] + 1, device=sets.device)
        # places of one word may allow different slots, where those in between stand for the word itself
        last = torch.zeros_like(occurrences).scatter_reduce(0, word, (swaps.taken * slots).amax(dim=1), "amax")[word]
        times = occurrences[word]
        order = ((times * (len(slots) + 1) + last) * len(occurrences) + word).argsort()
        return order, times[order], last[order]

    def _blocks(self) -> Iterator[WordBlock]:
        order, times, last = self._ordered
        spots = self.spec.swaps.spots[order]
        start = 0
        for occurrences, places in zip(*torch.unique_consecutive(times, return_counts=True), strict=True):
            step, end = int(occurrences), start + int(places)
            while start < end:
                stop = min(start + WORDS_AT_ONCE * step, end)
                chosen = spots[start:stop:step]
                slots = int(last[stop - 1])
                yield WordBlock(start, stop, self.entries[chosen[:, 0], chosen[:, 1], : slots + 1])
                start = stop


@dataclass(frozen=True, eq=False)
class WindowBoxes:
    """The windows of one width `size`: their pre-activations are [texts, windows, filters].

    A window's pre-activation is affine in its words, so its box is exact: the ends of its words' images added up.
    An image holds what a word adds at each offset, [size, filters] after one another.
    """

    spec: Specification
    placed: Placed
    words: RepeatedWords
    images: Images
    bias: Float[Tensor, " filters"]
    size: int

    @property
    def texts(self) -> int:
        """The number of texts."""
        return self.placed.places.shape[0]

    @property
    def count(self) -> int:
        """The number of windows of the longest text."""
        return self.placed.places.shape[1] - self.size + 1

    @property
    def filters(self) -> int:
        """The number of filters."""
        return len(self.bias)

    @cached_property
    def counts(self) -> Int[Tensor, "texts 1"]:
        """The number of windows of each text, [texts, 1]."""
        return (self.spec.lengths - self.size + 1).clamp(min=1).unsqueeze(1)

    @cached_property
    def real(self) -> Bool[Tensor, "texts windows 1"]:
        """Which windows exist, [texts, windows, 1]."""
        return (torch.arange(self.count, device=self.counts.device) < self.counts).unsqueeze(-1)

    @cached_property
    def clean(self) -> Float[Tensor, "texts windows filters"]:
        """The pre-activations of the texts themselves."""
        return self._summed(self.images.own)

    @cached_property
    def ends(self) -> tuple[Tensor, Tensor]:
        """The least and the greatest pre-activations."""
        budget = self.spec.budget
        if budget is None or budget >= self.size:
            return self._summed(self.images.low), self._summed(self.images.high)
        least, greatest = self.clean.clone(), self.clean.clone()
        for fall in self._worst(self.images.low, budget):
            least += fall
        for rise in self._worst(self.images.high, budget):
            greatest -= rise
        return least, greatest

    @cached_property
    def box(self) -> Box:
        """Ends and the texts' own values; rounding shall not put those outside."""
        return Box.around(self.clean, *self.ends)

    def gains(
        self,
        coefficients: Float[Tensor, "texts rivals windows filters"],
        radii: Float[Tensor, "texts rivals windows filters"] | None = None,
    ) -> Float[Tensor, "swaps rivals"]:
        """What each swap adds to sum_{t,f} coefficients z_{t,f}, [swaps, rivals], at least.

        `coefficients` is [texts, rivals, windows, filters]. With `radii`, the coefficients are only known to lie within
        that distance of it, and the least value over them is taken. The moves of words, [words, slots, size * filters],
        are made for a few words at a time, so that they stay in the processor's cache.
        """
        swaps = self.spec.swaps
        if not len(swaps):
            return coefficients.new_zeros(0, coefficients.shape[1])
        words, values = self.words, self.images.values
        near, loose = (
            None if each is None else self._near(each, swaps.spots[words.order]) for each in (coefficients, radii)
        )
        assert near is not None
        ordered = near.new_zeros(*swaps.taken.shape, coefficients.shape[1])
        room = values.new_empty(WORDS_AT_ONCE * words.most, values.shape[1])  # getting memory anew would cost a third
        for block in words.blocks:
            count, choices = block.entries.shape
            images = torch.index_select(values, 0, block.entries.flatten(), out=room[: count * choices])
            moved = images.view(count, choices, -1)[:, 1:]
            moved -= images.view(count, choices, -1)[:, :1]
            part = slice(block.start, block.stop)  # the coefficients of all places of a word stand together
            found = torch.bmm(near[part].reshape(count, -1, near.shape[2]), moved.transpose(1, 2))
            if loose is not None:
                found -= torch.bmm(loose[part].reshape(count, -1, near.shape[2]), moved.abs_().transpose(1, 2))
            ordered[part, : choices - 1] = found.view(-1, near.shape[1], choices - 1).transpose(1, 2)
        total = torch.empty_like(ordered).index_copy_(0, words.order, ordered)
        gains = total[swaps.taken]
        return gains if self.spec.scale == 1.0 else gains.mul_(self.spec.scale)

    def gains_of_one(
        self, window: Int[Tensor, "texts filters"], coefficients: Float[Tensor, "texts rivals filters"]
    ) -> Float[Tensor, "swaps rivals"]:
        """What each swap adds to sum_f coefficients_f z_{window_f, f}: of one window per filter, [swaps, rivals].

        `window` is [texts, filters], `coefficients` [texts, rivals, filters]. Only the few words in those windows move
        it, so nothing is spent on the others.
        """
        swaps, offsets = self.spec.swaps, torch.arange(self.size, device=window.device)
        place = window.unsqueeze(2) + offsets  # [texts, filters, size]
        texts = torch.arange(self.texts, device=window.device).view(-1, 1, 1)
        entries = self.words.entries[texts, place]  # [texts, filters, size, slots]
        filters = torch.arange(self.filters, device=window.device).view(1, -1, 1, 1)
        values = self.images.values.view(-1).take(
            (entries * self.size + offsets.view(1, 1, -1, 1)) * self.filters + filters
        )
        moved = (values - values[..., :1]) * self.spec.scale
        words, slots = self.placed.places.shape[1], entries.shape[3]
        spot = (place + texts * words).unsqueeze(3) * slots + torch.arange(slots, device=window.device)
        wanted = (swaps.text * words + swaps.place) * slots + swaps.slot
        gained = []
        for coefficient in coefficients.unbind(dim=1):
            part = (coefficient[:, :, None, None] * moved).flatten()
            gained.append(moved.new_zeros(self.texts * words * slots).scatter_add_(0, spot.flatten(), part)[wanted])
        return torch.stack(gained, dim=1)

    def _near(
        self, coefficients: Float[Tensor, "texts rivals windows filters"], spots: Int[Tensor, "spots 2"]
    ) -> Float[Tensor, "spots rivals numbers"]:
        """The coefficients of the windows that hold each of some words, [spots, rivals, size * filters]."""
        margin = self.size - 1
        rivals = coefficients.shape[1]
        rows = F.pad(coefficients.transpose(1, 2), (0, 0, 0, 0, margin, margin)).flatten(0, 1).flatten(1)
        first = spots[:, 0] * (self.count + 2 * margin) + spots[:, 1] + margin
        windows = first.unsqueeze(1) - torch.arange(self.size, device=first.device)
        near = rows.index_select(0, windows.flatten()).view(len(spots), self.size, rivals, self.filters)
        return near.transpose(1, 2).flatten(2)

    def _summed(self, entry: Int[Tensor, " sets"]) -> Float[Tensor, "texts windows filters"]:
        """The sums over windows of the images that `entry` [sets] names, with the bias."""
        first = (entry[self.placed.places] * self.size).unfold(1, self.size, 1)
        bags = (first + torch.arange(self.size, device=entry.device)).flatten(0, 1)
        total = F.embedding_bag(bags, self.images.values.view(-1, self.filters), mode="sum")
        return total.add_(self.bias).view(self.texts, self.count, self.filters)

    def _worst(self, entry: Tensor, budget: int) -> list[Tensor]:
        """The `budget` largest distances between the words of a window and what `entry` names, as falls."""
        values, places = self.images.values.view(-1, self.filters), self.placed.places
        worst: list[Tensor] = []
        for offset in range(self.size):
            sets = places[:, offset : offset + self.count]
            own, end = (F.embedding(each[sets] * self.size + offset, values) for each in (self.images.own, entry))
            fall = end.sub_(own) if entry is self.images.low else own.sub_(end)
            for rank, kept in enumerate(worst):  # insertion into a sorted list
                worst[rank], fall = torch.minimum(kept, fall), torch.maximum(kept, fall)
            if len(worst) < budget:
                worst.append(fall)
        return worst


def window_boxes(model: TextCNN, spec: Specification, tables: WordTables) -> list[WindowBoxes]:
    """The windows of every width of `model`, which must be in float64."""
    placed = tables.place(model, spec, least=max(model.config.kernel_sizes))
    found, words = [], RepeatedWords(spec, placed)
    for number, layer in enumerate(model.convolutions):
        assert isinstance(layer, nn.Conv1d)
        assert layer.bias is not None
        weight = layer.weight.permute(2, 0, 1).flatten(0, 1)
        images = placed.images(str(number), weight)
        found.append(WindowBoxes(spec, placed, words, images, layer.bias, layer.kernel_size[0]))
    return found
