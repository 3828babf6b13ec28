"""What another package adds, one of each kind, as CONTRIBUTING.md writes it, by name."""

from __future__ import annotations

import csv
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.conftest import Command
from tests.docs.pages import pieces
from typer.testing import CliRunner

from sgbt.attacks import read_rows as read_attacks
from sgbt.certify import certify, check_consistent, read_rows, rounding
from sgbt.certify.edits import ThreatCertificate
from sgbt.cli.app import app
from sgbt.core.errors import CertificateError, LexiconError, ModelError, TrainingError
from sgbt.core.registry import ATTACKS, EDITS, MODELS, OBJECTIVES, TIERS
from sgbt.evaluate.toy import toy_dataset, toy_table, toy_vectors
from sgbt.models import load_classifier
from sgbt.testing import AttackContract, ModelContract, ObjectiveContract, TierContract
from sgbt.testing.objective_contract import trained
from sgbt.testing.world import untrained
from sgbt.threats import parse_threat
from sgbt.training import IBP, SGBT, Certified

REGISTRIES = (MODELS, EDITS, TIERS, ATTACKS, OBJECTIVES)
NAMES = {
    "sgbt.models": "mean",
    "sgbt.edits": "conjuncts",
    "sgbt.tiers": "enumerated",
    "sgbt.attacks": "random-swaps",
    "sgbt.objectives": "smoothed",
}
NAMED = re.compile(r"# (\w+\.py)\n")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of CONTRIBUTING.md, as an installed package: modules, and the entry points beside them."""
    folder = tmp_path_factory.mktemp("outside")
    blocks = pieces("CONTRIBUTING.md")
    for block in blocks:
        if block.language == "python" and (named := NAMED.match(block.source)):
            (folder / named[1]).write_text(block.source)
    (table,) = [tomllib.loads(block.source) for block in blocks if block.language == "toml"]
    about = folder / "outside-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    lines = []
    for group, points in table["project"]["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module", autouse=True)
def installed(package: Path) -> Iterator[None]:
    """The package on the path of this process, and forgotten afterwards."""
    modules = {path.stem for path in package.glob("*.py")}
    sys.path.insert(0, str(package))
    for registry in REGISTRIES:
        registry.__dict__.pop("_installed", None)
    yield
    sys.path.remove(str(package))
    for registry in REGISTRIES:
        registry.__dict__.pop("_installed", None)
        registry._loaded.pop(NAMES[registry.group], None)
    for name in modules:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts, vectors and a table in files of their own."""
    folder = tmp_path_factory.mktemp("world")
    vectors, data = toy_vectors(), toy_dataset("toy")
    lines = (" ".join([word, *(f"{x:.5f}" for x in vectors.vector(word))]) for word in vectors.words)
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n")
    toy_table().to_json(folder / "table.json")
    with (folder / "reviews.csv").open("w", newline="") as stream:
        rows = [(each.text, data.label_names[each.label]) for each in data.train]
        csv.writer(stream).writerows([("text", "label"), *rows])
    return folder


def sgbt(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def with_path(package: Path) -> dict[str, str]:
    """The environment of a process that has the package installed."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])}


@pytest.fixture(scope="module")
def run(installed: None, world: Path) -> Path:
    """The model of the package, trained with its objective."""
    config = world / "config.toml"
    config.write_text("[training]\nlearning_rate = 0.05\nminimum_count = 1\n[model]\ntrainable_embedding = true\n")
    given = ("--vectors", world / "vectors.txt", "--substitutions", world / "table.json", "--config", config)
    out = world / "run"
    sgbt("train", world / "reviews.csv", "--model", "mean", "--objective", "smoothed", "--out", out, *given)
    return out


def test_every_kind_is_one_file_and_one_line(package: Path) -> None:
    modules = {path.stem for path in package.glob("*.py") if not path.stem.startswith("test_")}
    assert modules == {"mean_of_words", "conjuncts", "enumerated", "random_swaps", "smoothed"}
    points = (package / "outside-1.0.dist-info" / "entry_points.txt").read_text().splitlines()
    assert {line.split(" ")[0] for line in points if "=" in line} == set(NAMES.values())
    for registry in REGISTRIES:
        assert NAMES[registry.group] in registry
        assert NAMES[registry.group] not in registry.own


def test_a_trained_folder_is_certified_attacked_and_without_contradiction(run: Path) -> None:
    model = load_classifier(run).model
    assert type(model).__module__ == "mean_of_words"
    assert model.config.trainable_embedding
    told = sgbt("certify", run, "--tiers", "ibp,enumerated", "--out", run / "proofs.jsonl")
    assert "enumerated" in told
    proofs = read_rows(run / "proofs.jsonl")
    assert {"ibp", "enumerated"} >= {row.tier for row in proofs if row.certified}
    assert any(row.certified for row in proofs)
    sgbt("attack", run, "--method", "random-swaps,greedy", "--out", run / "attacks.jsonl", "--workers", "2")
    attacks = read_attacks(run / "attacks.jsonl")
    assert {row.method for row in attacks} == {"random-swaps", "greedy"}
    for method in ("random-swaps", "greedy"):
        check_consistent(proofs, [row for row in attacks if row.method == method])
    assert "random-swaps" in sgbt("attack", run, "--method", "random-swaps", "--out", run / "attacks.jsonl")


@pytest.fixture(scope="module")
def network(installed: None, world: Path) -> Path:
    """A TextCNN, whose windows read the order of words."""
    config = world / "cnn.toml"
    config.write_text("[training]\nepochs = 3\nminimum_count = 1\n[model]\nfilters = 8\n")
    given = ("--vectors", world / "vectors.txt", "--substitutions", world / "table.json", "--config", config)
    out = world / "cnn"
    sgbt("train", world / "reviews.csv", "--model", "cnn", "--objective", "standard", "--out", out, *given)
    return out


def turned(text: str) -> set[str]:
    """The text, and each that the edit of the page makes of it, by strings alone."""
    words = text.rstrip(".").lower().split()
    found = {" ".join(words)}
    for place in range(1, len(words) - 1):
        if words[place] == "and":
            found.add(" ".join([*words[: place - 1], words[place + 1], "and", words[place - 1], *words[place + 2 :]]))
    return found


def test_a_threat_of_its_edit_is_certified_and_attacked_by_name(network: Path, world: Path) -> None:
    classifier, allowed = load_classifier(network), turned("good and dull and odd")
    assert allowed == {"good and dull and odd", "dull and good and odd", "good and odd and dull"}
    threat, reviews = ("--threat", "conjuncts:1"), world / "reviews.csv"
    given = (*threat, "--data", reviews, "--split", "all")
    sgbt("certify", network, *given, "--out", network / "proofs.jsonl")
    sgbt("attack", network, *given, "--method", "greedy", "--out", network / "attacks.jsonl")
    with reviews.open(newline="") as stream:
        texts = [row["text"] for row in csv.DictReader(stream)]
    proofs, attacks = read_rows(network / "proofs.jsonl", ThreatCertificate), read_attacks(network / "attacks.jsonl")
    stays = {index: len(set(classifier.predict(sorted(turned(text))).labels)) == 1 for index, text in enumerate(texts)}
    assert len(proofs) == len(attacks) == len(texts)
    assert any(row.certified for row in proofs)
    assert all(stays[row.index] for row in proofs if row.certified)
    broken = [row for row in attacks if row.status == "success"]
    assert broken
    assert all(row.perturbed.rstrip(".").lower() in turned(row.original) for row in broken)
    assert not {row.index for row in broken} & {row.index for row in proofs if row.certified}


def test_a_grid_of_names_from_outside_comes_to_a_report(package: Path, tmp_path: Path, sgbt_command: Command) -> None:
    grid = tmp_path / "outside.toml"
    grid.write_text(
        'title = "outside"\nvectors = "toy"\nsubstitutions = "toy"\nsample = 8\ncertify = 8\n'
        'attacks = ["random-swaps"]\ntiers = ["ibp", "enumerated"]\n'
        '[[datasets]]\nsource = "toy"\n[models.mean]\ntrainable_embedding = true\n'
        '[[methods]]\nobjective = "smoothed"\noptions = { smoothing = 0.2 }\n[[methods]]\nobjective = "ibp"\n'
        "[training]\nepochs = 2\nbatch_size = 16\nminimum_count = 1\n"
    )
    environment = with_path(package) | {"OMP_NUM_THREADS": "1", "SGBT_CACHE": str(tmp_path / "cache")}
    for command in (
        ("bench", str(grid), "--out", str(tmp_path / "bench"), "--workers", "1"),
        ("report", str(tmp_path / "bench"), "--out", str(tmp_path / "report.html")),
    ):
        done = sgbt_command(*command, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "report.md").read_text()
    assert "smoothed" in page
    assert "random-swaps" in page


def test_the_help_names_what_is_installed(package: Path, sgbt_command: Command) -> None:
    environment = with_path(package) | {"COLUMNS": "200"}
    for verb, names in (("train", ("mean", "smoothed")), ("certify", ("enumerated",)), ("attack", ("random-swaps",))):
        told = sgbt_command(verb, "--help", env=environment).stdout
        assert all(name in told for name in names)


def test_without_the_package_its_folder_and_its_rows_are_refused_in_a_sentence(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sgbt("certify", run, "--tiers", "enumerated", "--out", run / "enumerated.jsonl")
    for registry in REGISTRIES:
        monkeypatch.setitem(registry.__dict__, "_installed", {})
        monkeypatch.delitem(registry._loaded, NAMES[registry.group], raising=False)
    with pytest.raises(ModelError, match="mean"):
        load_classifier(run)
    with pytest.raises(LexiconError, match="substitution table"):
        parse_threat("conjuncts:1", lambda name: None)
    with pytest.raises(CertificateError, match="tiers among"):
        read_rows(run / "enumerated.jsonl")


def test_a_model_without_an_allowance_for_rounding_is_not_certified(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = load_classifier(run)
    monkeypatch.setattr(rounding, "float64_allowance", rounding.float64_allowance.registry[object])
    with pytest.raises(CertificateError, match="whose rounding is known"):
        certify(classifier, ["the film was good"])


class TestMean(ModelContract):
    @pytest.fixture
    def name(self) -> str:
        return "mean"


class TestEnumerated(TierContract):
    @pytest.fixture
    def name(self) -> str:
        return "enumerated"

    @pytest.fixture(params=["mean", "cnn"])
    def model(self, request: pytest.FixtureRequest) -> str:
        return request.param


class TestRandomSwaps(AttackContract):
    @pytest.fixture
    def name(self) -> str:
        return "random-swaps"


class TestSmoothed(ObjectiveContract):
    @pytest.fixture
    def name(self) -> str:
        return "smoothed"

    @pytest.fixture(params=["mean", "cnn"])
    def model(self, request: pytest.FixtureRequest) -> str:
        return request.param


def test_a_model_of_another_package_is_trained_on_its_worst_case_and_needs_more_for_growth_bounds() -> None:
    model = untrained("mean", toy_dataset("toy"))
    for objective in (IBP(ramp_epochs=1.0), Certified(ramp_epochs=1.0, beta=0.0, gamma=0.0)):
        assert "certified" in trained(objective, model).dev
    with pytest.raises(TrainingError, match="growth bounds"):
        trained(SGBT(), model)


def test_the_contract_of_the_page_is_the_one_above(package: Path) -> None:
    made = import_module("test_mean_of_words").TestMeanOfWords
    assert issubclass(made, ModelContract)
    assert "name" in vars(made)
