"""Tables of a whole vocabulary give what a batch's own words give, and are filled only as far as asked."""

from __future__ import annotations

import pytest
import torch
from tests.soundness.trained import dataset, table, trained

from sgbt.certify import TIERS, Specification, in_float64
from sgbt.certify.tiers import bounds_of, lowest_of, offered
from sgbt.certify.verifier import verifiers
from sgbt.certify.word_tables import WordTables
from sgbt.threats import SubstitutionIndex


@pytest.mark.parametrize("case", [("cnn", "standard", "max"), ("cnn", "two-channel", "mean"), ("bilstm",)], ids=str)
@pytest.mark.parametrize(("scale", "budget"), [(1.0, None), (0.3, None), (1.0, 2)])
def test_numbered_rows_change_no_bound(case: tuple[str, ...], scale: float, budget: int | None) -> None:
    classifier = trained(*case)
    model, index = in_float64(classifier.model), SubstitutionIndex.build(table(), classifier.vocabulary)
    shared, small = WordTables(index), WordTables(index, limit=0)
    for start in (0, 20, 40):
        words = [classifier.tokenizer.words(text)[:8] for text in dataset().test.texts[start : start + 20]]
        found = index.for_words(words)
        rows = torch.zeros(found.mask.shape, dtype=torch.int64)
        for place, text in enumerate(words):
            rows[place, : len(text)] = torch.from_numpy(index.rows_of(text))
        labels = torch.zeros(len(words), dtype=torch.int64)
        plain = Specification.of(found, found.mask | (rows > 0), labels, classes=2, scale=scale, budget=budget)
        numbered = Specification.of(
            found, found.mask | (rows > 0), labels, classes=2, scale=scale, budget=budget, rows=rows
        )
        for tier in TIERS:
            readings = [verifiers(model, *each) for each in ((plain, WordTables()), (numbered, shared))]
            readings.append(verifiers(model, numbered, small))
            if offered(tier, readings[0]):
                one, two, three = (lowest_of(bounds_of(tier, reading)) for reading in readings)
                assert torch.allclose(one, two, rtol=0, atol=1e-12), tier
                assert torch.allclose(one, three, rtol=0, atol=1e-12), tier
