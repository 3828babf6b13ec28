"""Training a BagOfNgrams: it learns, proves what it says it proves, and its loss moves every weight."""

import itertools
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.training.test_linear import TABLE, reviews

from sgbt.certify import certify
from sgbt.certify.black_box import Encoder
from sgbt.core.errors import TrainingError
from sgbt.data import RaggedIds, Split
from sgbt.models import BagOfNgrams, load_classifier, worst_case_logits
from sgbt.models.bag_of_ngrams import margins as gram_margins
from sgbt.models.bag_of_ngrams.cells import least_entries
from sgbt.models.bag_of_ngrams.margins import by_label, frequent_grams, gather
from sgbt.models.bag_of_ngrams.model import AT_THE_END, MAP_SHIFT
from sgbt.models.bag_of_ngrams.options import GramOptions
from sgbt.models.bag_of_words.options import RowSets
from sgbt.threats import SubstitutionIndex, SubstitutionTable
from sgbt.training import IBP, SGBT, Certified, Standard, train
from sgbt.training.config import TrainingConfig, preset_for
from sgbt.training.linear.ngrams import log_count_ratios
from sgbt.training.loop.listeners import Listeners

QUICK = TrainingConfig(epochs=4, weight_decay=2e-3, max_length=100, minimum_count=1)


def worst_of(classifier, split):
    index = SubstitutionIndex.build(TABLE, classifier.vocabulary)
    batch = index.for_words([text.split() for text in split.texts])
    return worst_case_logits(
        classifier.model, batch.ids, batch.allowed, batch.mask, torch.from_numpy(split.labels)
    ), torch.from_numpy(split.labels)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_run_learns_and_what_it_says_of_dev_is_what_certificates_say(classes):
    data = reviews(classes=classes)
    run = train(BagOfNgrams(classes=classes), data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK)
    assert run.dev["accuracy"] > 0.9
    assert 0.8 < run.dev["certified"] <= run.dev["accuracy"]
    worst, labels = worst_of(run.model, data.dev)
    others = worst.scatter(1, labels.unsqueeze(1), -torch.inf).amax(dim=1)
    assert run.dev["certified"] == pytest.approx(float((others < 0).double().mean()))
    proofs = certify(run.model, data.dev)
    assert sum(proof.margin > proof.slack for proof in proofs) == int((others < -proofs[0].slack).sum())


def test_training_on_the_worst_case_proves_more_than_standard_training():
    data = reviews(texts=200)
    proven = {}
    for objective in (Standard(), Certified(kappa=1.0)):
        run = train(BagOfNgrams(resolution=50.0), data, objective=objective, substitutions=TABLE, config=QUICK)
        worst, labels = worst_of(run.model, data.test)
        proven[objective.name] = int((worst.scatter(1, labels.unsqueeze(1), -torch.inf).amax(dim=1) < 0).sum())
    assert proven["certified"] > proven["standard"]


@pytest.mark.parametrize("words", [9, 40])
def test_dev_texts_with_too_many_options_are_proven_at_most_as_often_as_by_certificates(words):
    data = reviews(texts=200)
    texts, labels = (
        (*data.dev.texts, *["good " * words] * 5, *["bad " * words] * 5),
        [*data.dev.labels, *[0] * 5, *[1] * 5],
    )
    data = replace(data, dev=Split("dev", texts, np.array(labels)))
    run = train(BagOfNgrams(resolution=50.0), data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK)
    proofs = certify(run.model, data.dev, tiers=["ibp"])
    assert any(proof.certified for proof in proofs[-10:])  # 3^9 options and more
    assert 0.5 < run.dev["certified"] <= sum(proof.margin > proof.slack for proof in proofs) / len(proofs)
    predicted = run.model.predict(data.dev.texts).probabilities.argmax(axis=1)
    assert run.dev["accuracy"] == pytest.approx((predicted == data.dev.labels).mean())


@pytest.mark.parametrize("words", [9, 40])
def test_training_texts_with_too_many_options_move_the_weights_of_what_can_be_brought(words):
    data = reviews(texts=60)
    train_texts = (*data.train.texts, *["good " * words] * 5)
    data = replace(data, train=Split("train", train_texts, np.array([*data.train.labels, *[0] * 5])))
    run = train(
        BagOfNgrams(resolution=50.0, minimum_count=1), data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK
    )
    index = SubstitutionIndex.build(TABLE, run.model.vocabulary)
    tokens = data.train.tokenised(run.model.tokenizer)
    rows = tokens.as_ids_of(index.rows_of(tokens.types))
    found = gather(rows, [RowSets.of(run.model.model.codes, index)], longest=4)
    sides = by_label(found, data.train.labels, run.model.model.keys)
    order = np.concatenate([part.rows for part in found])
    worst, labels = worst_of(run.model, data.train)
    for side in sides:
        chosen = order[labels.numpy()[order] == side.label]
        own = side.margins(run.model.model.weight.detach(), run.model.model.bias.detach())
        assert (own.worst >= worst[chosen] - 1e-4).all()
        assert (own.worst >= own.clean - 1e-5).all()


@pytest.mark.parametrize("most", [64, 1])
def test_cells_in_pieces_bound_the_whole_cell_from_above_and_keep_the_text(most, monkeypatch):
    data = reviews(texts=60)
    run = train(
        BagOfNgrams(resolution=50.0, minimum_count=1, ending=3),
        data,
        objective=IBP(kappa=1.0),
        substitutions=TABLE,
        config=QUICK,
    )
    model, index = run.model.model, SubstitutionIndex.build(TABLE, run.model.vocabulary)
    tokens = data.train.tokenised(run.model.tokenizer)
    rows, maps = tokens.as_ids_of(index.rows_of(tokens.types)), [RowSets.of(model.codes, index)]
    whole = by_label(gather(rows, maps, longest=4, ending=3), data.train.labels, model.keys)
    monkeypatch.setattr(gram_margins, "PIECES", (most,))
    cut = by_label(gather(rows, maps, longest=4, ending=3), data.train.labels, model.keys)
    for side, pieces in zip(whole, cut, strict=True):
        one, other = (each.margins(model.weight.detach(), model.bias.detach()) for each in (side, pieces))
        assert torch.allclose(one.clean, other.clean, atol=1e-4)
        assert (other.worst >= one.worst - 1e-4).all()
        assert torch.allclose(side.document_counts(len(model.keys)), pieces.document_counts(len(model.keys)), atol=1e-6)
    assert (
        any(
            (b.margins(model.weight, model.bias).worst > a.margins(model.weight, model.bias).worst + 1e-3).any()
            for a, b in zip(whole, cut, strict=True)
        )
        or most == 64
    )


def test_cells_that_memory_cannot_hold_whole_are_cut(monkeypatch):
    data = reviews(texts=60)
    long = Split("train", (*data.train.texts, *["good " * 7] * 5), np.array([*data.train.labels, *[0] * 5]))
    options = {"objective": IBP(kappa=1.0), "substitutions": TABLE, "config": QUICK}
    whole = train(BagOfNgrams(resolution=50.0), replace(data, train=long), **options)
    monkeypatch.setattr(gram_margins, "MOST_ENTRIES", 50_000)  # five cells of 3^7 options have 25 runs each
    cut = train(BagOfNgrams(resolution=50.0), replace(data, train=long), **options)
    assert cut.dev["certified"] > 0.5
    assert not torch.equal(cut.model.model.keys, whole.model.model.keys) or not torch.equal(
        cut.model.model.weight, whole.model.model.weight
    )


def test_runs_that_memory_cannot_hold_are_refused(monkeypatch):
    monkeypatch.setattr(gram_margins, "MOST_ENTRIES", 100)
    with pytest.raises(TrainingError, match="lower its resolution"):
        train(BagOfNgrams(resolution=50.0), reviews(), objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK)


@pytest.mark.parametrize("ending", [0, 2])
@pytest.mark.parametrize("longest", [1, 2, 3, 4])
def test_runs_are_counted_before_any_is_listed(longest, ending, monkeypatch):
    """As many as pieces of one word have, in texts of every length, none included; one fewer is refused."""
    rng = np.random.default_rng(longest)
    lengths = rng.integers(0, 7, 30)
    rows = RaggedIds(rng.integers(2, 12, int(lengths.sum())), np.concatenate([[0], np.cumsum(lengths)]))
    counts = torch.tensor([1, 1, *rng.integers(1, 4, 10).tolist()])
    codes = torch.arange(12).unsqueeze(1) * 10 + torch.arange(3)  # no two words share a code
    sets = RowSets(codes, counts, codes, counts, torch.zeros_like(codes))
    listed = [
        GramOptions.of(
            codes[rows[row]].unsqueeze(0), counts[rows[row]].unsqueeze(0), codes[rows[row], 0].unsqueeze(0),
            longest=longest, ending=ending, most=1,
        )
        for row in range(30)
        if lengths[row]
    ]  # fmt: skip
    total = sum(len(each.entry_run) for each in listed)
    found = least_entries(counts.numpy()[rows.flat], rows.starts, longest=longest, ending=ending)
    assert total <= found <= 1.2 * total + 5  # runs that a text has anyway are counted here
    monkeypatch.setattr(gram_margins, "MOST_ENTRIES", found)
    assert gather(rows, [sets], longest=longest, ending=ending)
    monkeypatch.setattr(gram_margins, "MOST_ENTRIES", found - 1)
    monkeypatch.setattr(gram_margins, "_gathered", None)
    with pytest.raises(TrainingError, match=f"about {found:,.0f} in 30 texts"):
        gather(rows, [sets], longest=longest, ending=ending)


def test_a_refusal_names_the_length_that_would_fit(monkeypatch):
    rows, counts = RaggedIds(np.full(20, 2), np.array([0, 20])), torch.tensor([1, 1, 3])
    codes = torch.arange(3).unsqueeze(1) * 10 + torch.arange(3)
    sets = RowSets(codes, counts, codes, counts, torch.zeros_like(codes))
    monkeypatch.setattr(gram_margins, "MOST_ENTRIES", 400)
    with pytest.raises(TrainingError, match=r"set longest = 2 \(about 345\), lower its resolutions"):
        gather(rows, [sets], longest=4)


def test_work_before_the_first_epoch_is_told():
    class Heard(Listeners):
        def __init__(self):
            super().__init__()
            self.told = []

        def preparing(self, title, done, of):
            self.told.append((title, done, of))

    heard, data = Heard(), reviews()
    train(BagOfNgrams(), data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK, listener=Listeners(heard))
    assert heard.told[-1] == ("n-grams of dev", len(data.dev), len(data.dev))
    assert ("n-grams of train", len(data.train), len(data.train)) in heard.told


HUGE = """
import itertools, resource, sys
import numpy as np
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import torch
torch.set_num_threads(1)
from sgbt.data import Split, TextDataset
from sgbt.core.errors import SgbtError
from sgbt.threats import SubstitutionTable
from sgbt.models import BagOfNgrams, BagOfWords
from sgbt.training import IBP, train
from sgbt.training.config import TrainingConfig

rng = np.random.default_rng(0)
names = ["".join(letters) for letters in itertools.product("bcdfghjkmn", "aeiou", "lprst", "aeiou")][:400]
table = SubstitutionTable({
    name: tuple(other for other in rng.choice(names, 150, replace=False).tolist() if other != name)
    for name in names[:200]
})
def split(name, texts):
    lines = tuple(" ".join(rng.choice(names, 60).tolist()) for _ in range(texts))
    return Split(name, lines, np.arange(texts) % 2)
data = TextDataset("huge", ("no", "yes"), split("train", 250), split("dev", 20), split("test", 20))
model = {"linear": BagOfWords, "grams": BagOfNgrams}[sys.argv[1]](resolution=1.2)
config = TrainingConfig(epochs=1, batch_size=50, max_length=100, minimum_count=1)
try:
    run = train(model, data, objective=IBP(kappa=1.0), substitutions=table, config=config)
    print("trained", run.dev)
except SgbtError as error:
    print("refused:", error)
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""
"""Half of the words have 150 substitutes, which have some twenty codes: 120 million ways around the words of train."""


@pytest.mark.parametrize("kind", ["linear", "grams"])
def test_huge_sets_train_in_bounded_memory_or_are_refused(kind):
    """With 4 GB of addresses, in a process of its own; the ways listed one by one would need more."""
    done = subprocess.run([sys.executable, "-c", HUGE, kind], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    said = done.stdout.splitlines()
    assert said[0].startswith("refused: " if kind == "grams" else "trained"), said
    assert "Traceback" not in done.stdout
    assert int(said[-1].split()[1]) < 3000


def test_a_run_writes_what_another_process_needs_and_is_the_same_each_time(tmp_path):
    data = reviews()
    first, second = (
        train(BagOfNgrams(), data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK, out=tmp_path / name)
        for name in ("a", "b")
    )
    assert torch.equal(first.model.model.weight, second.model.model.weight)
    again = load_classifier(tmp_path / "a")
    assert (again.predict(data.test.texts).probabilities == first.model.predict(data.test.texts).probabilities).all()
    rows = [json.loads(line) for line in (tmp_path / "a" / "log.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows if "dev" in row] == list(range(len(rows) // 2))
    assert (tmp_path / "a" / "training.png").stat().st_size > 0


def test_objectives_that_need_word_vectors_are_refused():
    with pytest.raises(TrainingError, match="linear model"):
        train(BagOfNgrams(), reviews(), objective=SGBT(), config=QUICK)
    assert preset_for("grams", "imdb").weight_decay == 2e-3


def sides_and_keys():
    data = reviews(texts=60)
    run = train(BagOfNgrams(), data, objective=Standard(), substitutions=TABLE, config=QUICK)
    index = SubstitutionIndex.build(TABLE, run.model.vocabulary)
    tokens = data.train.tokenised(run.model.tokenizer)
    rows = tokens.as_ids_of(index.rows_of(tokens.types))
    found = gather(rows, [RowSets.of(run.model.model.codes, index)], longest=4)
    keys = frequent_grams(found, minimum_count=1)
    return by_label(found, data.train.labels, keys), keys


@pytest.mark.parametrize(("ending", "more"), [(0, ()), (4, ()), (4, (0.1, 30.0))])
def test_margins_in_training_are_those_of_the_model_and_its_bound(ending, more):
    data = reviews(texts=60)
    bag = BagOfNgrams(minimum_count=1, ending=ending, more_resolutions=more)
    run = train(bag, data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK)
    model = run.model.model
    index = SubstitutionIndex.build(TABLE, run.model.vocabulary)
    tokens = data.train.tokenised(run.model.tokenizer)
    rows = tokens.as_ids_of(index.rows_of(tokens.types))
    assert bool((model.keys & AT_THE_END).any()) == bool(ending)
    assert (model.keys >> MAP_SHIFT).unique().tolist() == list(range(1 + len(more)))
    found = gather(rows, [RowSets.of(codes, index) for codes in model.maps], longest=4, ending=ending)
    sides = by_label(found, data.train.labels, model.keys)
    worst, labels = worst_of(run.model, data.train)
    order = np.concatenate([part.rows for part in found])
    near = []
    for side in sides:
        own = side.margins(model.weight.detach(), model.bias.detach())
        chosen = order[labels.numpy()[order] == side.label]
        near.append(torch.isclose(own.worst, worst[chosen], atol=1e-4).all(dim=1))
        assert (own.worst >= worst[chosen] - 1e-4).all()  # a certificate knows that maps are of one word
        smooth = side.margins(model.weight.detach(), model.bias.detach(), smooth=0.1)
        assert (smooth.worst >= own.worst - 1e-5).all()
        assert torch.equal(smooth.clean, own.clean)
    assert bool(torch.cat(near).all()) == (not more)
    assert float(torch.cat(near).double().mean()) > 0.5


def test_clusters_that_labels_keep_apart_are_counted_in_train_and_proofs_hold_for_them():
    data = reviews(texts=200)
    table = TABLE | SubstitutionTable({"good": ("bad",), "bad": ("good",)})
    found = {}
    for weight in (0.0, 1e6):
        bag = BagOfNgrams(resolution=1e-6, label_weight=weight)
        run = train(bag, data, objective=IBP(kappa=1.0), substitutions=table, config=QUICK)
        codes, vocabulary = run.model.model.codes, run.model.vocabulary
        found[weight] = bool(codes[vocabulary.id_of("good")] == codes[vocabulary.id_of("bad")])
        proofs = certify(run.model, data.dev)
        assert sum(proof.margin > proof.slack for proof in proofs) >= round(run.dev["certified"] * len(data.dev))
    assert found == {0.0: True, 1e6: False}


@pytest.mark.parametrize("more", [(), (0.3,)])
def test_clusters_are_those_of_the_encoder_where_a_distinction_is_given(more: tuple[float, ...]):
    data = reviews(texts=200)
    bag = BagOfNgrams(distinction=0.03, more_resolutions=more)
    run = train(bag, data, objective=IBP(kappa=1.0), substitutions=TABLE, config=QUICK)
    vocabulary, codes = run.model.vocabulary, run.model.model.maps[0]
    expected = Encoder.fit(data.train.texts, TABLE, data.train.labels.tolist()).codes
    words = [word for word in expected if word in vocabulary.words]
    for one, other in itertools.combinations(words, 2):
        same = bool(codes[vocabulary.id_of(one)] == codes[vocabulary.id_of(other)])
        assert same == (expected[one] == expected[other])
    proofs = certify(run.model, data.dev)
    assert sum(proof.margin > proof.slack for proof in proofs) >= round(run.dev["certified"] * len(data.dev))


def test_the_loss_moves_every_weight_that_a_text_or_a_substitute_has():
    sides, keys = sides_and_keys()
    weight = torch.zeros(len(keys), 2, requires_grad=True)
    bias = torch.zeros(2, requires_grad=True)
    sum(side.margins(weight, bias, smooth=0.1).worst.exp().sum() for side in sides).backward()
    assert (weight.grad.abs().sum(dim=1) > 0).all()
    assert (bias.grad != 0).all()
    ratios = log_count_ratios(sides, len(keys), 2, prior=1.0)
    assert ratios.shape == (len(keys), 2)
    assert torch.allclose(ratios[:, 0], -ratios[:, 1], atol=1e-5)
    assert (ratios.abs() > 1e-3).any()
