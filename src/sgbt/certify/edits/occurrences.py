"""How often one path of a lattice can have each code at most."""

from __future__ import annotations

import numpy as np

from sgbt.certify.edits.margins import Ints
from sgbt.models.bag_of_ngrams.model import LARGEST
from sgbt.threats.lattice import NOTHING, Lattice

OFTEN = 8
"""So many occurrences of a code on one path are distinguished; more count as any number."""


def how_often(lattice: Lattice, codes: Ints) -> Ints:
    """How often one path can have each code at most, as far as that is below `OFTEN`: [LARGEST].

    Edges of one path lie one behind another, so it is how many intervals of nodes there are that do not overlap, and
    the interval that ends first is always among the most. An edge that comes back to its node counts as any number.
    """
    found = np.full(LARGEST, 0, dtype=np.int64)
    edges = np.flatnonzero(lattice.choices != NOTHING)
    if not len(edges):
        return np.full(LARGEST, OFTEN)
    lists = [np.unique(codes[list(lattice.sets[number])]) for number in lattice.choices[edges].tolist()]
    edge = np.repeat(edges, [len(each) for each in lists])
    code = np.concatenate(lists)
    source, target = lattice.source[edge], lattice.target[edge]
    found[code[source == target]] = OFTEN
    order = np.lexsort((target, code))
    code, source, target = code[order], source[order], target[order]
    reached = np.full(LARGEST, -1, dtype=np.int64)
    for _ in range(OFTEN):
        behind = np.flatnonzero(source >= reached[code])
        code, source, target = code[behind], source[behind], target[behind]
        if not len(code):
            break
        begin = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]]))
        found[code[begin]] += 1
        reached[code[begin]] = target[begin]
    found = np.minimum(found, OFTEN)
    return np.where(found == 0, OFTEN, found)
