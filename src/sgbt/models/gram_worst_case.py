"""A bound on the worst case of a GramBag over all substitutions.

Runs of codes without an ambiguous word are the same in every allowed text. What the others add is found cell by cell
(`sgbt.models.gram_options`): a cell's options are looked at one by one, and the worst counts.

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

from sgbt.lexicon.vocabulary import PADDING
from sgbt.models.bag_features import places_of
from sgbt.models.bag_worst_case import CodeSets, WorstByWord
from sgbt.models.gram_bag import GramBag
from sgbt.models.gram_options import GramOptions


def gram_worst_margins(model: GramBag, ids: Tensor, allowed: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
    """Upper bounds of (logit k - logit of the label) over all substitutions: [texts, classes], zero at the label.

    `ids` and `allowed` are [texts, words, choices] with the word itself first; `mask` [texts, words] marks real words.
    A text with too many options has infinity.
    """
    found = gram_worst_by_word(model, ids, allowed, mask, labels)
    return found.fixed + found.gains.amax(dim=2).sum(dim=1)


@torch.no_grad()
def gram_worst_by_word(model: GramBag, ids: Tensor, allowed: Tensor, mask: Tensor, labels: Tensor) -> WorstByWord:
    """The same bound as a sum over words: cells of one word gain by what it becomes, the others are in `fixed`."""
    classes, device = model.config.classes, model.weight.device
    ids, allowed, mask, labels = (part.cpu() for part in (ids, allowed & mask.unsqueeze(-1), mask, labels))
    ids = torch.where(allowed, ids, ids[..., :1])
    codes = model.maps.cpu()[:, ids].masked_fill(~mask.unsqueeze(-1), PADDING)
    options = GramOptions.joined([_options(model, own) for own in codes])
    keys, weight = model.keys.cpu(), model.weight.detach().cpu()
    texts = len(ids)

    fixed_text, fixed_place = _listed(keys, options.fixed_text, options.fixed_key)
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
    total[torch.from_numpy(options.undecided)] = torch.inf
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


def _options(model: GramBag, codes: Tensor) -> GramOptions:
    """What the codes of all choices, [texts, words, choices], can make of the texts."""
    sets, config = CodeSets.of(codes), model.config
    return GramOptions.of(sets.codes, sets.counts, codes[..., 0], longest=config.longest, ending=config.ending)


def _listed(keys: Tensor, rows: np.ndarray, asked: np.ndarray) -> tuple[Tensor, Tensor]:
    """The rows whose keys have a weight, and the places of those."""
    places = places_of(keys, torch.from_numpy(asked))
    listed = places >= 0
    return torch.from_numpy(rows)[listed], places[listed]


def _option_scores(options: GramOptions, keys: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    """What each option adds at most to (logit k - logit of the label), [options, classes]."""
    scores = weight.new_zeros(len(options.option_cell), weight.shape[1])
    places = places_of(keys, torch.from_numpy(options.entry_key))
    listed = places >= 0
    if not bool(listed.any()):
        return scores
    place = places[listed]
    option, holders = (torch.from_numpy(rows)[listed] for rows in (options.entry_option, options.entry_holders))
    text = torch.from_numpy(options.cell_text)[torch.from_numpy(options.option_cell)[option]]
    margins = weight[place] - weight[place, labels[text]].unsqueeze(1)
    return scores.index_add(0, option, credited(margins, holders.unsqueeze(1)))


def credited(margins: Tensor, holders: Tensor) -> Tensor:
    """What one slot adds to the rival's lead by a run that `holders` slots can hold: what helps the label is shared."""
    return torch.maximum(margins, margins / holders)
