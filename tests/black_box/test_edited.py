"""The encoder of typing errors and other edits: what strings make, against what it lists."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.black_box.strings import random_callable
from tests.small import TABLE
from tests.threats.brute_force import READ, one_edit, versions
from tests.threats.test_lattice import WORD_EDITS

from sgbt.bridges.sklearn import SynonymEncoder
from sgbt.certify.black_box import Answer, EditedEncoder, Encoder, certify_encoded, cost_of, fit_encoder, read_encoder
from sgbt.certify.black_box.rendering import rendered
from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer
from sgbt.threats import Threat

ALPHABET = "plotsaer ."
KNOWN = ("plots", "a", "plot", "staple", "taper", "pots", "tapes", "poles")
UNSEEN = "zé§٣m"


def piece_of(word: str, encoder: EditedEncoder) -> str:
    """What a word is written as, found by writing strings."""
    near = one_edit(word, ALPHABET + UNSEEN) if len(word) >= 5 and word.isalpha() else {word}
    known = [each for each in encoder.words[: encoder.frequent] if each in near and len(each) >= 5 and each.isalpha()]
    found = word if word in encoder.words else known[0] if known else None
    return "unk" if found is None else encoder.codes.get(found, found)


def texts_of(text: str, encoder: EditedEncoder, alphabet: str = ALPHABET) -> set[str]:
    """The encoded texts of all strings of the threat."""
    found = versions(text, encoder.threat, alphabet + UNSEEN)
    return {rendered([piece_of(word, encoder) for word in words], Tokenizer()) for words in found}


def listed(text: str, encoder: EditedEncoder) -> set[str]:
    read = encoder.read(text)
    assert read.whole
    assert read.own == encoder.encode(text) not in read.variants
    assert len(set(read.variants)) == len(read.variants)
    return {read.own, *read.variants}


@st.composite
def encoders(draw: st.DrawFn, *threats: Threat) -> EditedEncoder:
    words = tuple(draw(st.permutations(KNOWN))[: draw(st.integers(0, len(KNOWN)))])
    codes = {word: draw(st.sampled_from(KNOWN)) for word in words if draw(st.booleans())}
    return EditedEncoder(draw(st.sampled_from(threats)), words, codes, draw(st.integers(0, len(words))))


@settings(max_examples=60, deadline=None)
@given(encoders(Threat.typos(1)), st.text(ALPHABET, max_size=8))
def test_every_typing_error_is_encoded_as_one_of_those_listed(encoder, text):
    made, found = texts_of(text, encoder), listed(text, encoder)
    assert made <= found
    if not encoder.frequent:
        assert made == found


@pytest.mark.parametrize("word", ["plots", "pllots", "taper tapes", "stapl", "tapesa"])
def test_misspelt_words_are_read_as_what_they_misspell(word):
    encoder = EditedEncoder(Threat.typos(1), KNOWN, {"tapes": "taper"}, len(KNOWN))
    assert encoder.encode(word) == rendered([piece_of(each, encoder) for each in word.split()], Tokenizer())
    assert "unk" not in encoder.encode(word)
    assert texts_of(word, encoder) <= listed(word, encoder)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(list(itertools.combinations(WORD_EDITS, 2))),
    st.sampled_from([None, 1, 2]),
    st.text("ab -", max_size=5),
    st.dictionaries(st.sampled_from(("a", "b", "ab")), st.sampled_from(("a", "q")), max_size=2),
)
def test_pairs_of_word_edits(pair, total, text, codes):
    threat = pair[0] | pair[1]
    encoder = EditedEncoder(threat if total is None else threat.within(total=total), ("a", "b", "ab"), codes)
    assert texts_of(text, encoder, "ab -") == listed(text, encoder)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(WORD_EDITS), st.text("ab -", max_size=4))
def test_word_edits_beside_typing_errors(other, text):
    words = READ(text)
    assume(not any(map(str.__eq__, words, words[1:])))  # two equal words in the other order are no edit
    encoder = EditedEncoder(Threat.typos(1) | other, ("a", "b", "ab"), {"b": "a"})
    assert texts_of(text, encoder, "ab -") == listed(text, encoder)


@settings(max_examples=30, deadline=None)
@given(encoders(Threat.typos(1)), st.text(ALPHABET, max_size=6), st.integers(0, 99), st.sampled_from([3, 4096]))
def test_certificates_agree_with_brute_force(encoder, text, seed, most):
    classify = random_callable(seed, bias=0.7)
    (row,) = certify_encoded(classify, [text], encoder, max_queries=most, slack=0.0)
    stays = bool((classify(sorted(texts_of(text, encoder))).argmax(axis=1) == row.predicted).all())
    assert row.queries <= most + 1
    if row.stays:
        assert stays
    assert row.verdict in (Answer.CERTIFIED, Answer.ABSTAINED)
    assert row.radius is None


REVIEWS = ["a good film with a great plot", "a bad movie , very awful", "good good film", "the great actor"] * 10


def test_a_threat_has_the_encoder_that_serves_it():
    assert isinstance(fit_encoder(REVIEWS, TABLE), Encoder)
    assert isinstance(fit_encoder(REVIEWS, Threat.substitutions(TABLE, at_most=2)), Encoder)
    both = fit_encoder(REVIEWS, Threat.substitutions(TABLE) | Threat.typos(1), [1, 0, 1, 1] * 10)
    assert isinstance(both, EditedEncoder)
    assert both.encode("A GREET film").split()[1] == both.encode("great")
    with pytest.raises(LexiconError, match="at most 1 typing error, got 2"):
        fit_encoder(REVIEWS, "typos:2")


def test_files_and_copies_are_the_same_encoder(tmp_path):
    encoder = fit_encoder(REVIEWS, Threat.substitutions(TABLE) | Threat.typos(1))
    encoder.to_json(tmp_path / "encoder.json")
    assert read_encoder(tmp_path / "encoder.json") == encoder == pickle.loads(pickle.dumps(encoder))
    changed = (tmp_path / "encoder.json").read_text().replace('"frequent": ', '"frequent": 1')
    (tmp_path / "encoder.json").write_text(changed)
    with pytest.raises(LexiconError, match="encoder"):
        read_encoder(tmp_path / "encoder.json")


def test_rows_name_the_threat_and_budgets_are_its_own(tmp_path):
    encoder = fit_encoder(REVIEWS, "typos:1")

    def good(texts):
        return np.array([[0.5, float("good" in text)] for text in texts])

    first = certify_encoded(good, ["good plots", "bad plot"], encoder, fingerprint="x", out=tmp_path / "rows")
    assert {row.table_hash for row in first} == {encoder.threat.hash}
    assert first == certify_encoded(good, ["good plots", "bad plot"], encoder, fingerprint="x", out=tmp_path / "rows")
    assert cost_of(["good plots"], encoder, max_queries=1).above == 1
    with pytest.raises(LexiconError, match="budgets of its own"):
        certify_encoded(good, ["good plots"], encoder, max_substitutions=1)


def test_how_much_accuracy_is_traded_is_chosen_by_a_proxy_and_reported():
    texts, labels = ["good film", "great plot", "bad film", "awful plot"] * 20, [1, 1, 0, 0] * 20
    kept = SynonymEncoder(TABLE, relevance=0.0, trade=0.0).fit(texts, labels)
    assert kept.trade_.before - kept.trade_.after <= 0.0
    assert kept.trade_.asked == 0.0
    cheap = SynonymEncoder(TABLE, relevance=0.0, trade=0.9).fit(texts, labels)
    assert cheap.trade_.distinction <= kept.trade_.distinction
    with pytest.raises(ValueError, match="trade needs labels"):
        SynonymEncoder(TABLE, trade=0.1).fit(texts)
    with pytest.raises(LexiconError, match="a trade of accuracy"):
        SynonymEncoder(TABLE, trade=1.5).fit(texts, labels)
