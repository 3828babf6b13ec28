"""Options under the names of earlier versions: read with one warning line, they train the same weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from tests import small

from sgbt.core import renamed
from sgbt.core.errors import SgbtError, SgbtWarning, TrainingError
from sgbt.evaluate.grid_file import parse_grid
from sgbt.evaluate.materials import Materials
from sgbt.evaluate.unit import training_unit
from sgbt.models import TextCNN, weights_hash
from sgbt.training import (
    Certified,
    ClusterMeans,
    LateFusion,
    Residual,
    ScaledClusterMeans,
    TiedWords,
    TrainingConfig,
    TrainingMethod,
    WarmStart,
    method_of,
    train,
)
from sgbt.training.config import with_options

WORDS = ("linear", {"features": (), "places": True})
METHODS: list[tuple[dict[str, Any], TrainingMethod]] = [
    ({"from_communities": True}, TrainingMethod(Certified(), ClusterMeans())),
    ({"ties": [1.0, 3.0]}, TrainingMethod(Certified(), ScaledClusterMeans(), TiedWords((1.0, 3.0)))),
    ({"ties": (1.0,), "from_communities": True}, TrainingMethod(Certified(), ScaledClusterMeans(), TiedWords((1.0,)))),
    ({"from_bag": True, "from_communities": True}, TrainingMethod(Certified(), ClusterMeans(), recipe=WarmStart())),
    ({"code_channel": True}, TrainingMethod(Certified(), ClusterMeans(), recipe=Residual("grams"))),
    (
        {"code_channel": True, "channel_ending": 2, "channel_resolutions": [0.5], "kappa": 1.0},
        TrainingMethod(
            Certified(kappa=1.0),
            ClusterMeans(),
            recipe=Residual("grams", {"ending": 2, "more_resolutions": [0.5]}),
        ),
    ),
    ({"bag_channel": True}, TrainingMethod(Certified(), recipe=Residual(*WORDS))),
    ({"bag_channel": True, "apart": True}, TrainingMethod(Certified(), recipe=LateFusion(*WORDS))),
    (
        {"ties": (1.0,), "bag_channel": True, "apart": True, "weighed": True},
        TrainingMethod(Certified(), ScaledClusterMeans(), TiedWords((1.0,)), LateFusion(*WORDS, choose_weight=True)),
    ),
    ({"from_bag": False, "ties": [], "apart": False, "channel_ending": 0}, TrainingMethod(Certified())),
]


def names_in(each: object) -> str:
    return "-".join(each) if isinstance(each, dict) else ""


@pytest.fixture(autouse=True)
def _nothing_told_yet() -> Iterator[None]:
    before = set(renamed._WARNED)
    renamed._WARNED.clear()
    yield
    renamed._WARNED.clear()
    renamed._WARNED.update(before)


@pytest.mark.parametrize(("old", "now"), METHODS, ids=names_in)
def test_old_options_of_certified_are_a_method(old: dict[str, Any], now: TrainingMethod) -> None:
    with pytest.warns(SgbtWarning) as told:
        assert method_of("certified", old) == now
    (line,) = [str(each.message) for each in told]
    assert all(name in line for name in old if name != "kappa")
    assert Certified(**old) == now, "and so in Python, without a second warning"


@pytest.mark.parametrize(
    ("old", "now"), METHODS[:-1], ids=lambda each: "-".join(each) if isinstance(each, dict) else ""
)
def test_old_and_new_names_train_the_same_weights(old: dict[str, Any], now: TrainingMethod) -> None:
    hashes = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SgbtWarning)
        for method in (Certified(**old), now, method_of("certified", now.options)):
            model = TextCNN(small.vectors(), pooling="mean", trainable_embedding=True)
            run = train(model, small.dataset(), objective=method, substitutions=small.TABLE, config=small.QUICK)
            hashes.add(weights_hash(run.model.model))
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"from_bag": True, "code_channel": True}, "got from_bag and code_channel"),
        ({"bag_channel": True, "code_channel": True}, "got code_channel and bag_channel"),
        ({"bag_channel": True, "channel_ending": 5}, "expected code_channel with"),
        ({"channel_resolutions": (0.3,)}, "expected code_channel with"),
        ({"apart": True}, "expected code_channel or bag_channel with apart"),
        ({"apart": True, "from_bag": True}, "expected code_channel or bag_channel with apart"),
        ({"bag_channel": True, "weighed": True}, "expected apart with weighed"),
        ({"ties": "30"}, "numbers for tied_words"),
    ],
)
def test_old_options_that_contradict_each_other_are_refused(options: dict[str, Any], message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SgbtWarning)
        with pytest.raises(TrainingError, match=message):
            Certified(**options)


def test_renamed_options_are_read_in_python_and_in_files() -> None:
    with pytest.warns(SgbtWarning, match="rare is now minimum_count, fall is now learning_rate_decay"):
        assert TrainingConfig(rare=3, fall=2.0) == TrainingConfig(minimum_count=3, learning_rate_decay=2.0)
    assert with_options(TrainingConfig(), {"rare": 3}, "a table") == TrainingConfig(minimum_count=3)
    with pytest.warns(SgbtWarning, match="drawn_together is now compactness, closeness is now compactness_measure"):
        old = Certified(drawn_together=0.5, closeness="triplet")
    assert old == Certified(compactness=0.5, compactness_measure="triplet")
    with pytest.raises(SgbtError, match="rare, its old name, as well"):
        TrainingConfig(rare=3, minimum_count=2)


GRID = """
seeds = [0]
vectors = "toy"
substitutions = "toy"
[[datasets]]
source = "toy"
[models.cnn]
trainable_embedding = true
[[methods]]
objective = "certified"
options = {{ {own} }}
[[methods]]
objective = "certified"
label = "other"
[objectives.certified]
{all}
[training]
{training}
"""


def test_a_grid_with_old_names_has_the_same_trainings_and_one_warning() -> None:
    old = {
        "own": "from_bag = false, ties = [1.0]",
        "all": "drawn_together = 0.2\nfrom_bag = true",
        "training": "fall = 2.0",
    }
    now = {
        "own": 'recipe = "alone", initialiser = "scaled_cluster_means", tied_words = [1.0]',
        "all": 'compactness = 0.2\nrecipe = "warm_start"',
        "training": "learning_rate_decay = 2.0",
    }

    def specs(text: dict[str, str]) -> list[dict[str, Any]]:
        grid = parse_grid(GRID.format(**text), name="own", where="a test")
        return [training_unit(cell, Materials()).spec for cell in grid.cells()]

    with pytest.warns(SgbtWarning) as told:
        found = specs(old)
    assert found == specs(now)
    (line,) = [str(each.message) for each in told]
    assert all(name in line for name in ("fall", "ties", "from_bag", "drawn_together"))


def test_options_of_a_method_that_there_are_not_are_refused() -> None:
    for options, message in (
        ({"recipe": "late_fusoin"}, "did you mean late_fusion"),
        ({"initialiser": "means"}, "one of vectors, cluster_means"),
        ({"part": "linear"}, "a recipe that has part, got the recipe alone"),
        ({"recipe": "residual", "choose_weight": True}, "a recipe that has choose_weight"),
        ({"tied_words": 3.0}, "a list of numbers for tied_words"),
        ({"tied": [3.0]}, "'tied'"),
        ({"recipe": 3}, "a text for recipe"),
    ):
        with pytest.raises(TrainingError, match=message):
            method_of("certified", options)
    with pytest.raises(TrainingError, match="'ties'"):
        method_of("ibp", {"ties": [1.0]})
