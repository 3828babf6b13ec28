"""Training on the worst edits of a threat: n-grams by what each edit costs, networks by words that become unknown."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests import small
from tests.training.test_objectives import batch
from tests.training.test_threat_bag import TEST, TRAIN

from sgbt.certify.edits import ThreatSummary, certify_against
from sgbt.certify.edits.fitting import note_of_fit, train_for_threat
from sgbt.core.errors import LexiconError
from sgbt.data import RaggedIds, Split, TextDataset
from sgbt.models import BagOfNgrams
from sgbt.models.bag_of_ngrams.model import BITS, MAP_SHIFT
from sgbt.threats import UNKNOWN, Threat
from sgbt.training import Standard, TrainingConfig, train
from sgbt.training.drops import Drops
from sgbt.training.linear.edits import RunsOfPlaces, known_runs
from sgbt.training.objectives.worst_edits import WorstEdits

DATA = TextDataset("drawn", ("bad", "good"), TRAIN, TEST, TEST)


def test_what_an_unknown_word_costs_is_what_the_model_says() -> None:
    """Texts without repeated words: the largest rise of any margin, by one place or by two that are far apart."""
    drawn, ids = np.random.default_rng(0), 9
    for seed in range(8):
        codes = torch.from_numpy(np.stack([np.r_[0, 1, drawn.permutation(ids - 2) + 2] for _ in range(1 + seed % 2)]))
        runs = [(a,) for a in range(1, ids)] + [(a, b) for a in range(1, ids) for b in range(1, ids)]
        keys = torch.tensor(sorted(_key(run) | number << MAP_SHIFT for number in range(len(codes)) for run in runs))
        keys = known_runs(keys[torch.from_numpy(drawn.random(len(keys)) < 0.7)])
        model = BagOfNgrams(classes=3, longest=2, more_resolutions=(0.3,) * (len(codes) - 1)).double()
        model.adopt(codes=codes if len(codes) > 1 else codes[0], keys=keys)
        with torch.no_grad():
            model.weight.copy_(torch.from_numpy(drawn.normal(size=model.weight.shape)))
        texts = [drawn.permutation(np.arange(2, ids))[:size] for size in (5, 3, 1)]
        rows = RaggedIds(np.concatenate(texts), np.cumsum([0, *map(len, texts)]))
        lost = Drops(torch.full((ids,), UNKNOWN), torch.zeros(ids, dtype=torch.int64), torch.arange(ids), 1)
        places = RunsOfPlaces.of(rows, np.arange(3), 1, list(codes), keys, longest=2)
        found = places.lost(model.weight.detach(), [lost])
        for number, text in enumerate(texts):
            words = torch.from_numpy(text)
            edited = torch.stack([words.where(torch.arange(len(text)) != place, UNKNOWN) for place in range(len(text))])
            logits, own = model(edited).detach(), model(words[None]).detach()
            rise = (logits - logits[:, 1:2]) - (own - own[:, 1:2])
            assert torch.allclose(found[number].double(), rise.clamp(min=0).amax(dim=0), atol=1e-5), (seed, number)


def _key(run: tuple[int, ...]) -> int:
    key = 0
    for code in run:
        key = key << BITS | code
    return key


def test_ngrams_trained_on_edits_keep_more_of_their_margins() -> None:
    config, kept = TrainingConfig(epochs=3, patience=3, weight_decay=0.1, minimum_count=1), []
    for objective in (Standard(), WorstEdits(threat="delete:2:any")):
        model = train(BagOfNgrams(longest=2), DATA, objective=objective, config=config, seed=0).model
        clean = np.array([row.margin for row in certify_against(model, TEST, Threat.deletions("any", at_most=0))])
        proven = np.array([row.margin for row in certify_against(model, TEST, Threat.deletions("any", at_most=2))])
        kept.append(float((proven / clean).mean()))
    assert kept[1] > kept[0]


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_a_network_loses_its_most_telling_words_and_learns_from_that(kind: str) -> None:
    model, step = small.model_of(kind), batch()
    objective = WorstEdits(threat="typos:1 + delete:2:any + within:2")
    lost = objective.lost(model, step) != step.ids
    assert int(lost.sum(dim=1).max()) <= 2
    assert not bool((lost & ~step.mask).any())
    objective.parts(model, step, {})["edited"].backward()
    assert any(weight.grad is not None and bool(weight.grad.any()) for weight in model.parameters())


def test_the_bag_that_certifies_most_of_dev_is_taken() -> None:
    threat, lines = Threat.typos(1), []
    found = train_for_threat(DATA, threat, log=lines.append)
    assert len(lines) == len(found.tried) == 3
    assert found.dev["certified"] == max(own["certified"] for _, own in found.tried)
    again = ThreatSummary.of(certify_against(found.model, TEST, threat))
    assert again.certified.value == pytest.approx(found.dev["certified"])  # calibration changes no proof
    note = note_of_fit(DATA, threat, found, 0)
    assert (note["threat"], note["objective_options"]["threat"]) == ("typos:1", "typos:1")
    nothing = Split("dev", (), np.zeros(0, dtype=np.int64))
    alone = train_for_threat(TextDataset("drawn", ("bad", "good"), TRAIN, nothing, TEST), threat)
    assert (alone.dev, len(alone.tried)) == ({}, 1)


def test_what_is_no_threat_of_edits_is_refused() -> None:
    with pytest.raises(LexiconError):
        WorstEdits(threat="counter_fitted")
