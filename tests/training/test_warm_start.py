"""A network that begins as a BagOfWords: what it starts with, what it learns, and what a killed run keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests import small
from tests.training import quick

from sgbt.certify import certify
from sgbt.core.errors import TrainingError
from sgbt.data import Tokenizer
from sgbt.models import BagOfWords, BiLSTM, TextCNN, worst_case_logits
from sgbt.training import Certified, ClusterMeans, TrainingMethod, WarmStart, train
from sgbt.training.beginning import examples_of
from sgbt.training.fitted_parts import FOLDER, initial_bag
from sgbt.training.initialisers import check_starts_as_linear, start_as_linear
from sgbt.training.loop.listeners import Listeners
from sgbt.training.loop.steps import Corpus, Examples

MEAN = {"pooling": "mean", "dropout": 0.0}
LOSS = Certified(kappa=1.0, ramp_epochs=0.0, beta=0.0, gamma=0.0, compactness=0.0)
BEGINS = TrainingMethod(LOSS, ClusterMeans(), recipe=WarmStart())


class Epochs(Listeners):
    """Counts the epochs that were trained."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def epoch(self, number: int, of: int, steps: int) -> None:
        self.seen += 1


def parts() -> tuple[list[Examples], Corpus]:
    data = small.dataset()
    corpus = Corpus(small.VOCABULARY, data.train.tokenised().counts(), small.TABLE)
    splits = [
        examples_of(split, Tokenizer(), small.VOCABULARY, small.QUICK, small.index())
        for split in (data.train, data.dev)
    ]
    return splits, corpus


def bag_of(classes: int = 2, *, seed: int = 0) -> BagOfWords:
    bag = BagOfWords(classes=classes, features=())
    codes = torch.ones(len(small.VOCABULARY), dtype=torch.int64)
    codes[0] = 0
    bag.adopt(codes=codes, keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        bag.weight.copy_(torch.randn(bag.weight.shape, generator=torch.Generator().manual_seed(seed)))
        bag.bias.copy_(torch.linspace(-0.1, 0.1, classes))
    return bag


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_a_network_begins_with_the_answers_and_the_worst_case_of_the_bag(kind: str, classes: int) -> None:
    """Of texts of one length and for windows of one word, where the mean loses nothing, and tanh bends but little."""
    windows = {"kernel_sizes": (1,)} if kind == "cnn" else {}
    model, bag = small.model_of(kind, classes=classes, **MEAN, **windows).eval(), bag_of(classes)
    start_as_linear(model, bag, words=12.0)
    step = small.step_of(small.random_texts(40, 12, 1, shortest=12), classes=classes)
    asked = (step.choices.ids, step.choices.allowed, step.mask, step.labels)

    def centred(logits: torch.Tensor) -> torch.Tensor:
        return logits - logits.mean(dim=1, keepdim=True)

    wanted, found = centred(bag(step.ids, step.mask)), centred(model(step.ids, step.mask))
    assert (wanted - found).abs().max() < 0.1 * wanted.abs().max()
    worst, bound = worst_case_logits(bag, *asked), worst_case_logits(model, *asked)
    if classes == 2:  # with more, a bound takes the worst of each class by itself
        assert (worst - bound).abs().max() < 0.15 * worst.abs().max()
    assert (bound >= worst - 0.15 * worst.abs().max()).all()


@pytest.mark.parametrize("kind", [TextCNN, BiLSTM])
def test_a_run_learns_from_there_and_leaves_one_network(kind: type, tmp_path: Path) -> None:
    run = quick.run(BEGINS, model=kind(small.vectors(), **MEAN, trainable_embedding=True), out=tmp_path / "run")
    model = run.model.model
    assert isinstance(model, kind)
    assert not (tmp_path / "run" / FOLDER).exists()
    proofs = list(certify(run.model, small.dataset().test))
    assert sum(proof.stays for proof in proofs) > len(proofs) / 2
    begun = kind(small.vectors(), **MEAN, trainable_embedding=True)
    assert (model.head.weight != 0).all()  # those that started at zero too
    assert model.embedding.weight.shape[1] == begun.embedding.weight.shape[1]


def test_a_run_that_fitted_no_bag_removes_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run" / FOLDER).mkdir(parents=True)
    quick.run(out=tmp_path / "run")
    assert (tmp_path / "run" / FOLDER).is_dir()


def test_what_begins_as_a_bag_moves_every_weight() -> None:
    model = small.model_of("cnn", trainable_embedding=True, **MEAN)
    start_as_linear(model, bag_of(), words=6.0)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    step = small.step_of(small.random_texts(30, 9, 2, shortest=3))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        optimiser.zero_grad()
        torch.stack([*LOSS.parts(model, step, {}).values()]).sum().backward()
        optimiser.step()
    for name, value in model.named_parameters():
        moved = (value != before[name]).flatten(1).any(dim=1) if value.ndim > 1 else value != before[name]
        assert moved[2:].all() if name.startswith("embedding") else moved.all(), name  # padding and unknown stand still


def test_a_killed_run_does_not_fit_the_bag_again(tmp_path: Path) -> None:
    splits, corpus = parts()
    found = []
    for _ in range(2):
        heard = Epochs()
        asked = {"classes": 2, "kappa": 1.0, "vectors": small.vectors(), "folder": tmp_path, "listener": heard}
        found.append((initial_bag(splits, corpus, **asked), heard.seen))
    (first, trained), (again, none) = found
    assert trained > 0
    assert none == 0
    assert torch.equal(first.weight, again.weight)
    assert torch.equal(first.bias, again.bias)
    assert bool(first.weight.abs().sum() > 0)


def test_a_bag_that_was_kept_of_other_texts_is_not_taken_for_ones_own(tmp_path: Path) -> None:
    splits, corpus = parts()
    asked = {"classes": 2, "kappa": 1.0, "vectors": None, "folder": tmp_path, "listener": Listeners()}
    initial_bag(splits, corpus, **asked)
    for changed in ({"kappa": 0.5}, {"vectors": small.vectors()}):
        with pytest.raises(TrainingError, match="choose another --out"):
            initial_bag(splits, corpus, **asked | changed)
    with pytest.raises(TrainingError, match="choose another --out"):
        initial_bag(splits[::-1], corpus, **asked)


def test_a_resumed_run_ends_with_the_same_weights(tmp_path: Path) -> None:
    def run(folder: Path, listener: Listeners | None = None) -> None:
        quick.run(BEGINS, model=TextCNN(small.vectors(), **MEAN), out=folder, epochs=3, listener=listener)

    class Killed(Listeners):
        def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
            if (tmp_path / "other" / "checkpoint.safetensors").exists():
                raise KeyboardInterrupt

    run(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "other", Killed())
    assert (tmp_path / "other" / FOLDER).exists()
    run(tmp_path / "other")
    quick.assert_same(tmp_path / "whole", tmp_path / "other")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"pooling": "max"}, "pooling = mean"),
        ({"pooling": "mean", "activation": "relu"}, "activation = tanh"),
        ({"pooling": "mean", "projection": 3}, "no projection"),
        ({"pooling": "mean", "filters": 1}, "2 filters or units"),
    ],
)
def test_networks_that_cannot_begin_so_are_refused_before_anything_is_written(
    options: dict[str, object], told: str, tmp_path: Path
) -> None:
    model = TextCNN(small.vectors(), **options)
    with pytest.raises(TrainingError, match=told):
        check_starts_as_linear(model)
    with pytest.raises(TrainingError, match="in warm start"):
        train(model, small.dataset(), objective=BEGINS, substitutions=small.TABLE, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_linear_model_comes_first_only_before_networks() -> None:
    with pytest.raises(TrainingError, match="recipe = warm_start"):
        train(BagOfWords(), small.dataset(), objective=LOSS, recipe=WarmStart(), substitutions=small.TABLE)
