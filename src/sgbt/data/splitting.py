"""Cutting a dev or test set from labelled texts: stratified, seeded, and never through a group.

A group is a set of texts that must not be separated, because a model that has seen one of them has seen the others:
copies of one text, or the reviews of one film. `mixed` is the order in which the parts of a file come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Cut:
    """Row numbers of the two parts."""

    kept: np.ndarray
    taken: np.ndarray


def cut(labels: np.ndarray, fraction: float, *, seed: int, groups: Sequence[object]) -> Cut:
    """Take about `fraction` of the rows of each label, whole groups at a time, chosen by `seed`.

    Groups are shuffled and taken until the next would pass the label's share; each label keeps at least one group.
    """
    generator = np.random.default_rng(seed)
    taken: list[int] = []
    spoken_for: dict[object, bool] = {}
    for label in np.unique(labels):
        members: dict[object, list[int]] = {}
        for row in np.flatnonzero(labels == label).tolist():
            members.setdefault(groups[row], []).append(row)
        wanted = round(fraction * sum(map(len, members.values())))
        names = list(members)
        free = len(names) - 1  # one group at least stays
        for place in generator.permutation(len(names)):
            name, rows = names[place], members[names[place]]
            # a group with two labels goes where its first label went
            chosen = spoken_for.setdefault(name, free > 0 and len(rows) <= wanted)
            if chosen:
                taken += rows
                wanted -= len(rows)
                free -= 1
    picked = np.zeros(len(labels), dtype=bool)
    picked[taken] = True
    for label in np.unique(labels):
        if picked[labels == label].all():  # its only group has another label as well, and went with that
            returned = groups[int(np.argmax(labels == label))]
            picked[[row for row in range(len(labels)) if groups[row] == returned]] = False
    return Cut(kept=np.flatnonzero(~picked), taken=np.flatnonzero(picked))


def mixed(labels: np.ndarray, *, seed: int) -> np.ndarray:
    """An order of all rows, random but for this: whoever takes the first n has every label in its share of the whole.

    Among the first n, a label that k of N rows have occurs within one of n k / N times for two labels, and within the
    number of labels for more: the rows of each label are shuffled and then spread evenly from 0 to 1.
    """
    generator = np.random.default_rng(seed)
    places = np.empty(len(labels))
    for label in np.unique(labels):
        rows = generator.permutation(np.flatnonzero(labels == label))
        places[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(places, kind="stable")
