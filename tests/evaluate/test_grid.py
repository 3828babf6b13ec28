"""Grids: what they expand to, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sgbt.core.errors import EvaluationError
from sgbt.evaluate import SHIPPED, load_grid
from sgbt.evaluate.code_version import tree_of
from sgbt.evaluate.grid import Grid, matches
from sgbt.evaluate.grid_file import parse_grid
from sgbt.evaluate.materials import Materials, sample_rows
from sgbt.evaluate.toy import toy_dataset, toy_table, toy_vectors
from sgbt.evaluate.unit import training_unit, units_of
from sgbt.evaluate.working import untrained
from sgbt.threats import smoothed_vectors

SMALL = """
vectors = "toy"
substitutions = "toy"
attacks = ["pwws", "ga"]
sample = 5
[[datasets]]
source = "toy"
[models.cnn]
filters = 4
[[methods]]
objective = "gbm"
[[methods]]
objective = "sgbt"
sweep = { beta = [0.1, 0.2], gamma = [0.3] }
[training]
epochs = 1
"""


def parsed(text: str) -> Grid:
    return parse_grid(text, name="own", where="own.toml")


def test_a_grid_is_the_product_of_its_axes() -> None:
    assert [cell.name for cell in parsed(SMALL).cells()] == [
        "toy/cnn/gbm/0",
        "toy/cnn/sgbt-beta0.1-gamma0.3/0",
        "toy/cnn/sgbt-beta0.2-gamma0.3/0",
    ]


def test_options_of_an_objective_hold_where_a_method_does_not_say_otherwise() -> None:
    cells = parsed(SMALL + "\n[objectives.sgbt]\nbeta = 9.0\nnormalisation = 'raw'").cells()
    assert [dict(cell.objective_options) for cell in cells] == [
        {},
        {"beta": 0.1, "gamma": 0.3, "normalisation": "raw"},
        {"beta": 0.2, "gamma": 0.3, "normalisation": "raw"},
    ]


def test_a_grid_on_dev_never_reads_test() -> None:
    (source,) = parsed('split = "dev"\n' + SMALL).datasets
    on_dev, whole = Materials().dataset(source), toy_dataset("toy")
    assert on_dev.test.texts == on_dev.dev.texts == whole.dev.texts
    assert not set(on_dev.test.texts) & set(whole.test.texts)
    assert on_dev.train.texts == whole.train.texts


def test_a_start_of_the_embedding_changes_trainings_of_networks_and_what_they_start_from() -> None:
    start = "\n[start]\naveraged = true\nwidth = 3\n[models.linear]\n[[rules]]\ncells = '*'\nattacks = []\n"
    text = SMALL.replace('objective = "gbm"', 'objective = "standard"').replace("sweep", "#")
    text = text.replace('objective = "sgbt"', 'objective = "ibp"')
    plain, started = parsed(text + start.replace("averaged = true\nwidth = 3", "")), parsed(text + start)
    materials = Materials()
    for before, after in zip(plain.cells(), started.cells(), strict=True):
        one, other = training_unit(before, materials), training_unit(after, materials)
        assert (one.key == other.key) == (before.model == "linear")
    model = untrained(training_unit(started.cells()[0], materials), materials)
    expected = smoothed_vectors(toy_vectors(), toy_table()).condensed(3, spread=0.16)
    assert np.array_equal(model.embedding.source.vectors, expected.vectors)


def test_dev_can_be_cut_as_train_and_test_are() -> None:
    (source,) = parsed(SMALL.replace('source = "toy"', 'source = "toy"\ndev = 3')).datasets
    cut, whole = Materials().dataset(source), toy_dataset("toy")
    assert cut.dev.texts == whole.dev.take(sample_rows(len(whole.dev), 3, seed=0) or ()).texts
    assert (cut.train.texts, cut.test.texts) == (whole.train.texts, whole.test.texts)


def test_with_a_dev_of_0_all_training_texts_are_trained_on(tmp_path: Path) -> None:
    lines = [f"a film of {number},{('good', 'bad')[number % 2]}" for number in range(100)]
    (tmp_path / "films.csv").write_text("\n".join(["text,label", *lines]))
    source = f'source = "{tmp_path / "films.csv"}"'
    (some,), (all_of,) = (parsed(SMALL.replace('source = "toy"', source + more)).datasets for more in ("", "\ndev = 0"))
    usual, whole = Materials().dataset(some), Materials().dataset(all_of)
    assert len(usual.dev) > 0
    assert not len(whole.dev)
    assert {*whole.train.texts} == {*usual.train.texts, *usual.dev.texts}
    assert whole.test.hash == usual.test.hash


def test_rules_change_what_they_match_and_nothing_else() -> None:
    rule = '\n[[rules]]\ncells = "toy/cnn/sgbt-*"\ntraining = { epochs = 7 }\nattacks = []\n'
    plain, *ruled = parsed(SMALL + rule).cells()
    assert plain.training == {"epochs": 1}
    assert plain.attacks == ("pwws", "genetic")
    assert [(cell.training, cell.attacks) for cell in ruled] == [({"epochs": 7}, ())] * 2


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("imdb/cnn/sgbt/0", "imdb", True),
        ("imdb/cnn/sgbt/0", "imdb/cnn/*", True),
        ("imdb/cnn/sgbt/0", "*/*/*/0", True),
        ("imdb/cnn/sgbt/1", "*/*/*/0", False),
        ("imdb/cnn/sgbt-x/0", "imdb/cnn/sgbt", False),
    ],
)
def test_patterns(name: str, pattern: str, fits: bool) -> None:
    assert matches(name, pattern) is fits


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_grids_can_be_read(name: str) -> None:
    assert load_grid(name).cells()


def test_table1_is_the_papers_table() -> None:
    grid = load_grid("table1")
    assert {cell.dataset.name for cell in grid.cells()} == {"imdb", "yahoo_answers"}
    assert {cell.model for cell in grid.cells()} == {"cnn", "bilstm"}
    expected = {"standard", "ibp", "atfl", "sem", "ascc", "gbm", "sgbt", "certified"}
    assert {cell.method.objective for cell in grid.cells()} == expected
    assert all((cell.attacks, cell.sample) == (("pwws", "genetic", "pso"), 1000) for cell in grid.cells())
    assert all(cell.certify is None for cell in grid.cells())
    assert sum(cell.name.startswith("imdb/cnn/") for cell in grid.cells()) == 16  # two seeds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nonsense", "a TOML file"),
        (SMALL.replace('source = "toy"', 'sauce = "toy"'), "a text as source"),
        (SMALL + "\n[[rules]]\ncells = 'x'\nepoch = 4", "got 'epoch'"),
        (SMALL.replace("filters = 4", "filter = 4"), "'filter'"),
        (SMALL.replace("filters = 4", 'filters = "four"'), "a whole number for filters"),
        (SMALL.replace("epochs = 1", "epochs = 0"), "epochs of at least 1"),
        (SMALL.replace('"gbm"', '"gbn"'), "got 'gbn'"),
        (SMALL.replace('"ga"', '"gaa"'), "got 'gaa'"),
        (SMALL.replace("models.cnn", "models.rnn"), "got 'rnn'"),
        (SMALL.replace("[models.cnn]\nfilters = 4", "[models.linear]"), "for a linear model, got gbm"),
        (SMALL.replace("gamma = [0.3]", "delta = [0.3]"), "'delta'"),
        (SMALL.replace("sample = 5", "sample = 0"), "at least 1"),
        (SMALL.replace("sample = 5", 'sample = "five"'), "a whole number as sample"),
        ("seeds = [0]\n[models.cnn]\n[[datasets]]\nsource='toy'", "tables [[methods]]"),
        (SMALL + '\n[[methods]]\nobjective = "gbm"', "'gbm' twice"),
        (SMALL.replace("sample = 5", 'keep = ["nothing/*"]'), "expected a cell"),
        ('tiers = ["best"]\n' + SMALL, "tiers among"),
        ('split = "train"\n' + SMALL, "expected dev or test, got 'train'"),
        (
            'split = "dev"\n' + SMALL.replace('source = "toy"', 'source = "toy"\ndev = 0'),
            "expected texts of dev to measure",
        ),
        (SMALL + "\n[objectives.gbn]\nbeta = 1.0", "objectives among standard"),
        (SMALL + "\n[objectives.gbm]\ndelta = 1.0", "'delta'"),
        (SMALL + "\n[objectives.certified]\nkappa = 1.0", "that some method has, got 'certified'"),
    ],
)
def test_what_is_wrong_is_named_before_anything_runs(text: str, told: str) -> None:
    with pytest.raises(Exception, match="expected ") as refused:
        parsed(text)
    assert told in str(refused.value)
    assert type(refused.value).__module__ == "sgbt.core.errors"


def test_an_unknown_grid_is_refused_with_a_guess() -> None:
    with pytest.raises(EvaluationError, match="did you mean table1"):
        load_grid("tabel1")
    with pytest.raises(EvaluationError, match="no such file"):
        load_grid("nowhere.toml")


def test_files_beside_the_grid_are_found(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("text,label\n")
    (tmp_path / "own.toml").write_text(SMALL.replace('source = "toy"', 'source = "texts.csv"'))
    dataset = load_grid(tmp_path / "own.toml").datasets[0]
    assert (dataset.source, dataset.name) == (str(tmp_path / "texts.csv"), "texts")


def keys(text: str) -> list[str]:
    return [unit.key for unit in units_of(parsed(text).cells("toy/cnn/gbm"), Materials())]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (("epochs = 1", "epochs = 2"), 0),
        (("filters = 4", "filters = 5"), 0),
        (("sample = 5", "sample = 6"), 3),  # training, predictions and certificates stay
        (("sample = 5", "sample = 5\nmax_queries = 9"), 3),
        (("sample = 5", 'sample = 5\ntiers = ["ibp"]'), 4),
        (("sample = 5", "sample = 5\nseeds = [1]"), 0),
        (("sample = 5", 'sample = 5\nsplit = "dev"'), 0),
        (("sample = 5", 'sample = 5\nsplit = "test"'), 5),  # what is the default anyway
        (("epochs = 1", "epochs = 1\n[attack_options.genetic]\npopulation = 4"), 4),
        (("filters = 4", "filters = 4\ndropout = 0.5"), 5),  # what is the default anyway
    ],
)
def test_a_unit_is_named_by_what_determines_its_result(change: tuple[str, str], same: int) -> None:
    before, after = keys(SMALL), keys(SMALL.replace(*change))
    assert len(before) == len(after) == 5
    assert len(set(before) & set(after)) == same


def test_code_counts_and_its_comments_do_not() -> None:
    base = tree_of('"""One."""\nx = 1\n"""Why."""\ndef f():\n    """Two."""\n    return x\n')
    assert tree_of('"""Other."""\nx = 1  # a note\n\ndef f():\n    return (x)\n') == base
    assert tree_of("x = 2\ndef f():\n    return x\n") != base


def test_a_sample_is_drawn_once_for_all() -> None:
    assert sample_rows(25_000, 5, seed=0) == (2405, 8553, 14924, 18897, 19086)
    assert sample_rows(5, 5, seed=0) is None
    assert sample_rows(100, 10, seed=0) != sample_rows(100, 10, seed=1)
