"""Explanations: shares add up to the proven margin, and every substitute named is one that the table allows."""

from __future__ import annotations

import pytest
from tests.soundness.trained import HIDDEN, WORDS, dataset, table, trained

from sgbt.certify import Prepared, certify, explain
from sgbt.core.errors import CertificateError


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_shares_add_up_and_name_allowed_substitutes(kind: str) -> None:
    classifier = trained(kind)
    for text in dataset().test.texts[:8]:
        told = explain(classifier, text)
        (proof,) = certify(classifier, [text])
        assert told.certificate == proof
        assert told.base <= told.clean + 1e-9
        assert told.margin <= told.clean + 1e-9
        assert [word.word for word in told.words] == text.split()
        for word in told.words:
            assert word.drop <= 0
            assert word.choices == len(table().substitutes(word.word))
            assert (word.substitute is None) == (word.drop == 0)
            assert word.substitute is None or word.substitute in table().substitutes(word.word)
        drops = [word.drop for word in told.weakest]
        assert drops == sorted(drops)


def test_the_worst_text_is_one_that_the_table_allows() -> None:
    classifier, text = trained("cnn"), " ".join((WORDS["good"][0], HIDDEN, WORDS["filler"][1]))
    told = explain(classifier, text)
    for old, new in zip(text.split(), told.worst_text.split(), strict=True):
        assert new == old or new in table().substitutes(old)


def test_a_budget_marks_no_more_words_than_it_allows() -> None:
    told = explain(trained("cnn"), " ".join(WORDS["good"][:6]), max_substitutions=2)
    assert len(told.weakest) <= 2


def test_an_empty_text_has_no_shares() -> None:
    told = explain(trained("bilstm"), "")
    assert told.words == ()
    assert told.margin == pytest.approx(told.clean)


@pytest.mark.parametrize("kind", ["cnn", "linear"])
def test_what_is_prepared_once_says_the_same(kind: str) -> None:
    classifier = trained(kind)
    prepared = Prepared.of(classifier, table())
    texts = dataset().test.texts[:5]
    assert certify(prepared, texts) == certify(classifier, texts, table())
    assert explain(prepared, texts[0]) == explain(classifier, texts[0], table())


def test_another_table_than_the_prepared_one_is_refused() -> None:
    prepared = Prepared.of(trained("cnn"), table())
    with pytest.raises(CertificateError, match="prepared for"):
        certify(prepared, ["goodaa"], table().nearest(1))
