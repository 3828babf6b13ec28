"""Communities of the substitution graph as networkx finds them: the plain way."""

from __future__ import annotations

from collections.abc import Mapping

import networkx

from sgbt.threats import SubstitutionTable, Vocabulary


def graph_of(vocabulary: Vocabulary, table: SubstitutionTable, counts: Mapping[str, int]) -> networkx.Graph:
    """All words, linked where one may replace the other; a link weighs as much as the replaced word occurs."""
    graph = networkx.Graph()
    graph.add_nodes_from(range(2, len(vocabulary)))
    for word in vocabulary.words:
        own = vocabulary.id_of(word)
        others = [vocabulary.id_of(other) for other in table.substitutes(word) if other in vocabulary]
        for other in others:
            before = graph.get_edge_data(own, other, {"weight": 0.0})["weight"]
            graph.add_edge(own, other, weight=before + (counts.get(word, 0) + 1) / len(others))
    return graph


def communities(graph: networkx.Graph, resolution: float) -> list[list[int]]:
    """The nodes of every community."""
    found = networkx.community.louvain_communities(graph, weight="weight", resolution=resolution, seed=0)
    return sorted(sorted(community) for community in found)
