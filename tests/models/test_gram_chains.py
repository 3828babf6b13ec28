"""Dynamic programming over the cells of a BagOfNgrams: the maximum that trying every option finds, budgets included."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.test_bag_of_ngrams import random_model
from tests.models.test_bag_of_words import WORDS, random_batch

from sgbt.models import worst_case_logits
from sgbt.models.bag_of_ngrams import chains, credits, worst_case
from sgbt.models.bag_of_ngrams.worst_case import gram_worst_by_word, gram_worst_margins, gram_worst_within


def worst_within(model, ids, allowed, label, budget):
    """The greatest (logit k - logit of the label) over all texts with at most `budget` words replaced, one by one."""
    slots = [torch.nonzero(row).flatten().tolist() for row in allowed]
    chosen = [taken for taken in itertools.product(*slots) if sum(slot > 0 for slot in taken) <= budget]
    texts = ids[torch.arange(len(ids)), torch.tensor(chosen, dtype=torch.int64).reshape(len(chosen), len(ids))]
    logits = model(texts)
    return (logits - logits[:, label : label + 1]).amax(dim=0)


def distinct_model(generator, *, ending=0):
    """One code for each word, so that no run can stand in two places of a text whose words all differ."""
    model = random_model(generator, codes=11, ending=ending)
    model.adopt(codes=torch.arange(WORDS), keys=model.keys)
    with torch.no_grad():
        model.weight.copy_(torch.randn(model.weight.shape, generator=generator, dtype=torch.float64))
    return model


cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**31),
        "longest": st.integers(1, 4),
        "classes": st.integers(2, 3),
        "ending": st.sampled_from([0, 1, 3]),
        "maps": st.integers(1, 2),
    }
)


@given(case=cases)
@settings(max_examples=40, deadline=None)
def test_without_a_budget_it_is_the_maximum_over_all_options(case):
    generator = torch.Generator().manual_seed(case.pop("seed"))
    model = random_model(generator, codes=int(torch.randint(2, 6, (), generator=generator)), **case)
    batch, mask = random_batch(generator, longest=7)
    labels = torch.randint(0, case["classes"], (len(batch),), generator=generator)
    asked = (model, batch.ids, batch.allowed, mask, labels)
    found = gram_worst_within(*asked, budget=None)
    one_by_one = gram_worst_margins(*asked)
    assert torch.all(found >= one_by_one - 1e-9)  # maps of one word are known to be of one word only there
    if case["maps"] == 1:
        assert torch.allclose(found, one_by_one, atol=1e-9)


@given(case=cases, budget=st.integers(0, 4), ways=st.sampled_from([1, 4, 1 << 14]))
@settings(max_examples=60, deadline=None)
def test_no_text_within_the_budget_lies_above_it(case, budget, ways):
    generator = torch.Generator().manual_seed(case.pop("seed"))
    model = random_model(generator, codes=int(torch.randint(2, 6, (), generator=generator)), **case)
    batch, mask = random_batch(generator, longest=6)
    labels = torch.randint(0, case["classes"], (len(batch),), generator=generator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "MOST_WAYS", ways)  # states are forgotten where that is few
        patch.setattr(chains, "NUMBERS", 64)  # cells are worked on in several groups
        patch.setattr(credits, "BUFFER", 3)
        found = gram_worst_within(model, batch.ids, batch.allowed, mask, labels, budget=budget)
        free = gram_worst_within(model, batch.ids, batch.allowed, mask, labels, budget=None)
    assert torch.all(found <= free + 1e-9)
    assert found.isfinite().all()
    for text, label in enumerate(labels.tolist()):
        length = int(mask[text].sum())
        truth = worst_within(model, batch.ids[text, :length], batch.allowed[text, :length], label, budget)
        assert torch.all(found[text] >= truth - 1e-9)
        assert found[text, label] == 0


@pytest.mark.parametrize("ending", [0, 3])
@pytest.mark.parametrize("budget", [0, 1, 2, 3, 5])
def test_where_no_run_can_stand_twice_a_budget_is_exact(budget, ending):
    generator = torch.Generator().manual_seed(3)
    tight = set()
    for _ in range(20):
        model = distinct_model(generator, ending=ending)
        order = (torch.randperm(WORDS - 1, generator=generator) + 1).tolist()
        ids = torch.tensor([[[a, b] for a, b in zip(order[:5], order[5:10], strict=True)]])
        allowed, mask = torch.rand(ids.shape, generator=generator) < 0.7, torch.ones(1, 5, dtype=torch.bool)
        allowed[..., 0] = True
        labels = torch.tensor([1])
        found = gram_worst_within(model, ids, allowed, mask, labels, budget=budget)
        truth = worst_within(model, ids[0], allowed[0], 1, budget)
        assert torch.allclose(found[0], truth, atol=1e-9)
        cells = gram_worst_margins(model, ids, allowed, mask, labels)
        tight.add(bool((found < cells - 1e-9).any()))
    assert (True in tight) or budget > 2


@pytest.mark.parametrize("words", [33, 40, 65, 300])
@pytest.mark.parametrize("maps", [1, 2])
def test_any_number_of_neighbouring_ambiguous_words_is_decided(words, maps):
    generator = torch.Generator().manual_seed(words)
    model = random_model(generator, classes=3, ending=10, maps=maps)
    ids = torch.randint(1, WORDS, (2, words, 3), generator=generator)
    allowed, mask = torch.ones_like(ids, dtype=torch.bool), torch.ones(2, words, dtype=torch.bool)
    mask[1, words // 2 :] = False
    labels = torch.tensor([0, 2])
    worst = worst_case_logits(model, ids, allowed, mask, labels)
    assert worst.isfinite().all()
    for _ in range(50):
        slots = torch.randint(0, 3, (2, words, 1), generator=generator)
        logits = model(ids.gather(2, slots).squeeze(2), mask)
        assert (worst >= logits - logits.gather(1, labels.unsqueeze(1)) - 1e-9).all()


def test_texts_with_few_options_are_answered_as_if_alone():
    generator = torch.Generator().manual_seed(1)
    model = random_model(generator)
    ids = torch.randint(1, WORDS, (3, 40, 3), generator=generator)
    allowed, mask = torch.ones_like(ids, dtype=torch.bool), torch.ones(3, 40, dtype=torch.bool)
    allowed[1, 3:, 1:] = False
    labels = torch.tensor([0, 1, 0])
    together = gram_worst_by_word(model, ids, allowed, mask, labels)
    alone = gram_worst_by_word(model, ids[1:2], allowed[1:2], mask[1:2], labels[1:2])
    assert torch.equal(together.fixed[1:2], alone.fixed)
    assert torch.equal(together.gains[1:2], alone.gains)
    assert not together.gains[[0, 2]].any()
    assert together.fixed.isfinite().all()


def test_halves_of_a_batch_and_the_other_way_give_the_same(monkeypatch):
    generator = torch.Generator().manual_seed(2)
    model = random_model(generator, ending=2)
    batch, mask = random_batch(generator, texts=6, longest=8)
    labels = torch.randint(0, 2, (6,), generator=generator)
    asked = (model, batch.ids, batch.allowed, mask, labels)
    before = gram_worst_margins(*asked)
    monkeypatch.setattr(worst_case, "ENTRIES_AT_ONCE", 1)
    assert torch.equal(gram_worst_margins(*asked), before)
    monkeypatch.setattr(worst_case, "MOST", 1)
    assert torch.allclose(gram_worst_margins(*asked), before, atol=1e-9)


def test_forgetting_costs_something_and_never_more_than_the_runs_that_had_begun(monkeypatch):
    generator = torch.Generator().manual_seed(4)
    ids = torch.tensor([[[2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]])
    allowed, mask, labels = (
        torch.ones_like(ids, dtype=torch.bool),
        torch.ones(1, 5, dtype=torch.bool),
        torch.tensor([0]),
    )
    looser = 0
    for _ in range(10):
        model = distinct_model(generator)
        exact = gram_worst_within(model, ids, allowed, mask, labels, budget=None)
        monkeypatch.setattr(chains, "MOST_WAYS", 4)
        loose = gram_worst_within(model, ids, allowed, mask, labels, budget=None)
        monkeypatch.undo()
        assert (loose >= exact - 1e-9).all()
        looser += bool((loose > exact + 1e-9).any())
        assert float(loose.amax()) < float(exact.amax()) + 20 * float(model.weight.detach().abs().amax())
    assert looser
