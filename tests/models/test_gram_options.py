"""The runs that substitution can bring, against a plain enumeration: every option of every cell, slot by slot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch

from sgbt.models.bag_of_ngrams.model import AT_THE_END, BITS
from sgbt.models.bag_of_ngrams.options import GramOptions, TooManyRunsError

Cell = tuple[int, int]


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, list[list[list[int]]]]:
    """Texts of up to 14 words with up to three codes each, ascending as a classifier lists them or its own first."""
    texts, words, alphabet = int(rng.integers(1, 4)), int(rng.integers(1, 15)), int(rng.choice([5, 60]))
    own = rng.integers(1, alphabet, (texts, words))
    for text in range(texts):
        own[text, rng.integers(0, words + 1) :] = 0
    often, ascending = rng.choice([0.1, 0.3, 0.6]), bool(rng.integers(2))
    sets = []
    for line in own.tolist():
        sets.append([])
        for code in line:
            more = int(rng.integers(1, 3)) if code and rng.random() < often else 0
            others = rng.permutation(np.setdiff1d(np.arange(1, alphabet + 5), [code]))[:more].tolist()
            sets[-1].append(sorted([code, *others]) if ascending else [code, *others])
    return own, sets


def cells_of(sets: list[list[int]], length: int, longest: int) -> Iterator[Cell]:
    """The first ambiguous word of each cell, and the word behind the last that a run of the cell can have."""
    ambiguous = [place for place, codes in enumerate(sets) if len(codes) > 1]
    for number, place in enumerate(ambiguous):
        if number == 0 or place - ambiguous[number - 1] >= longest:
            last = place
            for other in ambiguous[number + 1 :]:
                if other - last >= longest:
                    break
                last = other
            yield place, min(last + longest, length)


def runs_at(codes: list[int], start: int, size: int, *, ending: int, length: int) -> Iterator[int]:
    key = 0
    for code in codes[start : start + size]:
        key = key << BITS | code
    yield key
    if start >= length - ending:
        yield key | AT_THE_END


def listed(own: list[int], sets: list[list[int]], *, longest: int, ending: int) -> tuple[list, dict]:
    """For every option, in order, its cell and what it puts where; and how many slots can hold each run."""
    length = sum(code > 0 for code in own)
    fixed, holders, options = set(), defaultdict(set), []
    for size in range(1, longest + 1):
        for start in range(length - size + 1):
            if all(len(each) == 1 for each in sets[start : start + size]):
                fixed.update(runs_at(own, start, size, ending=ending, length=length))
    for first, stop in cells_of(sets, length, longest):
        choices = [[code, *(each for each in codes if each != code)] for code, codes in zip(own, sets, strict=True)]
        for chosen in product(*(choices[place] for place in range(first, stop))):
            codes = own[:first] + list(chosen) + own[stop:]
            found = []
            for size in range(1, longest + 1):
                for start in range(max(first - longest + 1, 0), stop - size + 1):
                    if any(len(each) > 1 for each in sets[start : start + size]):
                        for key in runs_at(codes, start, size, ending=ending, length=length):
                            if key not in fixed:
                                holders[key].add((start, size))
                                found.append(key)
            options.append((first, chosen, sorted(found)))
    return options, {key: len(places) for key, places in holders.items()}


@pytest.mark.parametrize("ending", [0, 3])
@pytest.mark.parametrize("longest", [1, 2, 3, 4])
def test_every_option_brings_the_runs_of_a_plain_enumeration(longest: int, ending: int) -> None:
    rng, some = np.random.default_rng(10 * longest + ending), 0
    for _ in range(25):
        own, sets = drawn(rng)
        width = max(len(codes) for line in sets for codes in line)
        codes = torch.tensor([[each + [0] * (width - len(each)) for each in line] for line in sets])
        counts = torch.tensor([[len(each) for each in line] for line in sets])
        found = GramOptions.of(codes, counts, torch.from_numpy(own), longest=longest, ending=ending)
        wanted = [
            listed(line, each, longest=longest, ending=ending) for line, each in zip(own.tolist(), sets, strict=True)
        ]
        options = [(text, *option) for text, (each, _) in enumerate(wanted) for option in each]
        assert len(found.option_cell) == len(options)
        for number, (text, first, chosen, keys) in enumerate(options):
            cell, own_entries = found.option_cell[number], found.entry_option == number
            runs = found.entry_run[own_entries]
            assert found.cell_text[cell] == text
            assert sorted(found.run_key[runs].tolist()) == keys
            assert found.run_holders[runs].tolist() == [wanted[text][1][key] for key in found.run_key[runs].tolist()]
            if found.cell_place[cell] >= 0:
                assert (found.cell_place[cell], found.option_code[number]) == (first, chosen[0])
            some += len(keys)
    assert some > 100


def test_more_entries_than_there_is_room_for_are_refused_before_they_are_listed() -> None:
    own = torch.full((1, 60), 7)
    codes = torch.stack([own, own + 1], dim=2)
    counts = torch.full((1, 60), 2)
    with pytest.raises(TooManyRunsError):
        GramOptions.of(codes, counts, own, longest=4, most=1 << 62, room=1e6)
    assert len(GramOptions.of(codes, counts, own, longest=4, most=64, room=1e6).entry_run) > 1000
