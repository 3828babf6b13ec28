"""Vectors tied over communities while a network trains: who moves with whom, and that nothing of it stays behind."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
import torch
from tests import small
from tests.training.quick import run
from tests.training.test_recipes import examples

from sgbt.certify import certify
from sgbt.core.errors import TrainingError
from sgbt.embeddings import EmbeddingTable
from sgbt.models import BiLSTM, TextCNN, load_classifier, weights_hash
from sgbt.threats import SubstitutionTable
from sgbt.training import SEM, Certified, ScaledClusterMeans, TiedWords, TrainingMethod, train
from sgbt.training.initialisers import LENGTH
from sgbt.training.loop.steps import Corpus, steps_of
from sgbt.training.sharing import tied, tied_levels

module = importlib.import_module("sgbt.training.sharing")
CORPUS = Corpus(small.VOCABULARY, dict.fromkeys(small.WORDS, 3), small.TABLE)
LEVELS = tied_levels(CORPUS, (1.0, 3.0))
PLAIN = {"beta": 0.0, "gamma": 0.0, "compactness": 0.0, "ramp_epochs": 0.0, "kappa": 1.0}


def tied_at(*resolutions: float) -> TrainingMethod:
    return TrainingMethod(Certified(**PLAIN), ScaledClusterMeans(), TiedWords(resolutions))


def network(kind: str) -> TextCNN | BiLSTM:
    model = {"cnn": TextCNN, "bilstm": BiLSTM}[kind](small.vectors(), dropout=0.0, trainable_embedding=True)
    model.embedding.adopt(small.VOCABULARY)
    return model


def ids(*words: str) -> list[int]:
    return [small.VOCABULARY.id_of(word) for word in words]


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_tied_vectors_begin_where_they_were_and_every_part_has_a_gradient(kind: str) -> None:
    model, text = network(kind), torch.tensor([ids("the", "film", "was", "good")])
    before, vectors = model(text), model.embedding.weight.detach().clone()
    with tied(model, LEVELS):
        assert torch.equal(model(text), before)
        (parts,) = model.embedding.parametrizations.weight.parameters()
        assert len(parts) > len(vectors)
        assert bool((parts == 0).all())
        every = torch.arange(len(vectors)).unsqueeze(0)
        (gradient,) = torch.autograd.grad((model.embedding(every) ** 2).sum(), [parts])
        assert bool((gradient[1:].abs().sum(dim=1) > 0).all())  # all but padding, which is zero and stays it
        assert bool((gradient[0] == 0).all())
    assert torch.equal(model.embedding.weight, vectors)
    assert isinstance(model.embedding.weight, torch.nn.Parameter)
    assert model.embedding.weight.requires_grad


def test_a_step_on_one_word_moves_its_community_and_nobody_else() -> None:
    model = network("cnn")
    before = model.embedding.weight.detach().clone()
    with tied(model, LEVELS[:1]):
        optimiser = torch.optim.SGD(model.embedding.parameters(), lr=0.1)
        model.embedding(torch.tensor([ids("bad")])).sum().backward()
        optimiser.step()
    moved = (model.embedding.weight - before).abs().sum(dim=1).detach()
    bad, *others = ids("bad", "awful", "poor", "dull")
    assert bool((moved[others] > 0).all())
    assert float(moved[bad]) > float(moved[others].max())
    assert set(moved.nonzero().flatten().tolist()) == {bad, *others}


def test_the_loss_on_the_worst_case_moves_every_weight_through_the_ties() -> None:
    model, texts = network("cnn"), examples()
    step = next(steps_of(texts, size=24, device=torch.device("cpu"), substitutes=True, epoch=5))
    with tied(model, LEVELS[:1]):
        loss = torch.stack([*Certified(**PLAIN).parts(model, step, {}).values()]).sum()
        loss.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert bool(parameter.grad.abs().sum() > 0), name


def test_words_start_as_the_mean_of_the_vectors_that_their_community_has() -> None:
    known = [word for word in small.WORDS if word not in ("fine", "actor")]
    matrix = np.random.default_rng(0).standard_normal((len(known), 6)).astype(np.float32)
    model = TextCNN(EmbeddingTable(tuple(known), matrix, "some"), trainable_embedding=True)
    model.embedding.adopt(small.VOCABULARY)
    ScaledClusterMeans().apply(model, CORPUS)
    vectors = model.embedding.weight.detach()
    good, fine, bad, actor = ids("good", "fine", "bad", "actor")
    assert torch.equal(vectors[good], vectors[fine])  # which has no vector of its own
    assert not torch.equal(vectors[good], vectors[bad])
    assert bool((vectors[[0, 1, actor]] == 0).all())
    centred = matrix - matrix.mean(axis=0)
    own = LENGTH * centred[known.index("the")] / np.sqrt((centred**2).sum(axis=1).mean())
    assert np.allclose(vectors[ids("the")[0]].numpy(), own, atol=1e-5)


@pytest.mark.parametrize("kind", [TextCNN, BiLSTM])
def test_a_tied_run_ends_as_a_plain_model_that_is_saved_and_certified(kind: type, tmp_path: Path) -> None:
    assert TiedWords([1.0, 3.0]) == TiedWords((1.0, 3.0))
    objective = tied_at(1.0, 3.0)
    model = kind(small.vectors(), dropout=0.0, trainable_embedding=True)
    trained = run(objective, model=model, out=tmp_path / "run", epochs=6, learning_rate_decay=2.0, weight_decay=1e-4)
    plain = trained.model.model
    assert type(plain.embedding).__name__ == "WordEmbedding"
    assert "embedding.weight" in dict(plain.named_parameters())
    plain(torch.tensor([[2, 3, 4]])).sum().backward()  # it can be trained on, by anybody
    assert plain.embedding.weight.grad.shape == plain.embedding.weight.shape
    again = load_classifier(tmp_path / "run")
    assert weights_hash(again.model) == weights_hash(plain)
    proofs = list(certify(again, small.dataset().test))
    assert sum(proof.stays for proof in proofs) > len(proofs) / 2
    run(
        objective, model=model, out=tmp_path / "run", epochs=6, learning_rate_decay=2.0, weight_decay=1e-4
    )  # it is finished
    assert weights_hash(load_classifier(tmp_path / "run").model) == weights_hash(plain)


def test_a_run_is_not_gone_on_with_over_other_communities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objective, folder = tied_at(1.0), tmp_path / "run"
    model = TextCNN(small.vectors(), dropout=0.0, trainable_embedding=True)
    run(objective, model=model, out=folder)
    real = module.tied_levels
    monkeypatch.setattr(module, "tied_levels", lambda *given: np.roll(real(*given), 1, axis=1))
    with pytest.raises(TrainingError, match="another model, dataset, objective, seed or setting"):
        run(objective, model=model, out=folder)


def test_a_model_with_codes_can_be_trained_on_with_tied_words() -> None:
    encoded = run(SEM(), model=TextCNN(small.vectors(), dropout=0.0, trainable_embedding=True)).model.model
    assert encoded.embedding.codes is not None
    again = run(tied_at(1.0), model=encoded).model.model
    assert again.embedding.codes is None


def test_the_whole_table_is_read_and_a_word_that_train_lacks_learns_too() -> None:
    """`dreary` stands in no text and has no vector: tied, it goes where the word goes that it can replace."""
    table = SubstitutionTable({**small.TABLE.entries, "bad": ("awful", "poor", "dreary")}, "more")
    read = {}
    for ties in ((1.0,), ()):
        model = TextCNN(small.vectors(), dropout=0.0, trainable_embedding=True)
        objective = tied_at(*ties)
        trained = train(model, small.dataset(), objective=objective, substitutions=table, config=small.QUICK)
        read[ties] = "dreary" in trained.model.vocabulary
        if ties:
            words, vectors = trained.model.vocabulary, trained.model.model.embedding.weight.detach()
            bad, dreary, good = (vectors[words.id_of(word)] for word in ("bad", "dreary", "good"))
            assert float((bad - dreary).norm()) < 0.1 * float((good - dreary).norm())
    assert read == {(1.0,): True, (): False}


def test_ties_of_what_does_not_move_are_refused() -> None:
    with pytest.raises(TrainingError, match="an embedding that is trained"):
        run(tied_at(1.0), model=TextCNN(small.vectors()))
    with pytest.raises(TrainingError, match="a table of vectors"):
        run(tied_at(1.0), model=small.model_of("cnn", trainable_embedding=True), vocabulary=small.VOCABULARY)
    with pytest.raises(TrainingError, match="tied_words"):
        TrainingMethod(Certified(), sharing=TiedWords((1.0,))).for_linear_model()
    for odd in ("30", (0.0,), (True,), [float("inf")], ("1",)):
        with pytest.raises(TrainingError, match="numbers above 0"):
            TiedWords(odd)
