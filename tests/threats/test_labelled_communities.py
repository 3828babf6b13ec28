"""Communities that labels keep apart: the objective by its definition, and what becomes of a bridge."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sgbt.core.errors import ModelError
from sgbt.models import BagOfNgramsConfig
from sgbt.threats import SubstitutionTable, Vocabulary
from sgbt.threats import labelled_communities as module
from sgbt.threats.labelled_communities import labelled_codes, labelled_communities

CHAIN = ("good", "fine", "fair", "poor", "bad", "film")
TABLE = SubstitutionTable({one: (other,) for one, other in pairwise(CHAIN[:5])})
COUNTS = dict.fromkeys(CHAIN, 100)
OPINIONS = {"good": (0, 100), "fine": (10, 90), "fair": (40, 60), "poor": (95, 5), "bad": (100, 0), "film": (50, 50)}


def codes_of(label_weight: float) -> dict[str, int]:
    vocabulary = Vocabulary(CHAIN)
    by_label = np.array([(0, 0), (0, 0), *(OPINIONS[word] for word in CHAIN)])
    codes = labelled_codes(vocabulary, TABLE, COUNTS, by_label, resolution=1e-6, label_weight=label_weight)
    assert codes[:2].tolist() == [0, 1]
    return {word: int(codes[vocabulary.id_of(word)]) for word in CHAIN}


def test_without_labels_a_chain_is_one_code_and_with_them_it_is_cut_between_the_opinions() -> None:
    together = codes_of(0.0)
    assert len({together[word] for word in CHAIN[:5]}) == 1 != together["film"]
    apart = codes_of(3.0)
    assert apart["good"] == apart["fine"] != apart["poor"] == apart["bad"]
    assert sorted({*codes_of(1e6).values()}) == list(range(2, 8)), "what is told apart at any price is not merged"


def random_graph(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    sources, targets = random.integers(0, 12, (2, 20))
    apart = sources != targets
    by_label = random.integers(0, 9, (12, 3))
    return sources[apart], targets[apart], random.integers(1, 9, apart.sum()).astype(float), by_label


def objective(graph: tuple[np.ndarray, ...], found: np.ndarray, resolution: float, label_weight: float) -> float:
    """As the module has it, by one dense matrix."""
    sources, targets, weights, by_label = graph
    links = np.zeros((len(found), len(found)))
    np.add.at(links, (sources, targets), weights)
    links += links.T
    whole = 0.0
    for each in np.unique(found):
        own = found == each
        counts = by_label[own].sum(axis=0).astype(float)
        share = counts[counts > 0] / counts.sum()
        entropy = -counts.sum() * (share * np.log(share)).sum()
        whole += links[np.ix_(own, own)].sum() / 2 - resolution * links[own].sum() ** 2 / (2 * links.sum())
        whole -= label_weight * entropy
    return whole


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("resolution", "label_weight"), [(1.0, 0.0), (0.1, 0.5), (0.01, 2.0)])
def test_the_objective_rises_and_compiled_moves_are_the_same(
    seed: int, resolution: float, label_weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(seed)
    options: Any = {"resolution": resolution, "label_weight": label_weight}
    found = labelled_communities(12, *graph, **options)
    alone = objective(graph, np.arange(12), **options)
    assert objective(graph, found, **options) >= alone - 1e-9
    monkeypatch.setattr(module, "_compiled", lambda: module._moves)
    assert np.array_equal(found, labelled_communities(12, *graph, **options))


@pytest.mark.parametrize("seed", range(20))
def test_a_single_level_ends_where_no_single_move_helps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(seed)
    options: Any = {"resolution": 0.5, "label_weight": 1.0}
    seen: list[np.ndarray] = []

    def watched(*given: Any) -> None:
        module._moves(*given)
        seen.append(given[6].copy())

    monkeypatch.setattr(module, "_compiled", lambda: watched)
    labelled_communities(12, *graph, **options)
    first = seen[0]
    before = objective(graph, first, **options)
    linked = {pair for one, other in zip(*graph[:2], strict=True) for pair in ((one, other), (other, one))}
    for node, other in linked:
        moved = first.copy()
        moved[node] = first[other]
        assert objective(graph, moved, **options) <= before + 1e-6


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), "much"])
def test_an_odd_weight_of_labels_is_refused(wrong: float) -> None:
    with pytest.raises(ModelError, match="label_weight and distinction of at least 0"):
        BagOfNgramsConfig(label_weight=wrong)
