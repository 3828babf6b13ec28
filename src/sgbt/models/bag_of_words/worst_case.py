"""The exact worst case of a BagOfWords over all substitutions.

The score of a position depends on its word and on the codes of its two neighbours. Where neither the position nor a
neighbour is ambiguous (all words allowed there share a code), those codes are fixed, the position is free of all
others, and its worst word is found by looking at each. Around ambiguous words positions hang together: the choice
at t decides the code that t - 1 and t + 1 see. Such positions form short runs between fixed codes, and a run is solved
by dynamic programming (Viterbi) over pairs of neighbouring codes. Both together are the exact maximum of
(logit k - logit of the label), for each k by itself: no relaxation anywhere, only rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sgbt.core.shapes import Float
from sgbt.models.bag_of_words.model import BagOfWords, neighbours
from sgbt.models.shapes import Allowed, Choices, Labels, Logits, Mask
from sgbt.models.worst_case import towards_text, worst_case_logits
from sgbt.threats.vocabulary import PADDING

ENTRIES = 1 << 25
"""Numbers in the largest intermediate table; a batch that needs more is done in halves."""


def worst_margins(model: BagOfWords, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels) -> Logits:
    """The greatest (logit k - logit of the label) over all substitutions: [texts, classes], zero at the label.

    `ids` and `allowed` are [texts, words, choices] with the word itself first; `mask` [texts, words] marks real words.
    Differentiable in the weights: the gradient is that of the worst text.
    """
    if not len(ids):
        return torch.zeros(0, model.config.classes).to(model.weight)
    allowed = allowed & mask.unsqueeze(-1)
    ids = torch.where(allowed, ids, ids[..., :1]).masked_fill(~mask.unsqueeze(-1), PADDING)
    sets = CodeSets.of(model.codes[ids])
    if sets.entries * model.config.classes > ENTRIES and len(ids) > 1:
        return torch.cat([worst_margins(model, *half) for half in _halves(ids, allowed, mask, labels)])
    factors = model.factors(mask).to(model.weight)
    total = _free(model, ids, allowed & ~sets.coupled.unsqueeze(-1), sets, labels, factors)
    if bool(sets.coupled.any()):
        total = total + _runs(model, ids, allowed, sets, mask, labels, factors)
    return total + model.bias - model.bias[labels].unsqueeze(1)


def _halves(*parts: Tensor) -> list[tuple[Tensor, ...]]:
    """The first half of the texts and the second."""
    half = len(parts[0]) // 2
    return [tuple(part[:half] for part in parts), tuple(part[half:] for part in parts)]


@dataclass(frozen=True, slots=True)
class WorstByWord:
    """(logit k - logit of the label) <= fixed + the sum of the gains of the choices made, exactly what words add up to.

    `fixed` is [texts, classes], `gains` [texts, words, choices, classes]. Positions around ambiguous words, which do
    not add up, take part with their worst case in `fixed` and gain nothing more.
    """

    fixed: Logits
    gains: Float[Tensor, "texts words choices classes"]


def worst_by_word(model: BagOfWords, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels) -> WorstByWord:
    """The worst case as a sum over words, so that a limit on how many are replaced takes the largest gains only."""
    allowed = allowed & mask.unsqueeze(-1)
    ids = torch.where(allowed, ids, ids[..., :1]).masked_fill(~mask.unsqueeze(-1), PADDING)
    sets = CodeSets.of(model.codes[ids])
    if sets.entries * model.config.classes > ENTRIES and len(ids) > 1:
        first, second = (worst_by_word(model, *half) for half in _halves(ids, allowed, mask, labels))
        return WorstByWord(torch.cat([first.fixed, second.fixed]), torch.cat([first.gains, second.gains]))
    free = mask & ~sets.coupled
    before, after = (side.unsqueeze(-1).expand_as(ids) for side in neighbours(sets.codes[..., 0]))
    factors = model.factors(mask).to(model.weight)
    scores = model.score(ids, before, after).to(factors) * (factors * free)[..., None, None]
    margins = scores - scores.gather(3, labels.view(-1, 1, 1, 1).expand(*scores.shape[:3], 1))
    fixed = margins[:, :, 0].sum(dim=1)
    if bool(sets.coupled.any()):
        fixed = fixed + _runs(model, ids, allowed, sets, mask, labels, factors)
    fixed = fixed + model.bias - model.bias[labels].unsqueeze(1)
    return WorstByWord(fixed, margins - margins[:, :, :1])


@dataclass(frozen=True, slots=True)
class CodeSets:
    """The distinct codes of every position: `codes` [texts, words, width], of which the first `counts` count.

    `ranks` [texts, words, choices] says which of them each choice has. `coupled` marks the positions whose score
    depends on an ambiguous word: those that are ambiguous or stand beside one.
    """

    codes: Tensor
    counts: Tensor
    ranks: Tensor
    coupled: Tensor

    @property
    def width(self) -> int:
        """The most codes that one position has."""
        return self.codes.shape[2]

    @property
    def entries(self) -> int:
        """Numbers in the largest table of scores, for one class."""
        return int(self.coupled.sum()) * self.width**2 * max(self.width, self.ranks.shape[2])

    @staticmethod
    def of(codes: Tensor) -> CodeSets:
        """From the codes of all choices, [texts, words, choices]; choices that do not count repeat the first."""
        ordered, order = codes.sort(dim=-1)
        fresh = torch.ones_like(ordered, dtype=torch.bool)
        fresh[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
        ranked = fresh.cumsum(dim=-1) - 1
        counts = ranked[..., -1] + 1 if codes.numel() else codes.sum(dim=-1)
        width = int(counts.max()) if counts.numel() else 1
        distinct = codes.new_zeros(*codes.shape[:2], width).scatter(-1, ranked, ordered)
        ambiguous = counts > 1
        before, after = neighbours(ambiguous.long())
        coupled = ambiguous | before.bool() | after.bool()
        return CodeSets(distinct, counts, torch.empty_like(ranked).scatter(-1, order, ranked), coupled)


def _free(model: BagOfWords, ids: Tensor, choices: Tensor, sets: CodeSets, labels: Tensor, factors: Tensor) -> Tensor:
    """The sum of the worst scores of the positions that depend on no other, [texts, classes]."""
    texts, length, _ = ids.shape
    before, after = neighbours(sets.codes[..., 0])
    text, place, slot = choices.nonzero(as_tuple=True)
    margins = _margins(model, ids[text, place, slot], before[text, place], after[text, place], labels[text])
    worst = _greatest(margins, text * length + place, texts * length, start=0.0, include_start=False)
    return (worst.reshape(texts, length, -1) * factors.unsqueeze(-1)).sum(dim=1)


def _runs(
    model: BagOfWords, ids: Tensor, allowed: Tensor, sets: CodeSets, mask: Tensor, labels: Tensor, factors: Tensor
) -> Tensor:
    """The sum of the worst scores of the runs of positions that hang together, [texts, classes].

    best[a, b] is the greatest sum so far with code a at the position just done and b at the next one; then
    best'[b, c] = max over a of best[a, b] + score[a, b, c]. The codes before and behind a run are fixed.
    """
    texts, width, classes = len(ids), sets.width, model.config.classes
    coupled = sets.coupled & mask
    text, place = coupled.nonzero(as_tuple=True)
    scores = _coupled_scores(model, ids, allowed, sets, labels, factors, text, place)
    first = torch.ones_like(text, dtype=torch.bool)
    first[1:] = (text[1:] != text[:-1]) | (place[1:] != place[:-1] + 1)
    starts = first.nonzero().squeeze(1)
    lengths = torch.diff(starts, append=starts.new_tensor([len(text)]))
    lengths, order = lengths.sort(descending=True)  # so that runs still going are always the first ones
    starts = starts[order]
    best = scores.new_zeros(len(starts), width, width, classes)
    for step in range(int(lengths[0]) if len(lengths) else 0):
        going = int((lengths > step).sum())
        reached = (best[:going].unsqueeze(3) + scores[starts[:going] + step]).amax(dim=1)
        best = torch.cat([reached, best[going:]])
    return scores.new_zeros(texts, classes).index_add(0, text[starts], best.amax(dim=(1, 2)))


def _coupled_scores(
    model: BagOfWords,
    ids: Tensor,
    allowed: Tensor,
    sets: CodeSets,
    labels: Tensor,
    factors: Tensor,
    text: Tensor,
    place: Tensor,
) -> Tensor:
    """The worst score at each given position for every code before, here and after: [positions, a, b, c, classes].

    Minus infinity where such codes cannot stand together.
    """
    width = sets.width
    codes = torch.nn.functional.pad(sets.codes, (0, 0, 1, 1), value=PADDING)
    counts = torch.nn.functional.pad(sets.counts, (1, 1), value=1)
    numbers = torch.arange(width, device=ids.device)
    earlier, later = (numbers < counts[text, place + shift].unsqueeze(1) for shift in (0, 2))
    possible = earlier[:, :, None, None] & allowed[text, place][:, None, :, None] & later[:, None, None, :]
    at, a, slot, c = possible.nonzero(as_tuple=True)
    words, b = ids[text[at], place[at], slot], sets.ranks[text[at], place[at], slot]
    before, after = codes[text[at], place[at], a], codes[text[at], place[at] + 2, c]
    margins = _margins(model, words, before, after, labels[text[at]]) * factors[text[at], place[at]].unsqueeze(1)
    cells = ((at * width + a) * width + b) * width + c
    worst = _greatest(margins, cells, len(text) * width**3, start=-torch.inf, include_start=True)
    return worst.reshape(len(text), width, width, width, -1)


def _margins(model: BagOfWords, words: Tensor, before: Tensor, after: Tensor, labels: Tensor) -> Tensor:
    scores = model.score(words, before, after).to(model.weight)
    return scores - scores.gather(1, labels.unsqueeze(1))


def _greatest(values: Tensor, cells: Tensor, size: int, *, start: float, include_start: bool) -> Tensor:
    """The greatest of the values of each cell, [size, classes]; `start` where a cell has none."""
    table = values.new_full((size, values.shape[1]), start)
    return table.scatter_reduce(0, cells.unsqueeze(1).expand_as(values), values, "amax", include_self=include_start)


@worst_case_logits.register
def _worst_case(
    model: BagOfWords, ids: Choices, allowed: Allowed, mask: Mask, labels: Labels, *, epsilon: float = 1.0
) -> Logits:
    return towards_text(model, worst_margins(model, ids, allowed, mask, labels), ids, mask, labels, epsilon)
