"""A sample of the enumeration campaign, whose whole runs in `make soak`: no version of a text contradicts its row."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
import torch
from tests.soundness.campaign import campaign, run_case, search
from tests.soundness.worlds import KINDS

from sgbt.certify import SeparableBound, Verdict, certify
from sgbt.core.errors import CertificateError
from sgbt.models import BiLSTM, TextClassifier, WordEmbedding
from sgbt.threats import SubstitutionTable, Vocabulary

ONCE_FALSE = {659: ("bilstm mean", 23), 688: ("bilstm max", 24), 1107: ("bilstm mean", 39)}
"""Cases, with their worlds, in which an overflow once made a false certificate for a BiLSTM within a budget."""


@pytest.mark.parametrize("case", [*range(2 * len(KINDS)), *ONCE_FALSE])
def test_no_version_contradicts_a_row(case: int) -> None:
    counts: Counter[str] = Counter()
    assert run_case(case, counts, world=ONCE_FALSE.get(case)) is None
    assert counts["versions"]


@pytest.mark.parametrize("case", ONCE_FALSE)
def test_those_cases_still_overflow(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule that what is not finite proves nothing, a NaN is what their margins come to."""
    monkeypatch.setattr(SeparableBound, "__post_init__", lambda self: None)
    with pytest.raises(CertificateError, match="got margin nan"):
        run_case(case, Counter(), world=ONCE_FALSE[case])


def test_runs_of_codes_are_put_to_the_test_where_replaceable_words_are_neighbours() -> None:
    """In cases of every kind of BagOfNgrams, with budgets, and with a radius below the number of words."""
    counts: Counter[str] = Counter()
    kinds = [number for number, kind in enumerate(KINDS) if "grams" in kind]
    for case in (kind + seed * len(KINDS) for seed in range(4, 9) for kind in kinds):
        assert run_case(case, counts, size="short") is None
    assert counts["rows of neighbours within a budget"] == 6 * 5 * len(kinds)
    assert counts["rows of neighbours that are open and have a radius"] > 10


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "bilstm" in kind or kind == "cnn max tanh"])
def test_no_version_of_a_long_text_contradicts_a_row(kind: str) -> None:
    case = KINDS.index(kind) + 7 * len(KINDS)
    assert run_case(case, Counter(), size="long") is None


def overflowing() -> TextClassifier:
    """A BiLSTM whose interval gradients overflow on long texts; "good" may become "bad"."""
    torch.manual_seed(5)
    model = BiLSTM(WordEmbedding(torch.randn(6, 4)), hidden=8).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "weight_" in name:
                weight.mul_(3)
    table = SubstitutionTable({"good": ("bad",)}, "one")
    return TextClassifier(model, Vocabulary(("good", "bad", "film", "the")), ("no", "yes"), table, max_length=2000)


def test_it_finds_what_is_false() -> None:
    """The label of the text is lost with one swap: a row that says otherwise is found out, and so is a margin."""
    classifier, text = overflowing(), "film the " * 300 + "good"
    (row,) = certify(classifier, [text], max_substitutions=1)
    assert search(classifier, row, text, random.Random(0), Counter()) is None
    forged = replace(row, verdict=Verdict.CERTIFIED, margin=2 * row.slack, tier="gbm")
    swaps, reason = search(classifier, forged, text, random.Random(0), Counter()) or ({}, "")
    assert swaps == {600: "bad"}
    assert "label is lost" in reason
    forged = replace(row, margin=row.slack / 2, verdict=Verdict.ABSTAINED, radius=None)
    swaps, reason = search(classifier, forged, text, random.Random(0), Counter()) or ({}, "")
    assert swaps == {600: "bad"}
    assert "below the bound" in reason


def test_a_campaign_counts_what_it_tried_and_goes_on_where_it_stood(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts: Counter[str] = Counter()
    assert campaign(0.01, first=3, counts=counts) == 0
    assert counts["versions"] > 0
    assert "violations 0" in capsys.readouterr().out
