"""BiLSTM, asked about many variants of several texts.

Input projections of every word are found once. Variants that begin alike share their forward states as far as they
agree, and variants that end alike share their backward states: variants of one text are a tree, and each stretch of it
is read once. Several texts are read side by side, aligned at their ends, so that a step is one product of matrices for
all of them: texts begin, and branches leave, but none ends before the last step. Both ways of reading go in step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from sgbt.attacks.queries.caches import WordRows
from sgbt.attacks.queries.engine import IdQuery, Ids, Neighbourhood, query_engine, split_answer
from sgbt.attacks.queries.prefix_tree import ReadSchedule
from sgbt.models import BiLSTM

Array = NDArray[Any]
ROWS = 768
"""Texts that are read at once: enough to fill the processor, few enough to stay in its cache."""


class BiLSTMEngine:
    """The two directions of a BiLSTM over the words met so far, and its head."""

    @torch.no_grad()
    def __init__(self, model: BiLSTM) -> None:
        self._pooling = model.config.pooling
        lstms = (model.forwards, model.backwards)

        def project(ids: Tensor) -> Tensor:
            vectors = model.embedding(model.embedding.encode(ids))
            return torch.cat([_inputs(lstm, vectors) for lstm in lstms], dim=1)

        nothing = model.head.weight.new_zeros(1, model.embedding.width)
        padding = torch.cat([_inputs(lstm, nothing)[0] for lstm in lstms])
        ids = len(model.embedding.weight if model.embedding.codes is None else model.embedding.codes)
        self._words = WordRows(project, padding, ids=ids)
        self._inputs = self._words.table.reshape(-1, 4 * model.config.hidden)  # of each word one row for each way
        self._recurrent = [_recurrent(lstm) for lstm in lstms]
        self._head = 0.5 * model.head.weight.t().contiguous()  # states are kept doubled
        self._head_bias = model.head.bias.detach()

    def open(self, ids: Ids, length: int) -> None:
        """Project the words; nothing else is remembered of a text."""
        self._words.meet(ids)

    def answers(self, opened: Sequence[None], queries: Sequence[IdQuery]) -> list[Neighbourhood]:
        """Logits of texts and of their changes: all queries are read side by side."""
        asked = [self._rows(query) for query in queries]
        pieces = [texts[start : start + ROWS] for texts in asked for start in range(0, len(texts), ROWS)]
        places = [0, *accumulate(map(len, pieces))]
        logits = np.zeros((places[-1], len(self._head_bias)), self._inputs.dtype)
        for group in _groups(pieces):
            found = self._logits([pieces[number] for number in group]).numpy()
            logits[np.concatenate([np.arange(places[number], places[number + 1]) for number in group])] = found
        edges = [0, *accumulate(len(texts) for texts in asked)]
        pairs = zip(queries, pairwise(edges), strict=True)
        return [split_answer(logits[start:stop], query) for query, (start, stop) in pairs]

    def _rows(self, query: IdQuery) -> Array:
        """The texts asked about and their changes, as rows of words [texts, words].

        A text without words is read as one zero vector.
        """
        texts, swaps = self._words.rows(query.ids).astype(np.int32), query.swaps
        changed = texts[swaps.owners]
        changed[np.arange(len(changed)), swaps.positions] = self._words.rows(query.new)
        found = np.concatenate([texts, changed])
        return found if found.shape[1] else np.zeros((len(found), 1), np.int32)

    @torch.no_grad()
    def _logits(self, texts: Sequence[Array]) -> Tensor:
        return read(texts, self._inputs, self._recurrent, pooling=self._pooling) @ self._head + self._head_bias


def _groups(pieces: Sequence[Array]) -> Iterator[list[int]]:
    """The numbers of the pieces that are read at once: those of like length, as many as have room."""
    group: list[int] = []
    rows = 0
    for number in sorted(range(len(pieces)), key=lambda number: pieces[number].shape[1]):
        if group and rows + len(pieces[number]) > ROWS:
            yield group
            group, rows = [], 0
        group.append(number)
        rows += len(pieces[number])
    if group:
        yield group


def _inputs(lstm: nn.LSTM, vectors: Tensor) -> Tensor:
    """What words give to the gates.

    Gates stand in the order input, forget, output, cell. The first three are halved, because
    sigmoid(z) = (1 + tanh(z / 2)) / 2: then one tanh serves all four.
    """
    bias = lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")
    return _arranged(F.linear(vectors, lstm.get_parameter("weight_ih_l0"), bias).t()).t().contiguous()


def _recurrent(lstm: nn.LSTM) -> Tensor:
    """What doubled states give to the gates."""
    return 0.5 * _arranged(lstm.get_parameter("weight_hh_l0").detach()).t().contiguous()


def _arranged(gates: Tensor) -> Tensor:
    entry, forget, cell, leave = gates.chunk(4)
    return torch.cat([0.5 * entry, 0.5 * forget, 0.5 * leave, cell])


def compiled_step(inputs: Array) -> Callable[..., None] | None:
    """The compiled step, which is for float32; None for other numbers, and without Numba (`sgbt[fast]`)."""
    if inputs.dtype != np.float32:
        return None
    try:
        from sgbt.attacks.queries.lstm_cell import step
    except ImportError:
        return None
    return step


def read(texts: Sequence[Array], inputs: Array, recurrent: Sequence[Tensor], *, pooling: str) -> Tensor:
    """Doubled states [texts, two ways x hidden] after reading from the left and from the right, or what `pooling`
    makes of those at all words, for several lists of texts.

    With t = tanh of half a gate's input, a step is c' = (c + c t_forget + g + g t_input) / 2 and
    2 h' = tanh(c') (1 + t_output). NumPy gathers and takes tanh, torch multiplies, both in the same memory: each does
    its part faster. Where there is a compiled step, it does all but the products of matrices.
    """
    plan, fused = ReadSchedule.of(texts), compiled_step(inputs)
    size = len(recurrent[0])
    gates = torch.empty(plan.rows, 4 * size, dtype=recurrent[0].dtype)
    # the last row stays as it is: the state before anything was read
    states = torch.zeros(2 if pooling == "last" else 3, plan.rows + 1, size, dtype=gates.dtype)
    hidden, cell, pooled = states[0], states[1], states[-1]
    if pooling == "max":
        pooled.fill_(-torch.inf)
    arrays, gates_array = states.numpy(), gates.numpy()
    span = (0, 0)
    for words, now, (start, stop) in zip(plan.words, plan.spans, pairwise(plan.edges), strict=True):
        if start < stop:
            arrays[:, plan.born[start:stop]] = arrays[:, plan.parents[start:stop]]
        if now != span:
            span = low, high = now
            ways = [
                (gates[first:last], hidden[first:last], weights)
                for first, last, weights in zip((low, plan.middle), (plan.middle, high), recurrent, strict=True)
            ]
            z_array, h_array, c_array = gates_array[low:high], arrays[0, low:high], arrays[1, low:high]
            if fused is None:
                entry, forget, leave, value = gates[low:high].split(size, dim=1)
                h, c = hidden[low:high], cell[low:high]
        if fused is not None:
            for own, state, weights in ways:
                torch.mm(state, weights, out=own)
            fused(z_array, inputs, words[low:high], c_array, h_array)
        else:
            inputs.take(words[low:high], axis=0, out=z_array, mode="clip")
            for own, state, weights in ways:
                own.addmm_(state, weights)
            np.tanh(z_array, out=z_array)
            c.addcmul_(c, forget)
            value.addcmul_(value, entry)
            c.lerp_(value, 0.5)
            np.tanh(c_array, out=h_array)
            h.addcmul_(h, leave)
        if pooling == "mean":
            pooled[low:high].add_(hidden[low:high])
        elif pooling == "max":
            torch.maximum(pooled[low:high], hidden[low:high], out=pooled[low:high])
    kept = hidden if pooling == "last" else pooled
    found = torch.cat([kept[torch.from_numpy(rows)] for rows in plan.row_of], dim=1)
    if pooling != "mean":
        return found
    return found / torch.cat([torch.full((len(own), 1), own.shape[1]) for own in texts])


query_engine.register(BiLSTM, BiLSTMEngine)
