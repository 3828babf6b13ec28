"""Louvain's method against networkx, which takes the same steps: the same communities, compiled or not."""

from __future__ import annotations

import sys

import networkx
import numpy as np
import pytest
from tests.reference.networkx_communities import communities, graph_of

from sgbt.threats import SubstitutionTable, Vocabulary, louvain
from sgbt.threats.codes import community_codes, community_levels


def random_world(seed: int, words: int) -> tuple[Vocabulary, SubstitutionTable, dict[str, int]]:
    """Words on a line, with substitutes mostly near by: groups with bridges between them, and words without links."""
    random = np.random.default_rng(seed)
    names = [f"w{number}" for number in range(words)]
    entries = {}
    for place, name in enumerate(names):
        near = np.abs(place + random.normal(0, 4, random.integers(0, 6))).astype(int)
        far = random.integers(0, words, int(random.random() < 0.1))
        others = dict.fromkeys(names[other] for other in (*near, *far) if other < words and other != place)
        entries[name] = tuple(others)
    counts = {name: int(random.choice([0, 0, 1, 7, 500])) for name in names}
    return Vocabulary(tuple(random.permutation(names)[: words * 9 // 10])), SubstitutionTable(entries), counts


def grouped(labels: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(labels == label).tolist() for label in np.unique(labels))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("resolution", [1e-6, 1.0, 30.0])
def test_words_have_the_communities_that_networkx_finds(seed: int, resolution: float) -> None:
    world = random_world(seed, 60)
    graph = graph_of(*world)
    assert grouped(community_codes(*world, resolution=resolution))[2:] == communities(graph, resolution)
    graph.remove_nodes_from(list(networkx.isolates(graph)))
    (level,) = community_levels(*world, resolutions=(resolution,))
    assert [each for each in grouped(level) if len(each) > 1] == [
        each for each in communities(graph, resolution) if len(each) > 1
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_edges_breaks_ties_as_in_networkx(seed: int) -> None:
    """Edges that all weigh the same make many moves equally good; loops are communities made before."""
    random = np.random.default_rng(seed)
    plain: networkx.Graph = networkx.gnm_random_graph(40, 70, seed=seed)
    plain.add_edge(3, 3)
    plain.add_edges_from((int(node), int(node)) for node in random.integers(0, 40, 3))
    graph = louvain.Graph.of(40, np.array(list(plain.edges)), np.ones(plain.number_of_edges()))
    labels = louvain.louvain(graph, 1.0)
    found = communities(weighted(plain), 1.0)
    assert grouped(labels) == found
    assert louvain.modularity(graph, labels, 1.0) == pytest.approx(networkx.community.modularity(plain, found))


def weighted(graph: networkx.Graph) -> networkx.Graph:
    networkx.set_edge_attributes(graph, 1.0, "weight")
    return graph


def test_a_large_graph_has_the_same_communities_compiled_and_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    world = random_world(0, 1500)
    wanted = communities(graph_of(*world), 3.0)
    monkeypatch.setattr(louvain, "WORTH_COMPILING", 0)
    louvain._compiled.cache_clear()
    assert grouped(community_codes(*world, resolution=3.0))[2:] == wanted
    monkeypatch.setitem(sys.modules, "numba", None)
    louvain._compiled.cache_clear()
    assert louvain._compiled() is louvain._moves
    assert grouped(community_codes(*world, resolution=3.0))[2:] == wanted
    louvain._compiled.cache_clear()


def test_edges_between_the_same_nodes_are_one() -> None:
    ends = np.array([[2, 1], [0, 1], [1, 2], [1, 1]])
    graph = louvain.Graph.of(4, ends, np.array([1.0, 2.0, 4.0, 8.0]))
    assert graph.ends.tolist() == [[1, 2], [0, 1], [1, 1]]
    assert graph.weights.tolist() == [5.0, 2.0, 8.0]


def test_without_edges_every_node_is_a_community() -> None:
    graph = louvain.Graph.of(3, np.zeros((0, 2), np.int64), np.zeros(0))
    assert louvain.louvain(graph, 1.0).tolist() == [0, 1, 2]
