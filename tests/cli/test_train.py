"""`sgbt train` on files of one's own, with vectors made here: no network."""

from __future__ import annotations

import csv
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from tests import small
from typer.testing import CliRunner

from sgbt.cli.app import app, main
from sgbt.models import load_classifier, weights_hash
from sgbt.training.loop.log import read_log


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with vectors in GloVe's format, a table of substitutions, and texts with labels by name."""
    monkeypatch.setenv("SGBT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    table = small.vectors()
    lines = (" ".join([word, *(f"{x:.5f}" for x in table.vector(word))]) for word in table.words)
    Path("vectors.txt").write_text("\n".join(lines) + "\n")
    small.TABLE.to_json("substitutions.json")
    write("reviews.csv", small.dataset(train=60), ("bad one", "good one"))
    return tmp_path


def write(name: str, data, labels: tuple[str, ...]) -> None:
    rows = [{"text": each.text, "label": labels[each.label]} for each in data.train]
    if name.endswith(".jsonl"):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    with Path(name).open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["text", "label"])
        writer.writeheader()
        writer.writerows(rows)


def sgbt(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of a command; training is cut short unless it says otherwise."""
    options = ["--vectors", "vectors.txt", "--substitutions", "substitutions.json", "--threads", "1"]
    quick = [] if "--epochs" in arguments else ["--epochs", "2"]
    monkeypatch.setattr(sys, "argv", ["sgbt", "train", *arguments, *options, *quick])
    try:
        main()
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert sgbt(monkeypatch, *arguments) == 2
    told = capsys.readouterr().err
    assert "Traceback" not in told
    return told


@pytest.mark.parametrize("model", ["cnn", "bilstm"])
def test_a_csv_with_labels_by_name(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sgbt(monkeypatch, "reviews.csv", "--model", model, "--out", "run", "--test") == 0
    told = capsys.readouterr().out
    assert "best epoch on dev: accuracy" in told
    assert "clean accuracy on test:" in told
    found = load_classifier("run")
    assert found.label_names == ("bad one", "good one")
    assert found.table == small.TABLE
    measured = json.loads(Path("run/test.json").read_text())
    assert measured["objective"] == "sgbt"
    assert measured["clean_total"] == 12
    assert measured["clean_accuracy"] == measured["clean_right"] / 12
    rows = read_log(Path("run"))
    assert set(rows[0]["parts"]) == {"cross_entropy", "growth", "curvature"}
    assert Path("run/training.png").stat().st_size > 1000


def test_ten_classes_in_jsonl(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    names = [f"topic {letter}" for letter in "abcdefghij"]
    rows = [
        {"body": f"{small.WORDS[number % 10]} {random.choice(small.PLAIN)} {place}", "topic": names[number % 10]}
        for place, number in enumerate(random.integers(0, 10, 120))
    ]
    Path("topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert sgbt(monkeypatch, "topics.jsonl", "--text", "body", "--label", "topic", "--out", "run") == 0
    found = load_classifier("run")
    assert found.label_names == tuple(names)
    assert found.predict(["good film"]).probabilities.shape == (1, 10)


def test_a_configuration_file_and_options_that_go_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("own.toml").write_text(
        "[training]\nbatch_size = 16\nepochs = 9\nlearning_rate = 1\n"
        "[model]\nfilters = 7\nkernel_sizes = [1, 2]\npooling = 'mean'\n"
        "[objective]\nbeta = 5\nnormalisation = 'entries'\n"
    )
    arguments = ("reviews.csv", "--config", "own.toml", "--out", "run", "--gamma", "0.5", "--epochs", "1")
    assert sgbt(monkeypatch, *arguments) == 0
    config = json.loads(Path("run/config.json").read_text())
    assert config["model"]["options"]["filters"] == 7
    assert config["model"]["options"]["kernel_sizes"] == [1, 2]
    note = config["training"]
    assert (note["config"]["batch_size"], note["config"]["epochs"]) == (16, 1)
    chosen = {"beta": 5, "gamma": 0.5, "normalisation": "entries", "domain": "proven", "detached": False}
    assert note["objective_options"] == chosen


def test_the_same_command_resumes_and_another_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("reviews.csv", "--out", "run", "--objective", "gbm", "--device", "cpu")
    assert sgbt(monkeypatch, *arguments) == 0
    before, rows = weights_hash(load_classifier("run").model), read_log(Path("run"))
    Path("run/config.json").unlink()  # as if it had been killed at the very end
    assert sgbt(monkeypatch, *arguments) == 0
    assert weights_hash(load_classifier("run").model) == before
    assert read_log(Path("run")) == rows
    told = refused(monkeypatch, capsys, *arguments, "--beta", "0.7")
    assert "choose another --out" in told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--objective", "sgtb"), "one of standard, gbm, sgbt, ibp"),
        (("--model", "transformer"), "one of auto, cnn, bilstm"),
        (("--preset", "paper"), "one of paper-bilstm-imdb"),
        (("--objective", "standard", "--beta", "1"), "an objective with beta"),
        (("--beta", "-1"), "beta at least 0"),
        (("--config", "nowhere.toml"), "a configuration file"),
        (("--device", "cuda:banana"), "device"),
        (("--epochs", "0"), "epochs"),
        (("--limit", "0"), "limit"),
        (("--seed", "-1"), "seed"),
        (("--objective", "ibp", "--substitutions", "none"), "a substitution table"),
        (("--label", "nolabel"), "nolabel"),
    ],
)
def test_a_wrong_name_or_number_is_one_sentence(
    arguments: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--substitutions" in arguments:
        monkeypatch.setattr(
            sys, "argv", ["sgbt", "train", "reviews.csv", "--out", "run", "--vectors", "vectors.txt", *arguments]
        )
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 2
        told = capsys.readouterr().err
    else:
        told = refused(monkeypatch, capsys, "reviews.csv", "--out", "run", *arguments)
    assert sentence in told


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[training]\nbatch_size = 'five'\n", "a whole number for batch_size"),
        ("[training]\nlearning_rate = -1\n", "learning_rate above 0"),
        ("[training]\ncolour = 1\n", "'colour'"),
        ("[model]\nkernel_sizes = 3\n", "a list of whole numbers for kernel_sizes"),
        ("[model]\ndropout = 1.5\n", "a share from 0 to below 1"),
        ("[model]\nfilters = true\n", "a whole number for filters"),
        ("[objective]\nbeta = 'much'\n", "a number for beta"),
        ("[objective]\nnormalisation = 3\n", "a text for normalisation"),
        ("[start]\naveraged = 1\n", "true or false for averaged"),
        ("[start]\nwidth = 1000\n", "a width from 1 to"),
        ("training = 3\n", "the tables training, model, objective and start"),
        ("[other]\n", "the tables training, model, objective and start"),
        ("not toml", "a configuration file in TOML"),
    ],
)
def test_a_configuration_file_with_a_fault_is_one_sentence(
    content: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.toml").write_text(content)
    told = refused(monkeypatch, capsys, "reviews.csv", "--out", "run", "--config", "own.toml")
    assert sentence in told
    assert told.strip().count("\n") == 0


def test_an_embedding_starts_from_what_the_table_start_makes_of_the_vectors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.toml").write_text("[start]\naveraged = true\nwidth = 3\n")
    assert sgbt(monkeypatch, "reviews.csv", "--out", "run", "--config", "own.toml") == 0
    assert load_classifier(Path("run")).model.embedding.width == 3
    capsys.readouterr()
    arguments = ("reviews.csv", "--out", "bag", "--config", "own.toml", "--model", "linear", "--objective", "certified")
    assert "a model with an embedding, got linear" in refused(monkeypatch, capsys, *arguments)
    assert not Path("bag").exists()


def test_a_name_in_brackets_is_told_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("reviews.csv").rename("[old].csv")
    assert sgbt(monkeypatch, "[old].csv", "--out", "run") == 0
    assert "[old].csv: " in capsys.readouterr().out


def test_tensorboard_where_it_is_installed_and_where_it_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    told = refused(monkeypatch, capsys, "reviews.csv", "--out", "run", "--tensorboard")
    assert "the package tensorboard, got none installed" in told
    assert not Path("run").exists()
    written: list[tuple[str, float, int]] = []

    class Writer:
        def __init__(self, folder: str, purge_step: int) -> None:
            written.append((folder, 0.0, purge_step))

        def add_scalar(self, name: str, figure: float, step: int) -> None:
            written.append((name, figure, step))

        def flush(self) -> None:
            pass

    stub = types.ModuleType("torch.utils.tensorboard")
    stub.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", stub)
    assert sgbt(monkeypatch, "reviews.csv", "--out", "run", "--tensorboard") == 0
    rows = read_log(Path("run"))
    assert written[0] == ("run/tensorboard", 0.0, 0)
    steps = [row for row in rows if "parts" in row]
    assert [figure for name, figure, _ in written if name == "loss/growth"] == [row["parts"]["growth"] for row in steps]
    assert [step for name, _, step in written if name == "train/accuracy"] == list(range(len(steps)))
    assert [figure for name, figure, _ in written if name == "dev/accuracy"] == [
        row["dev"]["accuracy"] for row in rows if "dev" in row
    ]


def test_a_cell_measured_on_dev_is_rebuilt_into_a_run_that_other_commands_can_read() -> None:
    Path("mine.toml").write_text(
        'split = "dev"\nvectors = "vectors.txt"\nsubstitutions = "substitutions.json"\n'
        '[[datasets]]\nsource = "reviews.csv"\n[models.linear]\n[[methods]]\nobjective = "certified"\n'
        "[training]\nepochs = 1\n"
    )
    commands = ["train", "--preset", "mine.toml:reviews/linear/certified/0", "--out", "run"], ["certify", "run"]
    for words in commands:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (done.output, done.exception)
    assert "certified" in done.output
