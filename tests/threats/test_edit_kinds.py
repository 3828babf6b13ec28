"""A kind of edit of somebody else's: one function, known to names, lattices, proofs, attacks and training."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tests.certify.test_edits import classifier_of

import sgbt
from sgbt.certify.edits import certify_against
from sgbt.core.errors import LexiconError
from sgbt.core.registry import EDITS
from sgbt.data import Tokenizer
from sgbt.threats import LatticeMaker, Threat, Vocabulary, parse_threat
from sgbt.threats.edit_kinds import KINDS, Rewrite, Words
from sgbt.threats.threat import Edit

VOCABULARY = Vocabulary(("a", "ab", "b", "q"))


def thrice(edit: Edit, words: Words, place: int) -> Iterator[Rewrite]:
    """b becomes three words; a and b together become one of two."""
    if words[place] == "b":
        yield 1, (("a",), ("b", "q"), ("a",))
    if words[place : place + 2] == ("a", "b"):
        yield 2, (("ab", "q"),)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    EDITS.add("thrice", thrice)
    yield
    EDITS.remove("thrice")


def written(threat: Threat, text: str) -> set[str]:
    names = ("", "?", *VOCABULARY.words)
    paths = LatticeMaker(threat, VOCABULARY, Tokenizer()).of(text).paths()
    return {" ".join(names[number] for number in path) for path in paths}


def test_its_lattice_has_what_it_writes() -> None:
    once = {"a b q", "a a b a q", "a a q a q", "ab q", "q q"}
    assert written(Threat.edit("thrice", at_most=1), "a b q") == once
    assert written(Threat.edit("thrice", at_most=2), "b b") >= {"a b a a q a", "b b", "b a b a"}
    assert written(Threat.edit("thrice", at_most=0), "b b") == {"b b"}
    both = Threat.edit("thrice", at_most=1) | Threat.deletions("any", at_most=1)
    assert written(both.within(total=1), "b q") == {"b q", "a b a q", "a q a q", "q", "b"}


def test_it_is_named_and_kept() -> None:
    threat = parse_threat("thrice:2 + typos:1", lambda name: None)
    assert threat == Threat.edit("thrice", at_most=2) | Threat.typos(1)
    assert threat.name == "typos:1 + thrice:2"
    assert Threat.from_json(threat.to_json()) == threat
    with pytest.raises(LexiconError, match="did you mean thrice"):
        Threat.edit("thrise", at_most=1)
    with pytest.raises(LexiconError, match="whole number from 0"):
        Threat.edit("thrice", at_most=-1)


def test_proofs_and_attacks_know_it() -> None:
    threat = Threat.edit("thrice", at_most=1) | Threat.deletions("any", at_most=1)
    texts, broken = ["a b q", "b b a", "q b ab"], 0
    for seed in range(6):
        classifier = classifier_of(seed)
        proofs = certify_against(classifier, texts, threat)
        for proof, text in zip(proofs, texts, strict=True):
            found = LatticeMaker(threat, classifier.vocabulary, Tokenizer()).of(text).paths()
            ids = [[*path] + [0] * (8 - len(path)) for path in found]
            logits = classifier.model(torch.tensor(ids)).detach()
            least = (logits[:, proof.label] - logits[:, 1 - proof.label]).min()
            assert proof.margin == pytest.approx(float(least), abs=1e-9)
        results = sgbt.attack(classifier, texts, threat=threat, method="beam")
        sgbt.check_consistent(proofs, results)
        broken += sum(result.status == "success" for result in results)
    assert broken


@pytest.mark.parametrize(
    ("rewrite", "says"),
    [
        ((0, (("a",),)), "take 1 to 2 words"),
        ((3, ()), "take 1 to 2"),
        ((1, ((),)), "a choice"),
        ((1, (("A",),)), "'A'"),
    ],
)
def test_what_it_may_not_write_is_one_sentence(rewrite: Rewrite, says: str) -> None:
    def odd(edit: Edit, words: Words, place: int) -> Iterator[Rewrite]:
        yield rewrite

    EDITS.add("odd", odd)
    try:
        with pytest.raises(LexiconError, match=says):
            LatticeMaker(Threat.edit("odd", at_most=1), VOCABULARY, Tokenizer()).of("a b")
    finally:
        EDITS.remove("odd")


def test_numbers_of_kinds_stay() -> None:
    assert [KINDS.index(name) for name in EDITS.own] == list(range(6))
    assert KINDS[KINDS.index("thrice")] == "thrice"
