"""`sgbt train --model linear`: from a file to a folder, and no word vectors are ever read."""

import pytest
from typer.testing import CliRunner

from sgbt.certify.edits import certify_against
from sgbt.cli.app import app
from sgbt.core.errors import TrainingError
from sgbt.models import BagOfWords, load_classifier
from sgbt.models.folder import training_note
from sgbt.threats import SubstitutionTable, Threat


@pytest.fixture
def arguments(tmp_path):
    lines = [
        f"the film number {row} was {word},{label}" for row in range(20) for word, label in (("good", 1), ("bad", 0))
    ]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *lines]))
    SubstitutionTable({"good": ("fine",), "film": ("movie",)}).to_json(tmp_path / "table.json")
    (tmp_path / "more.toml").write_text('[model]\nfeatures = ["after"]\nminimum_count = 1\n[objective]\nkappa = 1.0\n')
    data, table, more, out = (str(tmp_path / name) for name in ("reviews.csv", "table.json", "more.toml", "run"))
    train = ["train", data, "--model", "linear", "--epochs", "2", "--vectors", "nowhere.txt", "--out", out]
    return [*train, "--substitutions", table, "--config", more]


def test_a_linear_model_needs_no_vectors(arguments, tmp_path):
    result = CliRunner().invoke(app, [*arguments, "--objective", "certified"])
    assert result.exit_code == 0, result.output
    assert "dev certified" in result.output
    model = load_classifier(tmp_path / "run").model
    assert isinstance(model, BagOfWords)
    assert model.config.features == ("after",)
    assert model.weight.any()


def test_an_objective_it_cannot_have_is_refused(arguments):
    result = CliRunner().invoke(app, [*arguments[:-2], "--objective", "sgbt"])
    assert isinstance(result.exception, TrainingError)
    assert "standard, ibp, certified" in str(result.exception)


def test_training_for_a_threat(arguments, tmp_path):
    for_threat = [*arguments[:6], "--vectors", "nowhere.txt", "--out", str(tmp_path / "run"), "--threat", "typos:1"]
    result = CliRunner().invoke(app, for_threat)
    assert result.exit_code == 0, result.output
    assert "threat typos:1" in result.output
    model = load_classifier(tmp_path / "run")
    assert model.model.config.features == ()
    (proof,) = certify_against(model, ["the film was good"], Threat.typos(1), labels=[1])
    assert proof.predicted == 1
    result = CliRunner().invoke(app, [*for_threat, "--model", "grams", "--out", str(tmp_path / "grams")])
    assert result.exit_code == 0, result.output
    assert "with the worst edits added one by one" in " ".join(result.output.split())
    assert training_note(tmp_path / "grams")["objective_options"]["threat"] == "typos:1"
    result = CliRunner().invoke(app, [*for_threat, "--objective", "sgbt"])
    assert isinstance(result.exception, TrainingError)
    assert "a model alone" in str(result.exception)


def test_by_default_the_fit_to_a_threat_is_chosen_on_dev(arguments, tmp_path):
    asked = [*arguments[:2], "--vectors", "nowhere.txt", "--out", str(tmp_path / "run"), "--threat", "typos:1"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert "without word vectors" in told
    assert "l2 1e-05" in told
    assert training_note(tmp_path / "run")["threat"] == "typos:1"
