"""Smoothing: bounds against exact sums over all versions, coverage by simulation, and rows that stay apart."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.black_box.strings import random_callable
from tests.black_box.test_enumeration import ENCODER
from tests.small import TABLE

from sgbt.certify import read_rows
from sgbt.certify.black_box import (
    Deletion,
    EncodedCertificate,
    EncodedSummary,
    StatisticalCertificate,
    StatisticalSummary,
    Substitution,
    certify_encoded,
    certify_smoothed,
)
from sgbt.certify.black_box.smoothing import clopper_pearson, radius_of
from sgbt.core.errors import CertificateError, ForgedRowError

WORDS = ("good", "film", "was", "very", "bad")


def by_enumeration(noise, words) -> dict[str, Fraction]:
    """The distribution of versions of a text, exactly."""
    found: dict[str, Fraction] = {}
    if isinstance(noise, Deletion):
        p = Fraction(noise.probability)
        for kept in itertools.product((True, False), repeat=len(words)):
            text = " ".join(word for word, stays in zip(words, kept, strict=True) if stays)
            found[text] = found.get(text, Fraction(0)) + (1 - p) ** sum(kept) * p ** (len(words) - sum(kept))
        return found
    near = [neighbourhood(word, noise.steps) for word in words]
    for chosen in itertools.product(*near):
        found[" ".join(chosen)] = Fraction(1, int(np.prod([len(each) for each in near])))
    return found


def neighbourhood(word: str, steps: int) -> set[str]:
    links = {(a, b) for a, others in TABLE.entries.items() for b in others}
    links |= {(b, a) for a, b in links}
    found = {word}
    for _ in range(steps):
        found |= {b for a, b in links if a in found}
    return found


@settings(max_examples=40)
@given(
    st.sampled_from([Deletion(0.5), Deletion(0.9), Substitution(TABLE), Substitution(TABLE, steps=2)]),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(tuple),
)
def test_replaced_words_take_away_at_most_what_the_overlap_says(noise, words):
    overlaps, own = noise.overlaps(words), by_enumeration(noise, words)
    assert float(sum(own.values())) == pytest.approx(1)
    for chosen in itertools.product(*[(word, *TABLE.substitutes(word)) for word in words]):
        changes = sum(a != b for a, b in zip(chosen, words, strict=True))
        theirs = by_enumeration(noise, chosen)
        common = float(sum(min(share, theirs.get(text, Fraction(0))) for text, share in own.items()))
        assert overlaps[min(changes, len(overlaps) - 1)] <= common + 1e-12


@pytest.mark.parametrize("noise", [Deletion(0.6), Substitution(TABLE)])
def test_samples_have_the_distribution_that_the_bound_is_about(noise):
    words, drawn = ("good", "film", "was"), 20_000
    wanted = by_enumeration(noise, words)
    texts, counts = np.unique(noise.sampled(words, drawn, np.random.default_rng(0)), return_counts=True)
    assert set(texts) <= set(wanted)
    for text, count in zip(texts, counts, strict=True):
        assert count / drawn == pytest.approx(float(wanted[text]), abs=0.02)


@given(st.integers(1, 60), st.data(), st.sampled_from([0.001, 0.05, 0.4]))
def test_clopper_and_pearson_invert_the_binomial_tail(samples, data, alpha):
    agreeing = data.draw(st.integers(0, samples))
    p = Fraction(clopper_pearson(agreeing, samples, alpha))
    ways = [1]
    for number in range(1, samples + 1):
        ways.append(ways[-1] * (samples - number + 1) // number)
    tail = sum(ways[k] * p**k * (1 - p) ** (samples - k) for k in range(agreeing, samples + 1))
    if agreeing:
        assert float(tail) == pytest.approx(alpha, rel=1e-6)
    else:
        assert p == 0


def false_share(trials: int, *, alpha: float = 0.05, samples: int = 60) -> float:
    """How often a base classifier that says the label with probability exactly one half is given a certificate."""
    rng = np.random.default_rng(1)
    false = 0
    for _ in range(trials):
        agreeing = int(rng.binomial(samples, 0.5))
        false += radius_of(np.array([1.0]), clopper_pearson(agreeing, samples, alpha)) is None
    return false / trials


def coin_share(trials: int, *, alpha: float) -> float:
    """The same through the whole way, by a base classifier that is a coin: every certificate is false."""
    rng = np.random.default_rng(2)
    rows = certify_smoothed(
        lambda texts: np.eye(2)[rng.integers(2, size=len(texts))],
        ["good film"] * trials,
        Deletion(0.5),
        max_substitutions=0,
        samples=60,
        first_samples=5,
        alpha=alpha,
    )
    return sum(row.verdict == "statistical" for row in rows) / trials


def test_false_certificates_are_at_most_alpha():
    assert false_share(1500) <= 0.05 + 3 * (0.05 * 0.95 / 1500) ** 0.5
    assert 0 < coin_share(400, alpha=0.1) <= 0.1 + 3 * (0.1 * 0.9 / 400) ** 0.5


@pytest.mark.soak
def test_false_certificates_are_at_most_alpha_in_ten_thousand_trials():
    assert false_share(10_000) <= 0.05 + 3 * (0.05 * 0.95 / 10_000) ** 0.5
    assert coin_share(10_000, alpha=0.05) <= 0.05 + 3 * (0.05 * 0.95 / 10_000) ** 0.5


def test_bonferroni_divides_alpha_by_the_number_of_texts():
    def classify(texts):
        return np.tile([0.0, 1.0], (len(texts), 1))

    alone, together = (
        certify_smoothed(classify, ["good"] * 10, Deletion(), samples=50, simultaneous=each, max_substitutions=0)
        for each in (False, True)
    )
    assert together[0].questions == 10
    assert together[0].lower < alone[0].lower < 1
    assert alone[0].lower == pytest.approx(0.001 ** (1 / 50))
    assert together[0].lower == pytest.approx(0.0001 ** (1 / 50))


def test_a_seed_decides_everything_and_rows_are_resumed(tmp_path):
    out, options = (
        tmp_path / "rows.jsonl",
        {"samples": 30, "first_samples": 5, "max_substitutions": 1, "fingerprint": "x"},
    )
    texts = ["good film", "bad movie", "very good"]
    first = certify_smoothed(random_callable(1), texts, Substitution(TABLE), out=out, **options)
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(lines[0] + lines[1][:40])
    assert certify_smoothed(random_callable(1), texts, Substitution(TABLE), out=out, **options) == first
    assert read_rows(out, StatisticalCertificate) == first
    assert first != certify_smoothed(random_callable(1), texts, Substitution(TABLE), seed=1, **options)
    with pytest.raises(CertificateError, match="rows with noise"):
        certify_smoothed(random_callable(1), texts, Deletion(), out=out, **options)


SMOOTHED = {"samples": 200, "first_samples": 20, "max_substitutions": 0, "fingerprint": "x"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"agreeing": 200}, "do not follow"),
        ({"lower": 0.999, "radius": None, "verdict": "statistical"}, "do not follow"),
        ({"replaceable": 0}, "do not follow"),
        ({"agreeing": 200, "lower": None, "radius": None}, "200 of 200 samples"),
        ({"predicted": None, "label": None}, "samples for"),
    ],
)
def test_statistical_rows_are_not_believed(tmp_path, changes, said):
    """What a bound says has to follow from its samples, and some texts are sampled again."""
    out, noise, texts = tmp_path / "rows.jsonl", Deletion(0.5), ["good film", "bad movie", "very good"]
    rows = certify_smoothed(random_callable(1), texts, noise, out=out, **SMOOTHED)
    row = next(row for row in rows if 110 < row.agreeing < 190)
    forged = row.to_row() | changes
    if "predicted" in changes:
        forged |= {"predicted": 1 - row.predicted, "label": 1 - row.predicted}
    if forged["lower"] is None:
        lower = clopper_pearson(200, 200, 0.001)
        forged |= {"lower": lower, "radius": radius_of(noise.overlaps(tuple(texts[row.index].split())), lower)}
    lines = [json.dumps(forged if each is row else each.to_row()) + "\n" for each in rows]
    out.write_text("".join(lines))
    with pytest.raises(ForgedRowError, match=said):
        certify_smoothed(random_callable(1), texts, noise, out=out, **SMOOTHED)


def test_statistical_rows_of_other_labels_are_not_taken_over(tmp_path):
    out, texts = tmp_path / "rows.jsonl", ["good film", "bad movie"]
    rows = certify_smoothed(random_callable(1), texts, Deletion(0.5), out=out, **SMOOTHED)
    others = [1 - row.label for row in rows]
    with pytest.raises(CertificateError, match="another text or label"):
        certify_smoothed(random_callable(1), texts, Deletion(0.5), out=out, labels=others, **SMOOTHED)


def test_proofs_and_statistics_are_never_mixed(tmp_path):
    classify = random_callable(0, bias=1.0)
    proofs = certify_encoded(classify, ["good"], ENCODER, fingerprint="x", out=tmp_path / "proofs")
    guesses = certify_smoothed(classify, ["good"], Deletion(), samples=20, fingerprint="x", out=tmp_path / "guesses")
    assert {proofs[0].kind, guesses[0].kind} == {"proven", "statistical"}
    for kind, name in ((EncodedCertificate, "guesses"), (StatisticalCertificate, "proofs")):
        with pytest.raises(CertificateError, match="a row of kind"):
            read_rows(tmp_path / name, kind)
    for summary in (EncodedSummary, StatisticalSummary):
        with pytest.raises(CertificateError, match="alone"):
            summary.of([*proofs, *guesses])
    assert StatisticalSummary.of(guesses).queries == 120


@pytest.mark.parametrize(
    "make",
    [
        lambda: Deletion(1.0),
        lambda: Substitution(TABLE, steps=0),
        lambda: certify_smoothed(random_callable(0), ["good"], Deletion(), alpha=0.0),
        lambda: certify_smoothed(random_callable(0), ["good"], Deletion(), labels=[1, 2]),
    ],
)
def test_bad_options_are_one_sentence(make):
    with pytest.raises(CertificateError, match="expected"):
        make()
