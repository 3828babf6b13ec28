"""BiLSTM, asked about many variants of several texts.

Input projections of every word are found once. Variants that begin alike share their forward states as far as they
agree, and variants that end alike share their backward states: variants of one text are a tree, and each stretch of it
is read once. Several texts are read side by side, aligned at their ends, so that a step is one product of matrices for
all of them: texts begin, and branches leave, but none ends before the last step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from sgbt.attacks.engine import IdQuestion, Ids, Neighbourhood
from sgbt.attacks.prefix_tree import PrefixTree
from sgbt.attacks.word_rows import WordRows
from sgbt.models import BiLSTM

Array = NDArray[Any]
ROWS = 768
"""Texts that are read at once: enough to fill the processor, few enough to stay in its cache."""
WIDTH = 16
"""Rows are added by as many at once; one that no text has yet is read for nothing. Products of matrices with fewer than
four rows are rounded in another way, so there are never fewer.
"""


class FastBiLSTM:
    """The two directions of a BiLSTM over the words met so far, and its head."""

    @torch.no_grad()
    def __init__(self, model: BiLSTM) -> None:
        self._mean = model.config.pooling == "mean"
        lstms = (model.forwards, model.backwards)

        def project(ids: Tensor) -> Tensor:
            vectors = model.embedding(model.embedding.encode(ids))
            return torch.cat([_inputs(lstm, vectors) for lstm in lstms], dim=1)

        nothing = model.head.weight.new_zeros(1, model.embedding.width)
        padding = torch.cat([_inputs(lstm, nothing)[0] for lstm in lstms])
        ids = len(model.embedding.weight if model.embedding.codes is None else model.embedding.codes)
        self._words = WordRows(project, [4 * model.config.hidden] * 2, padding, ids=ids)
        self._recurrent = [_recurrent(lstm) for lstm in lstms]
        self._head = 0.5 * model.head.weight.t().contiguous()  # states are kept doubled
        self._head_bias = model.head.bias.detach()

    def open(self, ids: Ids, length: int) -> None:
        """Project the words; nothing else is remembered of a text."""
        self._words.meet(ids)

    def answers(self, opened: Sequence[None], questions: Sequence[IdQuestion]) -> list[Neighbourhood]:
        """Logits of texts and of their changes: all questions are read side by side."""
        asked = [self._words.rows(np.concatenate([question.ids, question.changed()])) for question in questions]
        # a text without words is read as one zero vector
        asked = [texts if texts.shape[1] else np.zeros((len(texts), 1), np.int64) for texts in asked]
        pieces = [texts[start : start + ROWS] for texts in asked for start in range(0, len(texts), ROWS)]
        found = [self._logits(group) for group in _groups(pieces)]
        labels = len(self._head_bias)
        logits = torch.cat(found).numpy() if found else np.zeros((0, labels), np.float32)
        edges = [0, *accumulate(len(texts) for texts in asked)]
        answers = []
        for question, start, stop in zip(questions, edges, edges[1:], strict=False):
            own = logits[start:stop]
            answers.append(Neighbourhood(own[: len(question.ids)], own[len(question.ids) :]))
        return answers

    @torch.no_grad()
    def _logits(self, texts: Sequence[Array]) -> Tensor:
        backwards = [own[:, ::-1] for own in texts]
        features = [
            read(own, table, recurrent, mean=self._mean)
            for own, table, recurrent in zip((texts, backwards), self._words.tables, self._recurrent, strict=True)
        ]
        return torch.cat(features, dim=1) @ self._head + self._head_bias


def _groups(pieces: Sequence[Array]) -> Iterator[list[Array]]:
    """Consecutive pieces, as many as are read at once."""
    group: list[Array] = []
    for piece in pieces:
        if group and sum(map(len, group)) + len(piece) > ROWS:
            yield group
            group = []
        group.append(piece)
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


def read(texts: Sequence[Array], inputs: Array, recurrent: Tensor, *, mean: bool) -> Tensor:
    """Doubled states [texts, hidden] after reading, or their means over the words, for several lists of texts.

    With t = tanh of half a gate's input, a step is c' = (c + g + c t_forget + g t_input) / 2 and
    2 h' = tanh(c') (1 + t_output). NumPy gathers and takes tanh, torch multiplies, both in the same memory: each does
    its part faster.
    """
    plan = Plan.of(texts)
    rows, size = plan.words.shape[1], len(recurrent)
    gates = torch.empty(rows, 4 * size, dtype=recurrent.dtype)
    # the last row stays zero: it is the state before anything was read, the parent -1
    hidden, cell, next_cell, total = torch.zeros(4, rows + 1, size, dtype=recurrent.dtype)
    before = width = 0
    for words, count in zip(plan.words, plan.alive, strict=True):
        if count > before:
            parents = plan.parents[before:count]
            for state in (hidden, cell, total)[: 3 if mean else 2]:  # branches start with the states of their parents
                state.numpy()[before:count] = state.numpy()[parents]
            before = count
        if count > width:
            width = -(-count // WIDTH) * WIDTH
            z, h = gates[:width], hidden[:width]
            entry, forget, leave, value = z.split(size, dim=1)
            z_array, h_array = z.numpy(), h.numpy()
        c, new = cell[:width], next_cell[:width]
        inputs.take(words[:width], axis=0, out=z_array, mode="clip")
        z.addmm_(h, recurrent)
        np.tanh(z_array, out=z_array)
        torch.lerp(c, value, 0.5, out=new)
        new.addcmul_(c, forget, value=0.5).addcmul_(value, entry, value=0.5)
        cell, next_cell = next_cell, cell
        np.tanh(new.numpy(), out=h_array)
        h.addcmul_(h, leave)
        if mean:
            total[:width].add_(h)
    if not mean:
        return hidden[torch.from_numpy(plan.row_of)]
    lengths = torch.cat([torch.full((len(own), 1), own.shape[1]) for own in texts])
    return total[torch.from_numpy(plan.row_of)] / lengths


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Several trees, read side by side and aligned at their ends; one row per branch, in the order of their starts.

    At step s the first `alive[s]` rows read `words[s]`; a row starts with the states of row `parents[j]`, or with zeros
    (-1). `row_of` finds the row of every text, in the order in which they were given.
    """

    words: Array
    alive: list[int]
    parents: Array
    row_of: Array

    @staticmethod
    def of(texts: Sequence[Array]) -> Plan:
        """From lists of texts [texts, words], each with a length of its own."""
        trees = [PrefixTree.of(own) for own in texts]
        longest = max(own.shape[1] for own in texts)
        offsets = [0, *accumulate(len(tree.starts) for tree in trees)]
        starts = np.concatenate([tree.starts + longest - tree.texts.shape[1] for tree in trees])
        order = np.argsort(starts, kind="stable")
        row = np.full(len(order) + 1, -1)  # the last entry stands for no parent
        row[order] = np.arange(len(order))
        words = np.zeros((longest, -(-len(order) // WIDTH) * WIDTH), np.int64)
        parents, row_of = [], []
        for tree, offset in zip(trees, offsets, strict=False):
            words[longest - tree.texts.shape[1] :, row[offset : offset + len(tree.starts)]] = tree.texts.T
            parents.append(row[np.where(tree.parents < 0, -1, tree.parents + offset)])
            row_of.append(row[tree.branch_of + offset])
        alive = np.searchsorted(starts[order], np.arange(longest), side="right").tolist()
        return Plan(words, alive, np.concatenate(parents)[order], np.concatenate(row_of))
