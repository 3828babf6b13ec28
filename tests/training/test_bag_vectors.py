"""What word vectors bring to a BagOfWords: clusters share them, weights follow them, and nothing needs them later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests import small
from tests.training import quick
from typer.testing import CliRunner

from sgbt.cli.app import app
from sgbt.core.errors import TrainingError
from sgbt.embeddings import EmbeddingTable
from sgbt.models import BagOfWords, load_classifier
from sgbt.threats import Vocabulary
from sgbt.training import IBP, Certified
from sgbt.training.initialisers import cluster_vectors
from sgbt.training.sharing import TiedWeights

WORST = IBP(kappa=1.0, ramp_epochs=0.0)


def test_a_community_has_the_mean_of_its_words_weighed_by_what_train_has() -> None:
    vocabulary = Vocabulary(("good", "fine", "great", "odd"))
    table = EmbeddingTable(
        ("good", "fine", "other"), np.array([[1.0, 0.0], [0.0, 3.0], [9.0, 9.0]], np.float32), "three"
    )
    communities = np.array([0, 1, 2, 2, 2, 5])
    found = cluster_vectors(vocabulary, table, {"good": 3}, communities).numpy()
    centred = np.array([[0.5, -1.5], [-0.5, 1.5]])
    mean = (3 * centred[0] + centred[1]) / 4 / np.sqrt(2.5)
    assert np.allclose(found[2:5], mean)  # great has no vector of its own
    assert not found[[0, 1, 5]].any()
    assert not cluster_vectors(Vocabulary(("odd",)), table, {}, np.arange(3)).any()


def test_weights_are_what_ties_give_and_a_linear_function_of_vectors() -> None:
    bag = BagOfWords(features=()).double()
    codes = torch.ones(6, dtype=torch.int64)
    bag.adopt(codes=codes, keys=torch.zeros(0, dtype=torch.int64))
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    levels = torch.tensor([[0, 1, 2, 2, 4, 4]])
    ties = TiedWeights.of(bag, levels, vectors)
    parts = torch.randn(ties.parts, 2, generator=generator, dtype=torch.float64, requires_grad=True)
    found = ties.weights(parts)
    plain = TiedWeights.of(bag, levels)
    assert ties.parts == plain.parts + 3
    assert torch.allclose(found, plain.weights(parts[:-3]) + vectors @ parts[-3:])
    (gradient,) = torch.autograd.grad((found**2).sum(), parts)
    assert torch.allclose(gradient[-3:], 2 * vectors.T @ found)
    assert (gradient.abs().sum(dim=1) > 0).all()


@pytest.mark.parametrize("options", [{"features": ()}, {}, {"ties": ()}])
def test_vectors_move_the_weights_of_words_that_train_lacks(options: dict[str, object], tmp_path: Path) -> None:
    table = small.TABLE.entries | {"unseen": ("never",)}
    words = (*small.WORDS, "unseen", "never")
    numbers = np.random.default_rng(0).standard_normal((len(words), 6)).astype(np.float32)
    given = {"substitutions": type(small.TABLE)(table), "out": tmp_path / "run"}
    told = EmbeddingTable(words, numbers, "with an unseen word")
    run = train_bag(BagOfWords(vectors=told, **options), given)
    without = train_bag(BagOfWords(**options), given | {"out": None})
    unseen = run.model.vocabulary.id_of("unseen")
    assert bool(run.model.model.weight[unseen].abs().sum() > 0)
    assert not without.model.model.weight[without.model.vocabulary.id_of("unseen")].any()
    again = load_classifier(tmp_path / "run").model
    assert isinstance(again, BagOfWords)
    assert again.config.from_vectors
    assert torch.equal(again.weight, run.model.model.weight)


def train_bag(model: BagOfWords, given: dict[str, object]):
    from sgbt.training import train

    return train(model, small.dataset(), objective=WORST, config=small.QUICK, **given)


def test_without_vectors_a_model_that_wants_them_is_refused() -> None:
    with pytest.raises(TrainingError, match=r"expected word vectors .* got none; BagOfWords\(vectors=\.\.\.\)"):
        quick.run(WORST, model=BagOfWords(from_vectors=True))


def test_the_command_gives_vectors_to_a_linear_model_that_asks_for_them(tmp_path: Path) -> None:
    rows = [f"a {word} film {year},{kind}" for kind, word in (("up", "good"), ("down", "bad")) for year in range(60)]
    (tmp_path / "texts.csv").write_text("\n".join(["text,label", *rows]))
    (tmp_path / "vectors.txt").write_text("4 2\ngood 1 0\nfine 1 .1\nbad -1 0\nfilm 0 1\n")
    (tmp_path / "table.json").write_text('{"good": ["fine"], "bad": ["poor"]}')
    (tmp_path / "config.toml").write_text("[model]\nfrom_vectors = true\nfeatures = []\n")
    arguments = ["train", str(tmp_path / "texts.csv"), "--model", "linear", "--objective", "certified"]
    arguments += ["--config", str(tmp_path / "config.toml"), "--vectors", str(tmp_path / "vectors.txt")]
    arguments += ["--substitutions", str(tmp_path / "table.json"), "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output + str(done.exception)
    model = load_classifier(tmp_path / "run")
    assert model.model.config.from_vectors
    assert Certified().name in (tmp_path / "run" / "config.json").read_text()
