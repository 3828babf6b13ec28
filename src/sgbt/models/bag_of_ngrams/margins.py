"""The n-grams of codes of a corpus, looked up once, and the margins that weights give its texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sgbt.core.errors import TrainingError
from sgbt.data import RaggedIds
from sgbt.data.batches import pad
from sgbt.models.bag_of_ngrams.cells import least_entries
from sgbt.models.bag_of_ngrams.credits import credited
from sgbt.models.bag_of_ngrams.options import MOST, GramOptions, TooManyRunsError
from sgbt.models.bag_of_words.features import places_of
from sgbt.models.bag_of_words.options import RowSets
from sgbt.models.worst_case import Margins

POSITIONS = 1 << 18
"""Words whose runs are found at once."""
MOST_ENTRIES = 40_000_000
"""N-grams that substitution can bring to all texts of a corpus together; more do not fit into memory."""
PIECES = (MOST, 64, 1)
"""Options of a cell beyond which it is cut into pieces, one after the other until all fits."""


OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class LabelGrams:
    """The texts of one label, with features (places in the sorted keys) in place of the keys of `GramOptions`."""

    label: int
    texts: int
    fixed: Tensor
    fixed_text: Tensor
    run: Tensor
    run_holders: Tensor
    entry_option: Tensor
    entry_run: Tensor
    option_cell: Tensor
    cell_text: Tensor
    first: Tensor
    """The option of every cell that is the text itself."""

    def document_counts(self, features: int) -> Tensor:
        """How many texts have each feature; the options of a cell share one text among them."""
        sizes = torch.bincount(self.option_cell, minlength=len(self.cell_text)).double()
        shares = (1 / sizes[self.option_cell])[self.entry_option]
        fixed = torch.bincount(self.fixed, minlength=features).double()
        return fixed + torch.bincount(self.run[self.entry_run], weights=shares, minlength=features)

    def margins(self, weight: Tensor, bias: Tensor, *, smooth: float = 0.0) -> Margins:
        """(logit k - logit of the label): of the texts themselves, and at most over all substitutions.

        A run that several cells can hold is credited as in the worst case, also in the texts themselves: the accuracy
        reported while training may differ from the model's by a few texts. Cells of too many options are in pieces
        (`GramOptions`), so the worst case of a text that has one lies above that of its certificate.

        `smooth` replaces the greatest option of a cell by a log-sum-exp at this temperature, which lies above it.
        """
        columns: tuple[list[Tensor], list[Tensor]] = ([], [])
        for rival in range(weight.shape[1]):
            if rival == self.label:
                for column in columns:
                    column.append(weight.new_zeros(self.texts))
                continue
            difference = weight[:, rival] - weight[:, self.label]
            values = difference.index_select(0, self.fixed)
            fixed = values.new_zeros(self.texts).index_add(0, self.fixed_text, values) + bias[rival] - bias[self.label]
            runs = credited(difference.index_select(0, self.run), self.run_holders)
            entries = runs.index_select(0, self.entry_run)
            options = fixed.new_zeros(len(self.option_cell)).index_add(0, self.entry_option, entries)
            worst = self._greatest(options, smooth)
            for column, cells in zip(columns, (options[self.first], worst), strict=True):
                column.append(fixed.index_add(0, self.cell_text, cells))
        return Margins(*(torch.stack(column, dim=1) for column in columns))

    def _greatest(self, options: Tensor, smooth: float) -> Tensor:
        cells = options.new_full((len(self.cell_text),), -torch.inf)
        greatest = cells.scatter_reduce(0, self.option_cell, options, "amax")
        if not smooth:
            return greatest
        greatest = greatest.detach()
        above = torch.exp((options - greatest[self.option_cell]) / smooth)
        return greatest + smooth * torch.zeros_like(cells).index_add(0, self.option_cell, above).log()


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """The options of several texts, and which texts these are."""

    rows: np.ndarray
    options: GramOptions


def gather(
    rows: RaggedIds, maps: Sequence[RowSets], *, longest: int, ending: int = 0, progress: OnProgress | None = None
) -> list[Gathered]:
    """The options of all texts by every map from words to codes, texts of like length together.

    Where they are too many, larger cells are cut into more pieces; where those are too many as well, it is refused,
    before any is listed. `progress` is called with the number of texts done and of all texts.
    """
    check_room(rows, maps, longest=longest, ending=ending)
    for most in PIECES:
        found: list[Gathered] = []
        done = 0
        try:
            for part in _gathered(rows, maps, longest=longest, ending=ending, most=most):
                found.append(part)
                done += len(part.rows)
                if progress is not None:
                    progress(done, len(rows))
        except TooManyRunsError:
            continue
        return found
    raise _refusal(rows, maps, longest=longest, ending=ending)


def check_room(rows: RaggedIds, maps: Sequence[RowSets], *, longest: int, ending: int) -> None:
    """Refuse texts with more runs than memory holds, by their number alone."""
    if _least(rows, maps, longest=longest, ending=ending) > MOST_ENTRIES:
        raise _refusal(rows, maps, longest=longest, ending=ending)


def _least(rows: RaggedIds, maps: Sequence[RowSets], *, longest: int, ending: int) -> float:
    return sum(
        least_entries(sets.code_counts.numpy()[rows.flat], rows.starts, longest=longest, ending=ending) for sets in maps
    )


def _refusal(rows: RaggedIds, maps: Sequence[RowSets], *, longest: int, ending: int) -> TrainingError:
    shorter = {length: _least(rows, maps, longest=length, ending=ending) for length in range(1, longest)}
    fits = [f"longest = {length} (about {count:,.0f})" for length, count in shorter.items() if count <= MOST_ENTRIES]
    return TrainingError(
        expected=f"at most {MOST_ENTRIES:,} n-grams of clusters that substitution can bring to the texts",
        got=f"about {_least(rows, maps, longest=longest, ending=ending):,.0f} in {len(rows):,} texts",
        where="a BagOfNgrams",
        remedy=f"{f'set {fits[-1]}, ' if fits else ''}lower its resolutions, so that fewer words are ambiguous, or its "
        "longest or ending, or take a smaller table",
    )


def _gathered(rows: RaggedIds, maps: Sequence[RowSets], *, longest: int, ending: int, most: int) -> Iterator[Gathered]:
    room = MOST_ENTRIES
    order = np.argsort(rows.lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * rows.lengths[order[stop]] <= POSITIONS:
            stop += 1
        chosen = order[start:stop]
        batch = pad(rows, chosen)
        ids = batch.ids.masked_fill(~batch.mask, 0)
        found = []
        for sets in maps:
            own = sets.codes[ids, 0].masked_fill(~batch.mask, 0)
            asked = (sets.codes[ids], sets.code_counts[ids], own)
            found.append(GramOptions.of(*asked, longest=longest, ending=ending, most=most, room=room))
            room -= len(found[-1].entry_run)
        yield Gathered(chosen, GramOptions.joined(found))
        start = stop


def frequent_grams(gathered: list[Gathered], *, minimum_count: int) -> Tensor:
    """The sorted keys that stand in at least so many texts, those that substitution can bring counted with them."""
    found = [part.options for part in gathered]
    keys, place = np.unique(
        np.concatenate([part for each in found for part in (each.fixed_key, each.run_key)]), return_inverse=True
    )
    often = [
        part
        for each in found
        for part in (np.ones(len(each.fixed_key)), np.bincount(each.entry_run, minlength=len(each.run_key)))
    ]
    counts = np.bincount(place, weights=np.concatenate(often), minlength=len(keys))
    return torch.from_numpy(keys[counts >= minimum_count])


def by_label(gathered: list[Gathered], labels: np.ndarray, keys: Tensor) -> list[LabelGrams]:
    """All texts, those of each label together."""
    return [_of_label(gathered, labels, int(label), keys) for label in np.unique(labels)]


def _of_label(gathered: list[Gathered], labels: np.ndarray, label: int, keys: Tensor) -> LabelGrams:
    names = ("fixed", "fixed_text", "run", "run_holders", "entry_option", "entry_run", "option_cell", "cell_text")
    parts: dict[str, list[np.ndarray]] = {name: [] for name in names}
    texts = options = cells = runs = 0
    for part in gathered:
        own = labels[part.rows] == label
        found = part.options
        number = np.cumsum(own) - 1 + texts
        cell_kept = own[found.cell_text] if len(found.cell_text) else np.zeros(0, bool)
        option_kept = cell_kept[found.option_cell] if len(found.option_cell) else np.zeros(0, bool)
        cell_number, option_number = np.cumsum(cell_kept) - 1 + cells, np.cumsum(option_kept) - 1 + options
        fixed = places_of(keys, torch.from_numpy(found.fixed_key)).numpy()
        kept = own[found.fixed_text] & (fixed >= 0)
        parts["fixed"].append(fixed[kept])
        parts["fixed_text"].append(number[found.fixed_text[kept]])
        run = places_of(keys, torch.from_numpy(found.run_key)).numpy()
        entry_kept = option_kept[found.entry_option] & (run[found.entry_run] >= 0)
        run_kept = np.zeros(len(run), bool)
        run_kept[found.entry_run[entry_kept]] = True
        parts["run"].append(run[run_kept])
        parts["run_holders"].append(found.run_holders[run_kept])
        parts["entry_option"].append(option_number[found.entry_option[entry_kept]])
        parts["entry_run"].append((np.cumsum(run_kept) - 1 + runs)[found.entry_run[entry_kept]])
        runs += int(run_kept.sum())
        parts["option_cell"].append(cell_number[found.option_cell[option_kept]])
        parts["cell_text"].append(number[found.cell_text[cell_kept]])
        texts, cells, options = texts + int(own.sum()), cells + int(cell_kept.sum()), options + int(option_kept.sum())
    flat = {name: torch.from_numpy(np.concatenate(pieces).astype(np.int64)) for name, pieces in parts.items()}
    for name in ("fixed", "fixed_text"):  # the longest lists by far
        flat[name] = flat[name].to(torch.int32)
    first = torch.from_numpy(np.flatnonzero(np.diff(flat["option_cell"].numpy(), prepend=-1)))
    return LabelGrams(label=label, texts=texts, first=first, **flat)
