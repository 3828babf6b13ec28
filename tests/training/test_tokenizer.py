"""A tokenizer of one's own: the classifier keeps it, and a table that it reads otherwise is refused everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import small

import sgbt
from sgbt.core.errors import LexiconError
from sgbt.data import Tokenizer

HYPHENS = Tokenizer(r"\w+(?:-\w+)* | [^\w\s]")
LETTERS = Tokenizer(r"\w")


def trained(out: Path | None = None, tokenizer: Tokenizer = HYPHENS) -> sgbt.TextClassifier:
    model = sgbt.TextCNN(small.vectors(), filters=4, kernel_sizes=(1,))
    data = small.dataset(train=16, dev=8)
    run = sgbt.train(model, data, substitutions=small.TABLE, config=small.QUICK, tokenizer=tokenizer, out=out)
    return run.model


def test_the_classifier_keeps_it(tmp_path: Path) -> None:
    trained(tmp_path / "run")
    again = sgbt.load_classifier(tmp_path / "run")
    assert again.tokenizer.words("a well-made film") == ("a", "well-made", "film")
    with pytest.raises(sgbt.SgbtError, match="another"):  # it is part of what a run is
        trained(tmp_path / "run", Tokenizer())


def test_a_table_that_it_reads_otherwise_is_refused() -> None:
    with pytest.raises(LexiconError, match="reads as 'g o o d'"):
        trained(tokenizer=LETTERS)
    own = trained()
    odd = sgbt.TextClassifier(own.model, own.vocabulary, own.label_names, None, 16, LETTERS)
    for use in (
        lambda: sgbt.certify(odd, ["a good film"], small.TABLE),
        lambda: sgbt.explain(odd, "a good film", small.TABLE),
        lambda: sgbt.attack(odd, ["a good film"], small.TABLE),
    ):
        with pytest.raises(LexiconError, match="single words for the model's tokenizer"):
            use()
