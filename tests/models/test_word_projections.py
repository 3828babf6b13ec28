"""Projections that a TextCNN keeps: the same answers, whatever was read before and whatever has changed since."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest
import torch
from tests import small
from torch import Tensor

from sgbt.models import TextCNN
from sgbt.models import word_projections as module
from sgbt.models.cnn import ACTIVATIONS
from sgbt.models.embedding import WordEmbedding
from sgbt.models.word_projections import WordProjections


def ids_of(texts: int, seed: int, *, longest: int = 9) -> Tensor:
    found = [torch.tensor(small.VOCABULARY.encode(words)) for words in small.random_texts(texts, longest, seed=seed)]
    return torch.nn.utils.rnn.pad_sequence(found, batch_first=True)


def without_gradients(model: TextCNN, ids: Tensor) -> Tensor:
    with torch.no_grad():
        return model(ids)


@pytest.mark.parametrize("pooling", ["max", "mean"])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("projection", [None, 3])
@pytest.mark.parametrize("at_once", [1, 20, 4096])
def test_answers_without_gradients_are_those_with(
    pooling: str, activation: str, projection: int | None, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sgbt.models.cnn.POSITIONS_AT_ONCE", at_once)
    model = small.model_of("cnn", pooling=pooling, activation=activation, projection=projection, classes=4)
    for seed in range(4):  # of the later ones, some words were read before
        ids = ids_of(7, seed)
        assert torch.allclose(without_gradients(model, ids), model(ids), atol=1e-6)
    assert without_gradients(model, ids[:0]).shape == (0, 4)


def test_a_word_is_projected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, projected = small.model_of("cnn"), []
    add = module._add
    monkeypatch.setattr(
        module, "_add", lambda kept, codes, vectors: (projected.extend(codes.tolist()), add(kept, codes, vectors))
    )
    for seed in (1, 2, 1):
        without_gradients(model, ids_of(8, seed))
    assert projected
    assert len(projected) == len(set(projected))


@pytest.mark.parametrize("what", ["convolutions.0.weight", "embedding.weight", "embedding.projection.bias"])
def test_no_change_of_a_weight_is_missed(what: str) -> None:
    model, ids = small.model_of("cnn", projection=3), ids_of(8, 1)
    before = without_gradients(model, ids)
    model.get_parameter(what).data.mul_(-3.0)  # unseen by the version counters of torch
    after = without_gradients(model, ids)
    assert not torch.allclose(after, before, atol=1e-3)
    assert torch.allclose(after, model(ids), atol=1e-6)
    assert without_gradients(model.double(), ids).dtype is torch.float64
    assert torch.allclose(without_gradients(model, ids), model(ids), atol=1e-12)


@pytest.mark.parametrize("most_bytes", [1, 300, 1000])
def test_little_memory_changes_no_answer(most_bytes: int) -> None:
    model = small.model_of("cnn")
    model._projections = WordProjections(most_bytes)
    for seed in range(6):
        ids = ids_of(5, seed)
        assert torch.allclose(without_gradients(model, ids), model(ids), atol=1e-6)


def test_a_text_has_the_same_features_to_the_last_bit_alone_and_among_others() -> None:
    torch.manual_seed(0)
    embedding = WordEmbedding(torch.randn(200, 300))
    model = TextCNN(embedding, filters=128, activation="relu")  # tanh of torch may depend on the place in memory
    ids = torch.randint(1, 200, (9, 30))
    among = features(model, ids)
    for row in range(len(ids)):
        assert torch.equal(features(copy.deepcopy(model), ids[row : row + 1])[0], among[row])


def features(model: TextCNN, ids: Tensor) -> Tensor:
    found: list[Tensor] = []
    hook = model.head.register_forward_hook(lambda head, given, output: found.append(given[0]))
    model.eval()
    without_gradients(model, ids)
    hook.remove()
    return found[0]


def test_a_copy_starts_empty_and_answers_alike() -> None:
    model, ids = small.model_of("cnn"), ids_of(8, 1)
    before = without_gradients(model, ids)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other._projections._kept is None
        assert torch.equal(without_gradients(other, ids), before)


def test_words_first_read_in_inference_mode_can_be_read_without_gradients_later() -> None:
    model = small.model_of("cnn")
    with torch.inference_mode():
        model(ids_of(3, 1))
    ids = ids_of(8, 2)
    assert torch.allclose(without_gradients(model, ids), model(ids), atol=1e-6)


def test_threads_do_not_spoil_one_another() -> None:
    model = small.model_of("cnn")
    model._projections = WordProjections(1000)
    expected = [model(ids_of(5, seed)).detach() for seed in range(20)]
    wrong: list[int] = []

    def ask(first: int) -> None:
        for _ in range(5):
            for seed in range(first, 20, 2):
                if not torch.allclose(without_gradients(model, ids_of(5, seed)), expected[seed], atol=1e-6):
                    wrong.append(seed)

    threads = [threading.Thread(target=ask, args=(first,)) for first in (0, 1, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
