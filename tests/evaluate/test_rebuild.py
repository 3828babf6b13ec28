"""A published model can be trained again by its name, and comes out the same."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from pages.rows import rows as rows_of
from typer.testing import CliRunner

import sgbt
from sgbt.cli.app import app
from sgbt.core.errors import EvaluationError, SgbtWarning
from sgbt.core.registry import MODELS
from sgbt.evaluate import RunRecord, bench, read_records
from sgbt.evaluate.bench import Published
from sgbt.evaluate.grid_file import load_grid
from sgbt.evaluate.unit import training_config
from sgbt.models import load_classifier, weights_hash
from sgbt.threats import EmbeddingStart
from sgbt.training import TrainingConfig, method_of
from sgbt.training.config import with_options

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("cell", ["toy/linear/certified/0", "toy/cnn/sgbt/1"])
def test_a_cell_trained_by_name_is_the_cell_of_the_benchmark(cell: str, tmp_path: Path) -> None:
    bench(load_grid("smoke"), tmp_path / "bench", only=cell)
    made = [path.parent for path in (tmp_path / "bench").rglob("model.safetensors")]
    assert len(made) == 1
    run = Published.named(f"smoke:{cell}").train(tmp_path / "again")
    assert weights_hash(run.model.model) == weights_hash(load_classifier(made[0]).model)


def test_a_name_that_means_several_or_none_is_told() -> None:
    with pytest.raises(EvaluationError, match="say which: smoke:toy/cnn/standard/0"):
        Published.named("smoke:toy/cnn")
    with pytest.raises(EvaluationError, match="none that matches"):
        Published.named("smoke:toy/tree")


def test_the_command_trains_a_published_model_and_nothing_beside_it(tmp_path: Path) -> None:
    name = "smoke:toy/linear/certified/0"
    done = CliRunner().invoke(app, ["train", "--preset", name, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "toy/linear/certified/0 of the grid smoke" in done.output
    assert load_classifier(tmp_path / "run").model.kind == "linear"
    for more in (
        ["imdb"],
        ["--model", "bilstm"],
        ["--epochs", "3"],
        ["--beta", "0.0"],
        ["--seed", "0"],
        ["--test"],
        ["--vectors", "glove"],
    ):
        refused = CliRunner().invoke(app, ["train", *more, "--preset", name, "--out", str(tmp_path / "other")])
        assert refused.exit_code != 0
        assert "leave it out" in str(refused.exception)
    assert not (tmp_path / "other").exists()


def test_a_model_that_was_trained_on_all_texts_is_certified_on_those_that_were_not(tmp_path: Path) -> None:
    lines = [f"a {('good', 'bad')[number % 2]} film of {number},{number % 2}" for number in range(100)]
    (tmp_path / "films.csv").write_text("\n".join(["text,label", *lines]))
    (tmp_path / "own.toml").write_text(
        'title = "films"\nseeds = [0]\nvectors = "toy"\nsubstitutions = "toy"\nattacks = []\n'
        '[[datasets]]\nsource = "films.csv"\ndev = 0\n[models.linear]\nfeatures = []\n'
        '[[methods]]\nobjective = "certified"\n[training]\nepochs = 2\nminimum_count = 1\n'
    )
    name = f"{tmp_path / 'own.toml'}:films/linear/certified/0"
    done = CliRunner().invoke(app, ["train", "--preset", name, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "the last epoch is kept" in done.output
    certified = CliRunner().invoke(app, ["certify", str(tmp_path / "run")])
    assert certified.exit_code == 0, f"{certified.output} {certified.exception}"


PUBLISHED = [
    pytest.param(record, id=f"{record.grid}:{record.dataset}/{record.model}/{record.label}/{record.seed}")
    for path in sorted((ROOT / "results").glob("*/records.jsonl"))
    for record in read_records(path)
]


@pytest.mark.parametrize("record", PUBLISHED)
def test_every_published_run_is_a_cell_that_can_be_trained_by_name(record: RunRecord) -> None:
    (cell,) = load_grid(record.grid).cells(f"{record.dataset}/{record.model}/{record.label}/{record.seed}")
    assert cell.method.objective == record.objective
    assert Path(cell.vectors).name == record.config["vectors"]
    assert Path(cell.substitutions).name == record.config["trained_for"]
    assert cell.dataset.split == record.config.get("split", "test")
    assert cell.dataset.train == record.config.get("train", cell.dataset.train)
    assert cell.dataset.dev == record.config.get("dev")
    assert asdict(cell.start) == record.config.get("start", asdict(EmbeddingStart()))
    kind = MODELS[cell.model].Options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SgbtWarning)  # records have the names that options had
        recorded = {
            "model": kind(**record.config["model_options"]),
            "method": method_of(record.objective, record.config["objective_options"]),
            "training": with_options(TrainingConfig(), record.config["training"], "training"),
        }
    now = {
        "model": replace(with_options(kind(), dict(cell.model_options), "model"), classes=recorded["model"].classes),
        "method": method_of(record.objective, cell.objective_options),
        "training": replace(training_config(cell), checkpoint_seconds=recorded["training"].checkpoint_seconds),
    }
    assert now == recorded  # an option that came after the record has its default


def test_every_published_certificate_is_of_a_cell_that_can_be_trained_by_name() -> None:
    cells = {f"{cell.model}-{cell.method.label}" for cell in load_grid("certificates").cells()}
    rows = [
        row
        for path in (ROOT / "results" / "certificates").glob("*.jsonl")
        for row in rows_of(f"certificates/{path.stem}")
    ]
    assert {row["run"] for row in rows if "run" in row} == cells


@pytest.mark.soak
def test_a_model_of_the_certificates_comes_out_as_published(tmp_path: Path) -> None:
    run = Published.named("certificates:imdb/cnn/standard/0").train(tmp_path / "run")
    published = {row["of"] for row in rows_of("certificates/cnn")
                 if row.get("run") == "cnn-standard" and "of" in row}  # fmt: skip
    test = sgbt.load_dataset("imdb").test
    some = test.take(range(0, len(test), len(test) // 1000))[:1000]
    right = (run.model.predict(some.texts).probabilities.argmax(axis=1) == some.labels).sum()
    assert max(published) == min(published) == pytest.approx(right, abs=3)  # another machine rounds in another way


@pytest.mark.soak
def test_the_smallest_published_model_comes_out_as_published(tmp_path: Path) -> None:
    (record,) = [
        record
        for record in read_records(ROOT / "results" / "imdb-linear" / "records.jsonl")
        if (record.model, record.objective) == ("grams", "certified")
    ]
    run = Published.named("imdb-linear:imdb/grams/certified/0").train(tmp_path / "run")
    best = max(row["dev"]["certified"] for row in record.curve)
    assert run.dev["certified"] == pytest.approx(best, abs=0.002)  # another machine rounds in another way
