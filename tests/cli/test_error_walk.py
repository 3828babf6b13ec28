"""Every command with wrong input, as a new user would type it: one sentence, exit code 2, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.walked import TRAIN, run, tree

CNN = ["--vectors", "vectors.txt", "--substitutions", "synonyms.json", "--epochs", "1", "--out", "new"]

WRONG: dict[str, tuple[list[str], str]] = {
    # what to train on
    "no such file": (["train", "nothing.csv", "--out", "new"], "got nothing in nothing.csv"),
    "no such dataset": (["train", "imbd", "--out", "new"], "did you mean imdb?"),
    "no such dataset at all": (["train", "xyz", "--out", "new"], "a dataset name (imdb, yahoo_answers)"),
    "a folder": (["train", "folder", "--out", "new"], "got a folder in folder"),
    "a picture": (["train", "noise.csv", "--out", "new"], "got the byte 0x89 in line 1 of noise.csv"),
    "an ending that nobody reads": (["train", "reviews.docx", "--out", "new"], ".csv, .tsv, .jsonl, .txt or .parquet"),
    "a spreadsheet": (["train", "reviews.xlsx", "--out", "new"], "save the sheet as CSV"),
    "a separator of two letters": (["certify", "run", "--data", "reviews.csv", "--separator", "::"], "--separator"),
    "an empty file": (["train", "empty.csv", "--out", "new"], "an empty file"),
    "a header alone": (["train", "header.csv", "--out", "new"], "a header and nothing below it"),
    "another column": (["train", "reviews.csv", "--text", "txt", "--out", "new"], "did you mean 'text'?"),
    "texts as labels": (["train", "reviews.csv", "--label", "text", "--out", "new"], "few different values"),
    "one label": (["train", "onelabel.csv", *TRAIN, "--out", "new"], "at least two different labels"),
    "an encoding that is none": (["train", "reviews.csv", "--encoding", "utf8000", "--out", "new"], "an encoding"),
    "no such test file": (["train", "reviews.csv", "--test-file", "no.csv", "--out", "new"], "nothing in no.csv"),
    "a test file of other labels": (["train", "reviews.csv", "--test-file", "other.csv", "--out", "new"], "'maybe'"),
    "a test file beside a dataset": (["train", "imdb", "--test-file", "other.csv", "--out", "new"], "a first one"),
    # how to train
    "no such model": (["train", "reviews.csv", "--model", "bert", "--out", "new"], "one of auto, cnn, bilstm, linear"),
    "settings beside auto": (
        ["train", "reviews.csv", "--model", "auto", "--objective", "ibp", "--out", "new"],
        "auto alone: it chooses its settings",
    ),
    "no such objective": (["train", "reviews.csv", "--objective", "sgtb", "--out", "new"], "did you mean sgbt?"),
    "no such preset": (["train", "reviews.csv", "--preset", "paper-cnn-imbd", "--out", "new"], "mean paper-cnn-imdb?"),
    "no such device": (["train", "reviews.csv", "--device", "tpu", "--out", "new"], "one of auto, cpu, cuda"),
    "no epochs": (["train", "reviews.csv", "--epochs", "0", "--out", "new"], "--epochs"),
    "a seed below zero": (["train", "reviews.csv", "--seed", "-1", "--out", "new"], "--seed"),
    "a weight below zero": (["train", "reviews.csv", "--beta", "-0.5", "--out", "new"], "beta at least 0"),
    "a weight that is no number": (["train", "reviews.csv", "--beta", "nan", "--out", "new"], "beta at least 0"),
    "no texts": (["train", "reviews.csv", "--limit", "0", "--out", "new"], "--limit"),
    "no threads": (["train", "reviews.csv", "--threads", "0", "--out", "new"], "--threads"),
    "a weight that the objective has not": (
        ["train", "reviews.csv", "--objective", "ibp", "--gamma", "1", "--out", "new"],
        "an objective with gamma",
    ),
    "an objective that needs substitutes": (
        ["train", "reviews.csv", *CNN, "--objective", "ibp", "--substitutions", "none"],
        "a substitution table for the objective ibp",
    ),
    "no such configuration": (["train", "reviews.csv", "--config", "no.toml", "--out", "new"], "no.toml"),
    "a configuration that is none": (["train", "reviews.csv", "--config", "noise.csv", "--out", "new"], "noise.csv"),
    "a folder as configuration": (["train", "reviews.csv", "--config", "folder", "--out", "new"], "folder"),
    "an unknown setting": (["train", "reviews.csv", "--config", "typo.toml", "--out", "new"], "epoch"),
    # with what
    "no such vectors": (["train", "reviews.csv", *CNN, "--vectors", "no.txt"], "no.txt"),
    "vectors by an unknown name": (["train", "reviews.csv", *CNN, "--vectors", "glvoe"], "glove"),
    "a picture as vectors": (["train", "reviews.csv", *CNN, "--vectors", "noise.csv"], "noise.csv"),
    "an empty file of vectors": (["train", "reviews.csv", *CNN, "--vectors", "empty.csv"], "empty.csv"),
    "a folder of vectors": (["train", "reviews.csv", *CNN, "--vectors", "folder"], "folder"),
    "no such table": (["train", "reviews.csv", *CNN, "--substitutions", "no.json"], "no.json"),
    "an unknown table": (["train", "reviews.csv", *CNN, "--substitutions", "counterfit"], "mean counter_fit?"),
    "a table that is no JSON": (["train", "reviews.csv", *CNN, "--substitutions", "broken.json"], "broken.json"),
    "a table of lists": (["train", "reviews.csv", *CNN, "--substitutions", "list.json"], "a JSON object"),
    "substitutes of two words": (["train", "reviews.csv", *CNN, "--substitutions", "two.json"], "'moving picture'"),
    # where to
    "a file as run": (["train", "reviews.csv", *TRAIN, "--out", "reviews.csv"], "in reviews.csv"),
    "a run below a file": (["train", "reviews.csv", *TRAIN, "--out", "reviews.csv/run"], "reviews.csv"),
    "another run's folder": (["train", "reviews.csv", *TRAIN, "--seed", "3", "--out", "half"], "half"),
    # runs that are none
    **{
        f"{verb}: {name}": ([verb, folder, *more], sentence)
        for verb, more in (("certify", []), ("attack", []), ("explain", ["a good film"]), ("publish", ["--out", "new"]))
        for name, folder, sentence in (
            ("no such run", "runs/no", "the folder of a trained model, got nothing there in runs/no"),
            ("a file", "reviews.csv", "the folder of a trained model"),
            ("an empty folder", "folder", "expected the file config.json, got none in folder"),
            ("an unfinished run", "half", "expected the file config.json, got none in half"),
            ("a broken configuration", "run-config", "a config.json that sgbt wrote"),
            ("a configuration of the future", "run-future", "upgrade sgbt"),
            ("weights cut short", "run-weights", "a whole safetensors file"),
            ("no words", "run-words", "expected the file vocabulary.json, got none"),
            ("no table", "run-table", "expected the file substitutions.json.gz, got none"),
            ("another table", "run-swapped", "the substitution table with hash"),
        )
    },
    # certify
    "certify: no such data": (["certify", "run", "--data", "no.csv"], "nothing in no.csv"),
    "certify: other labels": (["certify", "run", "--data", "other.csv", "--split", "train"], "the model's labels"),
    "certify: no such split": (["certify", "run", "--split", "validation"], "one of train, dev, test"),
    "certify: no such tier": (["certify", "run", "--tiers", "ibp,gmb"], "gmb"),
    "certify: no texts": (["certify", "run", "--limit", "0"], "--limit"),
    "certify: fewer than none": (["certify", "run", "--max-substitutions", "-1"], "-1"),
    "certify: enumerate less than nothing": (["certify", "run", "--oracle", "-5"], "--oracle"),
    "certify: rows into a folder": (["certify", "run", "--out", "folder"], "folder"),
    "certify: rows below a file": (["certify", "run", "--out", "reviews.csv/rows"], "reviews.csv"),
    "certify: rows into something else": (["certify", "run", "--out", "reviews.csv"], "line 1"),
    "certify: rows into a line of yours": (["certify", "run", "--out", "line.json"], "line 1"),
    "certify: rows of another question": (["certify", "run", "--out", "rows.jsonl"], "choose another --out"),
    "certify: an unknown table": (["certify", "run", "--substitutions", "thesaurus"], "counter_fitted"),
    "certify: the data has changed": (["certify", "run-moved"], "it has changed since"),
    "certify: a note that is none": (["certify", "run-note"], "a data.json that sgbt train wrote"),
    "certify: threads below zero": (["certify", "run", "--threads", "-1"], "--threads"),
    # attack
    "attack: no such method": (["attack", "run", "--method", "pwsw"], "did you mean pwws?"),
    "attack: no method": (["attack", "run", "--method", ""], "--method"),
    "attack: a method that needs gradients of a network": (["attack", "run", "--method", "gradient"], "gradient"),
    "attack: all words and more": (["attack", "run", "--method", "greedy", "--max-changed", "2"], "up to 1"),
    "attack: no words": (["attack", "run", "--method", "greedy", "--max-changed", "0"], "above 0"),
    "attack: fewer than no queries": (["attack", "run", "--max-queries", "-1"], "--max-queries"),
    "attack: words alone in a threat": (["attack", "run", "--threat", "typos:1", "--method", "pwws"], "substitutes"),
    "attack: a share of words within a threat": (
        ["attack", "run", "--threat", "typos:1", "--method", "ga", "--max-changed", "0.2"],
        "the budgets of the threat",
    ),
    "attack: too many typing errors": (["attack", "run", "--threat", "typos:3"], "at most 2 typing errors"),
    "attack: a misspelt threat": (["attack", "run", "--threat", "typo:1"], "did you mean typos?"),
    "attack: nobody": (["attack", "run", "--workers", "0"], "--workers"),
    "attack: texts below zero": (["attack", "run", "--limit", "-3"], "--limit"),
    "attack: a seed below zero": (["attack", "run", "--seed", "-3"], "--seed"),
    "attack: examples below zero": (["attack", "run", "--examples", "-3"], "--examples"),
    "attack: no such data": (["attack", "run", "--data", "no.csv"], "nothing in no.csv"),
    "attack: other labels": (["attack", "run", "--data", "other.csv"], "the labels that the model was trained on"),
    "attack: no such split": (["attack", "run", "--split", "validation"], "one of train, dev, test, all"),
    "attack: rows into a folder": (["attack", "run", "--method", "greedy", "--out", "folder"], "folder"),
    "attack: rows into something else": (["attack", "run", "--method", "greedy", "--out", "reviews.csv"], "line 1"),
    "attack: rows into a line of yours": (["attack", "run", "--method", "greedy", "--out", "line.json"], "line 1"),
    "attack: a table into a folder": (["attack", "run", "--method", "greedy", "--csv", "folder"], "folder"),
    # serve
    "serve: no such run": (["serve", "runs/no", "--port", "0"], "a trained model, got nothing there in runs/no"),
    "serve: an unfinished run": (["serve", "half", "--port", "0"], "expected the file config.json"),
    "serve: nothing": (["serve"], "--guard FOLDER with --behind"),
    "serve: a guard before nothing": (["serve", "--guard", "run"], "--guard FOLDER with --behind"),
    "serve: texts that leave the machine": (
        ["serve", "--guard", "run", "--behind", "https://example.org", "--port", "0"], "an http address of this machine"
    ),
    "serve: for everybody, without a token": (["serve", "run", "--host", "0.0.0.0"], "SGBT_TOKEN"),
    "serve: a port that is none": (["serve", "run", "--port", "99999"], "--port"),
    "serve: a host that is none": (["serve", "run", "--host", "no.such.host", "--token", "x" * 40], "no.such.host"),
    # bench, report
    "bench: no such grid": (["bench", "tabel1", "--out", "new"], "table1"),
    "bench: a file that is no grid": (["bench", "typo.toml", "--out", "new"], "typo.toml"),
    "bench: no such executor": (["bench", "smoke", "--out", "new", "--executor", "slurm"], "one of local, ray"),
    "bench: an address without a cluster": (["bench", "smoke", "--out", "new", "--address", "auto"], "--address"),
    "bench: nobody": (["bench", "smoke", "--out", "new", "--workers", "0"], "--workers"),
    "bench: no such cell": (["bench", "smoke", "--out", "new", "--only", "xyz/*"], "xyz"),
    "bench: into a file": (["bench", "smoke", "--out", "reviews.csv"], "reviews.csv"),
    "report: no such folder": (["report", "nothing"], "nothing"),
    "report: an empty folder": (["report", "folder"], "folder"),
    "report: a file": (["report", "reviews.csv"], "reviews.csv"),
    # explain, publish, data
    "explain: no such label": (["explain", "run", "a film", "--defend", "superb"], "one of"),
    "explain: a budget beside a threat": (
        ["explain", "run", "a film", "--threat", "typos:1", "--max-substitutions", "1"],
        "budgets within the threat",
    ),
    "explain: no such threat": (["explain", "run", "a film", "--threat", "typo:1"], "did you mean typos"),
    "explain: fewer than none": (["explain", "run", "a film", "--max-substitutions", "-1"], "-1"),
    "verify: no model": (["verify", "no.jsonl"], "--model, or --callable with --encoder, got neither"),
    "verify: a callable, no encoder": (["verify", "no.jsonl", "--callable", "os:getcwd"], "no.jsonl"),
    "verify: no such rows": (["verify", "no.jsonl", "--model", "run"], "no such file or directory in no.jsonl"),
    "publish: into a full folder": (["publish", "run", "--out", "folder-full"], "a new folder"),
    "publish: into a file": (["publish", "run", "--out", "reviews.csv"], "a new folder"),
    "publish: no such rows": (["publish", "run", "--out", "new", "--certificates", "no.jsonl"], "no.jsonl"),
    "publish: rows that are none": (["publish", "run", "--out", "new", "--attacks", "reviews.csv"], "line 1"),
    "data: no such resource": (["data", "get", "imbd"], "did you mean imdb?"),
    "data: nothing to check": (["data", "verify", "yahoo_answers"], "sgbt data get yahoo_answers"),
    "data: a file as home": (["data", "get", "sememes", "--data-home", "reviews.csv"], "reviews.csv"),
    "data: describe nothing": (["data", "describe", "no.csv"], "nothing in no.csv"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_one_sentence_and_nothing_left_behind(world: Path, capfd: pytest.CaptureFixture[str], case: str) -> None:
    arguments, sentence = WRONG[case]
    before = tree(world)
    assert run(*arguments) == 2
    told = capfd.readouterr().err
    assert told.startswith("sgbt: "), told
    assert told.count("\n") == 1, told
    assert sentence in told
    assert tree(world) == before
    assert not (world / "new").exists()
