"""Blocks of texts with their features looked up once, so that a step of a linear model is a few gathers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgbt.data import RaggedIds
from sgbt.models.bag_of_words.features import OF_CODES_ALONE
from sgbt.models.bag_of_words.model import BagOfWords
from sgbt.models.bag_of_words.options import PositionKinds, PositionOptions, RowSets
from sgbt.models.bag_of_words.positions import ZONES, Places, zone_of
from sgbt.models.bag_of_words.tables import Options
from sgbt.models.worst_case import Margins


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Positions with equally many options.

    `features` [kinds, options, features] has them all, the text itself first; where they are not listed, it is the
    places of the kinds in `Piece.unlisted`. Positions of one kind have the same options, so that the worst of them is
    found once. `kind` says which kind each position is of; where few positions are of one kind, each is listed by
    itself, and it is None. `zone` numbers the zones of all texts of the piece, one text after the other.
    """

    features: Tensor
    kind: Tensor | None
    zone: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Texts that share a label: the features that cannot be changed, each with its zone, and the cells that can.

    `rows` says which texts of the corpus these are. `words` [texts, zones] says how many words each has in every zone
    (`sgbt.models.bag_of_words.positions`); where places do not count, a text is one zone.
    """

    label: int
    rows: Tensor
    words: Tensor
    fixed: Tensor
    fixed_zone: Tensor
    cells: tuple[Cells, ...]
    options: Options | None = None
    """Those of positions around ambiguous words, where they are too many to list; other pieces share them."""
    unlisted: Tensor | None = None
    """The numbers of this piece's kinds in `options`."""


def margins(
    piece: Piece, weight: Tensor, bias: Tensor, places: Places | None = None, *, clean: bool, worst: bool
) -> Margins:
    """The margins of a piece; gradients flow through those that are asked for.

    The worst options are picked without a gradient: that of a maximum is that of whatever attains it (Danskin), so
    only the chosen features are ever differentiated.
    """
    columns: tuple[list[Tensor], list[Tensor]] = ([], [])
    texts, zones = len(piece.rows), piece.words.numel()
    share = piece.words.clamp(min=1).double().rsqrt() if places is None else places.factors_of(piece.words)
    factors = share.to(weight.dtype)
    for rival in range(weight.shape[1]):
        if rival == piece.label:
            for column in columns:
                column.append(weight.new_zeros(texts))
            continue
        difference = weight[:, rival] - weight[:, piece.label]
        offset = bias[rival] - bias[piece.label]
        fixed = _sums(difference, piece.fixed, piece.fixed_zone, zones)
        for column, wanted, at_worst in zip(columns, (clean, worst), (False, True), strict=True):
            with torch.set_grad_enabled(wanted and torch.is_grad_enabled()):
                total = fixed
                found = _found(piece, difference if at_worst and wanted else None)
                for cells in piece.cells:
                    if cells.features.dim() == 1:
                        chosen = found[cells.features]
                    else:
                        chosen = _worst(difference, cells.features) if at_worst else cells.features[:, 0]
                    chosen = chosen if cells.kind is None else chosen[cells.kind]
                    zone = cells.zone.repeat_interleave(chosen.shape[1])
                    total = total + _sums(difference, chosen.flatten(), zone, zones)
                column.append((total.view_as(factors) * factors).sum(dim=1) + offset)
    return Margins(*(torch.stack(column, dim=1) for column in columns))


def _found(piece: Piece, difference: Tensor | None) -> Tensor:
    """The features of every kind whose options are not listed: of the text itself, or the worst by this difference."""
    if piece.options is None or piece.unlisted is None:
        return torch.zeros(0, 0, dtype=torch.int32)
    if difference is None:
        return piece.options.original(piece.unlisted)
    return piece.options.worst(piece.unlisted, difference)


@torch.no_grad()
def _worst(difference: Tensor, features: Tensor) -> Tensor:
    kinds, options, width = features.shape
    scores = difference.index_select(0, features.flatten()).view(kinds, options, width).sum(dim=2)
    return features[torch.arange(kinds), scores.argmax(dim=1)]


class _Sums(torch.autograd.Function):
    """The sum of `values[index]` over each zone; number 0 stands for no feature and is left out of the gradient."""

    @staticmethod
    def forward(context: Any, values: Tensor, index: Tensor, zone: Tensor, zones: int) -> Tensor:
        context.save_for_backward(index, zone)
        context.size = len(values)
        return values.new_zeros(zones).index_add_(0, zone, values.index_select(0, index))

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        index, zone = context.saved_tensors
        (gradient,) = gradients
        total = gradient.new_zeros(context.size).index_add_(0, index, gradient.index_select(0, zone))
        total[0] = 0
        return total, None, None, None


def _sums(values: Tensor, index: Tensor, zone: Tensor, zones: int) -> Tensor:
    apply: Callable[..., Tensor] = _Sums.apply  # torch gives it no types
    return apply(values, index, zone, zones)


def pieces(
    model: BagOfWords,
    texts: RaggedIds,
    labels: np.ndarray,
    rows: np.ndarray,
    sets: RowSets,
    *,
    options: Options | None = None,
) -> Iterator[Piece]:
    """The given texts of a corpus, one piece for each label.

    The options of positions around ambiguous words are listed one by one, or taken from `options` (`options_of`) where
    that needs too much memory; margins are the same.
    """
    for label in np.unique(labels[rows]):
        chosen = rows[labels[rows] == label]
        yield _piece(model, texts, chosen, int(label), sets, options)


def options_of(model: BagOfWords, texts: RaggedIds, sets: RowSets) -> Options:
    """The options of all positions around ambiguous words in a corpus, as tables."""
    flat, _, first = positions_of(texts, np.arange(len(texts)))
    kinds = PositionKinds.of(flat, first, sets, alone=not model.config.features)
    return Options.of(model, kinds.chosen((~kinds.calm(sets)).nonzero().squeeze(1)), sets)


def positions_of(texts: RaggedIds, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
    """The words of the given texts in a row, the text of each (from zero), and where a text begins."""
    lengths = texts.lengths[rows]
    flat = np.concatenate([texts[row] for row in rows]) if len(rows) else np.zeros(0, np.int64)
    text = torch.from_numpy(np.repeat(np.arange(len(rows)), lengths))
    first = torch.ones_like(text, dtype=torch.bool)
    first[1:] = text[1:] != text[:-1]
    return torch.from_numpy(flat.astype(np.int64)), text, first


def _piece(
    model: BagOfWords, texts: RaggedIds, rows: np.ndarray, label: int, sets: RowSets, unlisted: Options | None
) -> Piece:
    flat, text, first = positions_of(texts, rows)
    kinds = PositionKinds.of(flat, first, sets, alone=not model.config.features)
    words, zone = _zones(model, texts.lengths[rows], text, first)
    of_codes = torch.tensor([False, *(name in OF_CODES_ALONE for name in model.config.features)])
    widths = kinds.widths(sets)
    calm = kinds.calm(sets)
    single, apart = widths == 1, calm & (widths > 1)
    here = torch.ones_like(calm) if unlisted is None else calm
    options = PositionOptions.of(kinds.chosen(here.nonzero().squeeze(1)), sets)
    features = model.features(options.words, options.before, options.after).to(torch.int32)
    starts = torch.zeros_like(widths).masked_scatter(here, options.starts)
    fixed = [_fixed(features, starts, single, kinds, zone), _fixed(features[:, of_codes], starts, apart, kinds, zone)]
    cells = [*_cells(features[:, ~of_codes], starts, widths, apart, kinds, zone)]
    numbers = None
    if unlisted is None:
        cells += _cells(features, starts, widths, ~calm, kinds, zone)
    else:
        numbers = unlisted.numbers(kinds.chosen((~calm).nonzero().squeeze(1)), sets)
        cells += _cells(None, (~calm).cumsum(0) - 1, widths, ~calm, kinds, zone)
    return Piece(
        label=label,
        rows=torch.from_numpy(rows),
        words=words,
        fixed=torch.cat([index for index, _ in fixed]),
        fixed_zone=torch.cat([where for _, where in fixed]),
        cells=tuple(cells),
        options=unlisted,
        unlisted=numbers,
    )


def _zones(model: BagOfWords, lengths: np.ndarray, text: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """How many words each text has in every zone, and the zone of every position, numbered over all texts."""
    own, zones = torch.zeros_like(text), 1
    if model.places is not None:
        starts = first.nonzero().squeeze(1)[first.cumsum(0) - 1]
        own, zones = zone_of(torch.arange(len(text)) - starts, torch.from_numpy(lengths)[text]), ZONES
    zone = text * zones + own
    return torch.bincount(zone, minlength=len(lengths) * zones).view(-1, zones), zone.to(torch.int32)


def _fixed(
    features: Tensor, starts: Tensor, which: Tensor, kinds: PositionKinds, zone: Tensor
) -> tuple[Tensor, Tensor]:
    """The features that positions of the given kinds have whatever is replaced, and the zone of each."""
    places = which[kinds.of_position]
    own = features[starts[kinds.of_position[places]]]
    listed = own != 0
    return own[listed], zone[places].unsqueeze(1).expand_as(own)[listed]


def _cells(
    features: Tensor | None, starts: Tensor, widths: Tensor, which: Tensor, kinds: PositionKinds, zone: Tensor
) -> Iterator[Cells]:
    """The positions of the given kinds; without features, `starts` are the places of the kinds."""
    number = torch.zeros_like(widths)
    for width in widths[which].unique().tolist():
        alike = which & (widths == width)
        chosen, places = alike.nonzero().squeeze(1), alike[kinds.of_position].nonzero().squeeze(1)
        number[chosen] = torch.arange(len(chosen))
        kind: Tensor | None = number[kinds.of_position[places]].to(torch.int32)
        if 2 * len(chosen) > len(places):  # looking up what was found once would cost more than finding it again
            chosen, kind = kinds.of_position[places], None
        if features is None:
            yield Cells(starts[chosen].to(torch.int32), kind, zone[places])
            continue
        slots = starts[chosen].unsqueeze(1) + torch.arange(width)
        yield Cells(features[slots], kind, zone[places])
