"""A bound on the worst case of a BagOfNgrams over all substitutions.

Runs of codes without an ambiguous word are the same in every allowed text. What the others add is found cell by cell
(`sgbt.models.bag_of_ngrams.cells`), and the worst counts: a cell's options are looked at one by one
(`sgbt.models.bag_of_ngrams.options`), or, in a text that has too many of them, by dynamic programming
(`sgbt.models.bag_of_ngrams.chains`). Both find the same maximum.

A run counts once, however many slots hold it, so slots do not simply add up. With d the weight of a run towards the
label, the run adds d if any slot holds it. Let m be the number of slots of the text that can hold it. If d > 0, each of
those slots is credited d / m: together never more than d. If d < 0, each is charged d: together never less in size than
d. So the sum over slots is never above what the text has, and its least value over all options is a lower bound. It is
exact where no run can stand in two slots. More substitutes only add options, raise m and take runs from the fixed ones,
so they never raise the bound.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sgbt.models.bag_of_ngrams.cells import GramCells
from sgbt.models.bag_of_ngrams.chains import GramText, worst_of_cells
from sgbt.models.bag_of_ngrams.credits import credited
from sgbt.models.bag_of_ngrams.model import MAP_SHIFT, BagOfNgrams, distinct_runs, last_words
from sgbt.models.bag_of_ngrams.options import MOST, GramOptions, check_padding
from sgbt.models.bag_of_words.features import places_of
from sgbt.models.bag_of_words.worst_case import CodeSets, WorstByWord
from sgbt.models.shapes import Allowed, Choices, Labels, Logits, Mask
from sgbt.models.worst_case import towards_text, worst_case_logits
from sgbt.threats.vocabulary import PADDING

MOST_ENTRIES = 1 << 21
"""Runs in all options of one text that are looked at one by one; with more, and with a cell of more than `MOST`
options, the text is left to dynamic programming."""
ENTRIES_AT_ONCE = 1 << 22
"""Runs in all options of the texts that are worked on together."""


def gram_worst_margins(model: BagOfNgrams, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels) -> Logits:
    """Upper bounds of (logit k - logit of the label) over all substitutions: [texts, classes], zero at the label.

    `ids` and `allowed` are [texts, words, choices] with the word itself first; `mask` [texts, words] marks real words.
    """
    found = gram_worst_by_word(model, ids, allowed, mask, labels)
    return found.fixed + found.gains.amax(dim=2).sum(dim=1)


@torch.no_grad()
def gram_worst_within(
    model: BagOfNgrams, ids: Tensor, allowed: Tensor, mask: Tensor, labels: Tensor, *, budget: int | None
) -> Tensor:
    """The same bound when at most `budget` words are replaced, [texts, classes]."""
    return gram_worst_levels(model, ids, allowed, mask, labels, budget=budget)[:, -1]


@torch.no_grad()
def gram_worst_levels(
    model: BagOfNgrams, ids: Tensor, allowed: Tensor, mask: Tensor, labels: Tensor, *, budget: int | None
) -> Tensor:
    """The same bound when at most 0, 1, ... `budget` words are replaced, [texts, 1 + budget, classes].

    By dynamic programming along the text that counts the words replaced so far, neighbours or not. Each map from words
    to codes takes its own worst words. Without a budget there is one number, for any number of words.
    """
    ids, allowed, mask, labels = _on_cpu(ids, allowed, mask, labels)
    bias = model.bias.detach().cpu()
    worst = (bias - bias[labels].unsqueeze(1)).unsqueeze(1)
    for number, codes in enumerate(_codes_of(model, ids, mask)):
        text, fixed = _text_of(model, codes, mask, labels, number << MAP_SHIFT)
        worst = worst + fixed.unsqueeze(1) + worst_of_cells(text, budget=budget)
    own = labels.view(-1, 1, 1).expand(-1, worst.shape[1], 1)
    return worst.scatter(2, own, 0.0).to(model.weight.device)


@torch.no_grad()
def gram_worst_by_word(model: BagOfNgrams, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels) -> WorstByWord:
    """The same bound as a sum over words: cells of one word gain by what it becomes, the others are in `fixed`.

    Of a text that is left to dynamic programming all is in `fixed`.
    """
    ids, allowed, mask, labels = _on_cpu(ids, allowed, mask, labels)
    sets = [CodeSets.of(codes) for codes in _codes_of(model, ids, mask)]
    large, entries = _large(sets, model.config.longest)
    if entries > ENTRIES_AT_ONCE and len(ids) > 1:
        half = len(ids) // 2
        parts = [
            gram_worst_by_word(model, ids[part], allowed[part], mask[part], labels[part])
            for part in (slice(half), slice(half, None))
        ]
        return WorstByWord(torch.cat([part.fixed for part in parts]), torch.cat([part.gains for part in parts]))
    if not bool(large.any()):
        return _by_options(model, ids, allowed, mask, labels)
    slots = torch.arange(ids.shape[2])
    found = _by_options(model, ids, allowed & ((slots == 0) | ~large.view(-1, 1, 1)), mask, labels)
    rest = (ids[large], allowed[large], mask[large], labels[large])
    found.fixed[large.to(found.fixed.device)] = gram_worst_within(model, *rest, budget=None).to(found.fixed)
    return found


def _on_cpu(ids: Tensor, allowed: Tensor, mask: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What was asked, with the word itself in place of what is not allowed."""
    ids, allowed, mask, labels = (part.cpu() for part in (ids, allowed & mask.unsqueeze(-1), mask, labels))
    return torch.where(allowed, ids, ids[..., :1]), allowed, mask, labels


def _codes_of(model: BagOfNgrams, ids: Tensor, mask: Tensor) -> Tensor:
    """The codes of all choices by every map, [maps, texts, words, choices]."""
    return model.maps.cpu()[:, ids].masked_fill(~mask.unsqueeze(-1), PADDING)


def _large(sets: list[CodeSets], longest: int) -> tuple[Tensor, float]:
    """Which texts have too many options by some map, and how many runs those of the others have together."""
    cells = [GramCells.of(each.counts.numpy(), longest) for each in sets]
    texts = len(sets[0].counts)
    entries = np.sum([each.entries_of(texts) for each in cells], axis=0)
    options = np.max([each.most_options_of(texts) for each in cells], axis=0)
    large = (entries > MOST_ENTRIES) | (options > MOST)
    return torch.from_numpy(large), float(entries[~large].sum())


def _text_of(model: BagOfNgrams, codes: Tensor, mask: Tensor, labels: Tensor, number: int) -> tuple[GramText, Tensor]:
    """Texts as one map reads them, and what the runs add that no substitution touches, [texts, classes]."""
    sets, own, config = CodeSets.of(codes), codes[..., 0], model.config
    check_padding(own)
    counts = torch.where(mask, sets.counts, 1)
    keys, weight = model.keys.cpu(), model.weight.detach().cpu()
    steady = torch.where(counts > 1, 0, own)
    text, runs = distinct_runs(steady, config.longest, last_words(mask, config.ending))
    text, place = _listed(keys, text, runs | number)
    sums = weight.new_zeros(len(own), config.classes).index_add(0, text, weight[place])
    pairs = (text * len(keys) + place).unique()
    given = GramText(sets.codes, counts, own, labels, keys, weight, pairs, config.longest, config.ending, number)
    return given, sums - sums.gather(1, labels.unsqueeze(1))


def _by_options(model: BagOfNgrams, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels) -> WorstByWord:
    """The bound by looking at every option of every cell."""
    classes, device = model.config.classes, model.weight.device
    ids = torch.where(allowed, ids, ids[..., :1])
    codes = _codes_of(model, ids, mask)
    options = GramOptions.joined([_options(model, own) for own in codes])
    keys, weight = model.keys.cpu(), model.weight.detach().cpu()
    texts = len(ids)

    fixed_text, fixed_place = _listed(keys, *map(torch.from_numpy, (options.fixed_text, options.fixed_key)))
    sums = weight.new_zeros(texts, classes).index_add(0, fixed_text, weight[fixed_place]) + model.bias.detach().cpu()
    total = sums - sums.gather(1, labels.unsqueeze(1))

    lists = (options.cell_text, options.cell_place, options.cell_map, options.option_cell)
    cell_text, cell_place, cell_map, option_cell = (torch.from_numpy(each) for each in lists)
    scores = _option_scores(options, keys, weight, labels)
    worst = scores.new_full((len(cell_text), classes), -torch.inf).scatter_reduce(
        0, option_cell.unsqueeze(1).expand_as(scores), scores, "amax"
    )
    firsts = torch.from_numpy(np.flatnonzero(np.diff(options.option_cell, prepend=-1)))
    alone = cell_place >= 0
    total = total.index_add(0, cell_text, torch.where(alone.unsqueeze(1), scores[firsts], worst))
    total.scatter_(1, labels.unsqueeze(1), 0.0)

    gains = total.new_zeros(*ids.shape, classes)
    text, place, by_map = cell_text[alone], cell_place[alone], cell_map[alone]
    if len(text):
        chosen = alone[option_cell]
        lines = (alone.long().cumsum(0) - 1)[option_cell[chosen]]  # the row of each option among cells of one word
        code, gain = torch.from_numpy(options.option_code)[chosen], (scores - scores[firsts][option_cell])[chosen]
        line, slot = (codes[by_map[lines], text[lines], place[lines]] == code.unsqueeze(1)).nonzero(as_tuple=True)
        gains.index_put_((text[lines[line]], place[lines[line]], slot), gain[line], accumulate=True)
        gains = gains * allowed.unsqueeze(-1)
    return WorstByWord(total.to(device), gains.to(device))


def _options(model: BagOfNgrams, codes: Tensor) -> GramOptions:
    """What the codes of all choices, [texts, words, choices], can make of the texts."""
    sets, config = CodeSets.of(codes), model.config
    return GramOptions.of(sets.codes, sets.counts, codes[..., 0], longest=config.longest, ending=config.ending)


def _listed(keys: Tensor, rows: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
    """The rows whose keys have a weight, and the places of those."""
    places = places_of(keys, asked)
    listed = places >= 0
    return rows[listed], places[listed]


def _option_scores(options: GramOptions, keys: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    """What each option adds at most to (logit k - logit of the label), [options, classes]."""
    scores = weight.new_zeros(len(options.option_cell), weight.shape[1])
    place = places_of(keys, torch.from_numpy(options.run_key))
    option, run = torch.from_numpy(options.entry_option), torch.from_numpy(options.entry_run)
    text = torch.zeros_like(place)
    text[run] = torch.from_numpy(options.cell_text[options.option_cell])[option]
    own = weight[place.clamp(min=0)] if len(keys) else weight.new_zeros(len(place), weight.shape[1])
    margins = credited(
        own - own.gather(1, labels[text].unsqueeze(1)), torch.from_numpy(options.run_holders).unsqueeze(1)
    )
    listed = place[run] >= 0
    return scores.index_add(0, option[listed], margins.index_select(0, run[listed]))


@worst_case_logits.register
def _worst_case(
    model: BagOfNgrams, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels, *, epsilon: float = 1.0
) -> Logits:
    return towards_text(model, gram_worst_margins(model, ids, allowed, mask, labels), ids, mask, labels, epsilon)
