"""Proofs are about words, adversaries write texts: both mean the same set, and what is outside is refused or said."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import small

import sgbt
from sgbt.attacks.victim import CallableVictim
from sgbt.certify.oracle import robust_by_oracle
from sgbt.data import Tokenizer
from sgbt.models import TextClassifier, TextCNN, WordEmbedding, save_classifier
from sgbt.threats import UNKNOWN, SubstitutionIndex, SubstitutionTable, Vocabulary

NEW_YORK = Tokenizer(r"new\ york|\w+")
OLD = SubstitutionTable({"old": ("new",)}, "old to new")
WORDS = ("i", "saw", "old", "new", "york", "two", "2", ",", "500", "make")


def classifier(tokenizer: Tokenizer, *, max_length: int = 64) -> TextClassifier:
    """Says no, unless some word is unknown, as "new york" and "2,500" are."""
    vocabulary = Vocabulary(WORDS)
    matrix = torch.zeros(len(vocabulary), 1)
    matrix[UNKNOWN] = 1.0
    model = TextCNN(WordEmbedding(matrix), kernel_sizes=(1,), filters=1, activation="relu", dropout=0.0)
    with torch.no_grad():
        for weight in (*model.convolutions.parameters(), *model.head.parameters()):
            weight.zero_()
        next(model.convolutions.parameters()).fill_(1.0)
        next(model.head.parameters()).copy_(torch.tensor([[-1.0], [1.0]]))
        list(model.head.parameters())[1].copy_(torch.tensor([0.5, -0.5]))
    return TextClassifier(model.eval(), vocabulary, ("no", "yes"), None, max_length, tokenizer)


USES: dict[str, Callable[[TextClassifier, Path], object]] = {
    "certify": lambda own, _: sgbt.certify(own, ["i saw old york"], OLD),
    "explain": lambda own, _: sgbt.explain(own, "i saw old york", OLD),
    "attack": lambda own, _: sgbt.attack(own, ["i saw old york"], OLD),
    "attack a callable": lambda own, _: sgbt.attack(
        CallableVictim(lambda texts: own.predict(texts).probabilities, NEW_YORK), ["i saw old york"], OLD
    ),
    "the oracle": lambda own, _: robust_by_oracle(own, ["i saw old york"], [], OLD, most=100),
    "load": lambda own, folder: sgbt.load_classifier(save_classifier(small_one(own), folder)),
    "train": lambda own, _: sgbt.train(
        small.model_of("cnn"), small.dataset(train=16, dev=8), substitutions=small.TABLE, config=small.QUICK,
        vocabulary=small.VOCABULARY, tokenizer=NEW_YORK,
    ),
}  # fmt: skip


def small_one(own: TextClassifier) -> TextClassifier:
    return TextClassifier(small.model_of("cnn"), small.VOCABULARY, own.label_names, small.TABLE, 64, own.tokenizer)


@pytest.mark.parametrize("use", USES)
def test_a_tokenizer_that_reads_two_words_as_one_is_refused(use: str, tmp_path: Path) -> None:
    own = classifier(NEW_YORK)
    assert own.predict(["i saw old york", "i saw new york"]).labels == ("no", "yes")
    with pytest.raises(sgbt.SgbtError, match="a space always separates words"):
        USES[use](own, tmp_path / "model")


def test_such_a_tokenizer_serves_where_no_table_is(tmp_path: Path) -> None:
    own = TextClassifier(small.model_of("cnn"), small.VOCABULARY, ("no", "yes"), None, 64, NEW_YORK)
    again = sgbt.load_classifier(save_classifier(own, tmp_path / "model"))
    assert again.predict(["a new york film"]).labels == own.predict(["a new york film"]).labels


def test_words_that_a_literal_replacement_joins_are_outside_the_threat() -> None:
    """In "two,500" put "2" for "two" by hand, and one word stands where three stood: this is no substitution."""
    own, table = classifier(Tokenizer()), SubstitutionTable({"two": ("2",)}, "digits")
    text = "i saw two,500"
    assert sgbt.certify(own, [text], table)[0].certified
    literal, written = text.replace("two", "2"), own.tokenizer.tokenize(text).replace({2: "2"})
    assert own.tokenizer.words(literal) == ("i", "saw", "2,500")
    assert own.predict([literal]).labels == ("yes",)  # the label flips, by another edit
    assert written == "i saw 2 ,500"
    assert own.tokenizer.words(written) == ("i", "saw", "2", ",", "500")
    assert own.predict([written]).labels == ("no",)
    assert sgbt.attack(own, [text], table, method="greedy")[0].status == "failed"


TABLE = SubstitutionTable(
    {
        "good": ("great", "fine", "n't"), "bad": ("awful", "2", "..."), "film": ("movie", "'s"),
        "n't": ("very", "good"), "the": ("500", "a"), "500": ("2", "the"), ",": ("film", "."),
        "'s": ("was", "unheard"), "strange": ("good",),
    },
    "odd words",
)  # fmt: skip
KNOWN = tuple(
    dict.fromkeys(word for pair in TABLE.entries.items() for word in (pair[0], *pair[1]) if word != "unheard")
)
pieces = st.sampled_from(
    ["good", "BAD", "film", "The", "500", "2,500", ",", ".", "n't", "don't", "GOODn't", "film's", "strange", "İß", "'s"]
)
sentences = st.lists(st.tuples(pieces, st.sampled_from(["", " ", "\n", "<br />", "\x00"])), min_size=1, max_size=5).map(
    lambda parts: "".join(piece + gap for piece, gap in parts)
)


@settings(max_examples=60, deadline=None)
@given(sentences, st.integers(2, 8))
def test_every_variant_as_a_text_is_what_it_is_as_words(text: str, max_length: int) -> None:
    """All allowed texts are written, read afresh and predicted: words, cut and logits are those of the ids proven."""
    vocabulary = Vocabulary(KNOWN)
    torch.manual_seed(0)
    model = TextCNN(WordEmbedding(torch.randn(len(vocabulary), 4)), kernel_sizes=(1, 2), filters=4, dropout=0.0)
    own = TextClassifier(model.double().eval(), vocabulary, ("no", "yes"), TABLE, max_length)
    tokens = own.tokenizer.tokenize(text)
    read = tokens.words[:max_length]
    proven = SubstitutionIndex.build(TABLE, vocabulary).for_words([read])
    found = small.all_variants(proven, 0)
    choices = [(word, *TABLE.substitutes(word)) for word in read]
    texts, ids = [], set()
    for words in itertools.islice(itertools.product(*choices), 200):
        swaps = {place: word for place, word in enumerate(words) if word != read[place]}
        texts.append(tokens.replace(swaps))
        assert own.tokenizer.words(texts[-1]) == (*words, *tokens.words[max_length:])
        ids.add(tuple(vocabulary.encode(words)))
    assert ids <= set(map(tuple, found.tolist()))
    with torch.no_grad():
        known = dict(
            zip(map(tuple, found.tolist()), model(found, torch.ones_like(found, dtype=torch.bool)), strict=True)
        )
    encoded = own.encode(texts)
    logits = own.logits_of(encoded)
    for row in range(len(texts)):
        assert torch.allclose(logits[row], known[tuple(encoded[row].tolist())], rtol=0, atol=1e-12)


def test_a_substitution_never_moves_the_place_where_a_text_is_cut() -> None:
    own = classifier(Tokenizer(), max_length=3)
    text, table = "i saw two,500", SubstitutionTable({"two": ("2",), "500": ("2",)}, "digits")
    tokens = own.tokenizer.tokenize(text)
    for swaps in ({}, {2: "2"}, {4: "2"}, {2: "2", 4: "2"}):
        assert own.encode([tokens.replace(swaps)])[0].tolist() == own.vocabulary.encode(
            [swaps.get(place, word) for place, word in enumerate(tokens.words)][:3]
        )
    assert sgbt.certify(own, [text], table)[0].replaceable == 1


def test_a_combination_that_cannot_be_written_is_no_success() -> None:
    """`re` is a word in front of letters alone: with a mark behind it, no text reads as these two words."""
    tokenizer, table = Tokenizer(r"re(?=\w) | (?!re\b)\w+ | \.+"), SubstitutionTable({"make": ("...",)}, "a mark")
    table.require_read_by(tokenizer)
    tokens = tokenizer.tokenize("remake")
    assert tokens.words == ("re", "make")
    assert tokens.written({1: "..."}) is None
    own = classifier(tokenizer)
    own = replace(own, vocabulary=Vocabulary(("re", *WORDS[1:])))
    assert own.predict(["make", "...", "remake"]).labels == ("no", "yes", "no")

    def classify(texts: Sequence[str]) -> np.ndarray:
        return own.predict(texts).probabilities

    for victim in (own, CallableVictim(classify, tokenizer)):
        for method in ("pwws", "greedy"):
            first, second = sgbt.attack(victim, ["remake", "make"], table, method=method)
            assert (first.status, first.perturbed) == ("failed", "remake")
            assert (second.status, second.perturbed) == ("success", "...")
