from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.threats.brute_force import READ, versions

import sgbt
from sgbt.certify import read_rows
from sgbt.certify.certificate import Verdict
from sgbt.certify.edits import ThreatCertificate, ThreatSummary, certify_against
from sgbt.core.errors import CertificateError
from sgbt.models import BagOfWords, TextClassifier
from sgbt.models.sum import Sum
from sgbt.threats import SubstitutionTable, Threat, Vocabulary

MORE = "q5'zé§٣m"
"""Characters beside those of a text: those of words, and some that no word has."""
TABLE = SubstitutionTable({"ab": ("ba", "q"), "b": ("ab",)}, "small")
WORDS = ("a", "ab", "b", "ba", "q", "aa", "bb", "-", ".", "abb", "'", "a5")
EDITS = (
    Threat.substitutions(TABLE),
    Threat.deletions("any", at_most=1),
    Threat.deletions(["a"], at_most=2),
    Threat.duplications(at_most=1),
    Threat.insertions(["ab", "-"], at_most=2),
    Threat.adjacent_swaps(at_most=1),
)
THREATS = (
    Threat.typos(1),
    *EDITS[1:],
    *(one | other for one, other in itertools.combinations(EDITS, 2)),
    *((one | other).within(total=2) for one, other in itertools.combinations(EDITS, 2)),
    *(Threat.typos(1) | other for other in EDITS),
    *((Threat.typos(1) | other).within(total=1) for other in EDITS),
)


def classifier_of(seed: int, *, classes: int = 2, max_length: int = 64, scale: float = 1.0) -> TextClassifier:
    drawn = np.random.default_rng(seed)
    words = tuple(sorted(drawn.choice(WORDS, size=8, replace=False)))
    bag = BagOfWords(classes=classes, features=(), ties=())
    bag.adopt(codes=torch.arange(len(words) + 2), keys=torch.zeros(0, dtype=torch.int64))
    with torch.no_grad():
        bag.weight.copy_(torch.from_numpy(drawn.normal(size=bag.weight.shape) * scale))
        bag.bias.copy_(torch.from_numpy(drawn.normal(size=classes)))
    names = tuple("abcdef"[:classes])
    return TextClassifier(bag, Vocabulary(words), names, None, max_length)


def least_by_enumeration(classifier: TextClassifier, text: str, threat: Threat, label: int, alphabet: str) -> float:
    """The least margin over every text that the threat allows: written as strings, read and answered as deployed."""
    found = sorted(versions(text, threat, "".join(sorted(set(alphabet + MORE)))))
    ids = [classifier.vocabulary.encode(words)[: classifier.max_length] for words in found]
    longest = max(map(len, ids), default=0) or 1
    padded = torch.tensor([row + [0] * (longest - len(row)) for row in ids])
    logits = classifier.deciding(padded).detach().double().numpy()
    others = np.delete(logits, label, axis=1)
    return float((logits[:, label] - others.max(axis=1)).min())


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10_000), st.text("ab' -.", max_size=6), st.sampled_from(THREATS), st.sampled_from([1, 2, 3, 64]))
def test_margins_are_the_least_of_all_strings(seed: int, text: str, threat: Threat, max_length: int) -> None:
    classifier = classifier_of(seed, classes=2 + seed % 2, max_length=max_length)
    (row,) = sgbt.certify(classifier, [text], threat=threat)
    least = least_by_enumeration(classifier, text, threat, row.label, "ab' -.")
    if row.verdict is not Verdict.VACUOUS:
        assert row.margin == pytest.approx(least, abs=1e-9)
        assert row.certified == (least > row.slack)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.text("ab -.", max_size=5))
def test_margins_of_two_typos(seed: int, text: str) -> None:
    classifier = classifier_of(seed, classes=3)
    (row,) = sgbt.certify(classifier, [text], threat=Threat.typos(2))
    least = least_by_enumeration(classifier, text, Threat.typos(2), row.label, "ab -.")
    assert row.margin == pytest.approx(least, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.text("ab' -.", max_size=12), min_size=2, max_size=5), st.sampled_from(EDITS))
def test_a_larger_threat_never_has_a_larger_margin(seed: int, texts: list[str], other: Threat) -> None:
    classifier = classifier_of(seed)
    labels = [seed % 2] * len(texts)
    smaller = certify_against(classifier, texts, Threat.typos(1), labels=labels)
    larger = certify_against(classifier, texts, Threat.typos(1) | other, labels=labels)
    largest = certify_against(classifier, texts, Threat.typos(2) | other, labels=labels)
    for one, two, three in zip(smaller, larger, largest, strict=True):
        assert one.margin >= two.margin - 1e-9
        assert two.margin >= three.margin - 1e-9


def test_texts_of_a_batch_do_not_touch_each_other() -> None:
    classifier, threat = classifier_of(3), Threat.typos(1) | Threat.insertions(["ab"], at_most=2)
    texts = ["", "ab a", "b - ba q a", "a" * 30, "ab. 'a b"]
    together = certify_against(classifier, texts, threat)
    alone = [certify_against(classifier, [text], threat)[0] for text in texts]
    assert [row.margin for row in together] == pytest.approx([row.margin for row in alone], abs=1e-12)


def test_sums_add_their_margins() -> None:
    one, two = classifier_of(5), classifier_of(5)
    with torch.no_grad():
        two.model.weight.neg_()
    both = TextClassifier(Sum([one.model, two.model]), one.vocabulary, one.label_names)
    (row,) = certify_against(both, ["ab a b"], Threat.typos(1), labels=[0])
    least = least_by_enumeration(both, "ab a b", Threat.typos(1), 0, "ab ")
    assert row.margin <= least + 1e-9


def test_substitutions_alone_are_certified_as_before(tmp_path: Path) -> None:
    classifier, texts = classifier_of(1, scale=0.2), ["ab a", "b ab ba", "q"]
    for limit in (None, 1):
        threat = Threat.substitutions(TABLE, at_most=limit)
        before = [row.to_row() for row in sgbt.certify(classifier, texts, TABLE, max_substitutions=limit)]
        after = [row.to_row() for row in sgbt.certify(classifier, texts, threat=threat)]
        for row in (*before, *after):
            row.pop("milliseconds")
        assert before == after


def test_rows_name_the_threat_and_are_taken_up_again(tmp_path: Path) -> None:
    classifier, path = classifier_of(1), tmp_path / "rows.jsonl"
    threat = Threat.typos(1)
    first = certify_against(classifier, ["ab a"], threat, out=path)
    both = certify_against(classifier, ["ab a", "b"], threat, out=path)
    assert both[0] == first[0]
    assert read_rows(path, ThreatCertificate) == both
    row = json.loads(path.read_text().splitlines()[0])
    assert (row["threat"], row["threat_hash"]) == ("typos:1", threat.hash)
    assert ThreatSummary.of(both).clean.total == 2
    with pytest.raises(CertificateError, match="threat"):
        certify_against(classifier, ["ab a"], Threat.typos(2), out=path)
    with pytest.raises(CertificateError, match="verdict"):
        _forged(row)


def _forged(row: dict[str, object]) -> ThreatCertificate:
    fields = {name: value for name, value in row.items() if name != "kind"}
    return ThreatCertificate(**fields | {"margin": -1.0, "verdict": "certified"})  # type: ignore[arg-type]


def test_texts_to_which_nothing_can_be_done_are_counted_apart() -> None:
    rows = certify_against(classifier_of(1), ["a a", "q q", "zzz"], Threat.deletions(["zzzz"], at_most=1))
    assert {row.verdict for row in rows} == {Verdict.VACUOUS}
    summary = ThreatSummary.of(rows)
    assert (summary.certified.count, summary.abstained.count, summary.vacuous.count) == (0, 0, 3)


def test_rows_that_claim_too_much_are_not_taken_over(tmp_path: Path) -> None:
    classifier, path, texts = classifier_of(1), tmp_path / "rows.jsonl", ["ab a", "b", "a5 ' q"]
    rows = certify_against(classifier, texts, Threat.typos(1))
    undecided = next(row for row in rows if row.verdict is Verdict.ABSTAINED)
    claims = (
        {"verdict": "certified", "margin": 5.0},
        {"margin": undecided.margin + 0.1, "slack": 9.0},
        {"verdict": "misclassified", "predicted": 1 - undecided.label},
    )
    for claim in claims:
        path.write_text(json.dumps(undecided.to_row() | claim) + "\n")
        with pytest.raises(CertificateError):
            certify_against(classifier, texts, Threat.typos(1), out=path)


def test_what_is_not_proven_is_refused() -> None:
    with pytest.raises(CertificateError, match="a threat alone"):
        sgbt.certify(classifier_of(0), ["a"], threat=Threat.typos(1), max_substitutions=1)
    assert READ("a") == ("a",)


@pytest.mark.parametrize("name", ["agnews-typos-{}", "agnews-typos-{}-vectors"])
def test_published_rows_agree_with_each_other(name: str) -> None:
    folder = Path(__file__).parents[2] / "results" / "threats"
    one, two = (
        {row.index: row for row in read_rows(folder / f"{name.format(k)}.jsonl", ThreatCertificate)} for k in (1, 2)
    )
    for index, row in two.items():
        assert (row.text_hash, row.label, row.model_hash) == tuple(
            getattr(one[index], name) for name in ("text_hash", "label", "model_hash")
        )
        assert row.margin <= one[index].margin + 1e-9
