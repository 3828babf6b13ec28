"""Attacks within any threat: what they find is a text that the threat allows, and never one of a certified text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certify.test_edits import TABLE, THREATS, classifier_of
from tests.threats.brute_force import READ, versions

import sgbt
from sgbt.attacks import AttackBugError, AttackResult, Swap, read_rows, write_textattack_csv
from sgbt.attacks.edits import ThreatReach, ThreatSpace
from sgbt.attacks.edits.typing_errors import TypingErrors
from sgbt.attacks.result import FAILED, SUCCESS
from sgbt.bridges.card_attacks import replay
from sgbt.certify import verify
from sgbt.certify.certificate import Verdict
from sgbt.certify.edits import certify_against
from sgbt.cli.attack_view import marked_text
from sgbt.core.errors import AttackError, CertificateError, LexiconError
from sgbt.data import Tokenizer
from sgbt.threats import Threat
from sgbt.threats.maker import is_reachable

METHODS = ("greedy", "beam", "genetic", "pso", "charmer", "leave-out")
QUICK = {
    "genetic": {"population": 6, "generations": 3},
    "pso": {"particles": 6, "iterations": 3},
}


def attacked(seed: int, text: str, threat: Threat, method: str) -> AttackResult:
    (result,) = sgbt.attack(classifier_of(seed), [text], threat=threat, method=method, **QUICK.get(method, {}))
    return result


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 500), st.text("ab' -.", max_size=8), st.sampled_from([*THREATS, Threat.typos(2)]),
    st.sampled_from(METHODS),
)  # fmt: skip
def test_what_is_found_is_allowed_and_certificates_hold(seed: int, text: str, threat: Threat, method: str) -> None:
    result = attacked(seed, text, threat, method)
    proofs = certify_against(classifier_of(seed), [text], threat)
    sgbt.check_consistent(proofs, [result])
    if result.status == SUCCESS:
        assert not proofs[0].stays
        assert (result.threat, result.threat_hash, result.table_hash) == (threat.name, threat.hash, "")
        assert classifier_of(seed).predict([result.perturbed]).probabilities.argmax() == result.after != result.label


@settings(max_examples=40, deadline=None)
@given(st.text("ab -", max_size=6), st.sampled_from(THREATS), st.integers(0, 99))
def test_states_are_strings_that_the_threat_allows(text: str, threat: Threat, seed: int) -> None:
    tokens = Tokenizer().tokenize(text)
    space = ThreatSpace.under(threat, tokens, TypingErrors(Tokenizer(), None))
    rng = np.random.default_rng(seed)
    states = np.zeros((20, len(space)), np.int32)
    for state in states[:, : len(space)]:
        for place in rng.permutation(len(space))[: rng.integers(3)]:
            state[place] = rng.integers(space.substitutes[place] + 1)
    allowed = versions(text, threat, "abcdefghijklmnopqrstuvwxyz '-.,0")
    for state in states[space.admits(states)]:
        assert READ(space.written(state)) == READ(space.spaced(state))
        assert READ(space.written(state)) in allowed
        assert is_reachable(threat, text, space.written(state))


@settings(max_examples=40, deadline=None)
@given(st.text("ab -", max_size=5), st.text("ab -", max_size=6), st.sampled_from(THREATS))
def test_reachable_is_what_strings_say(text: str, other: str, threat: Threat) -> None:
    assert is_reachable(threat, text, other) == (READ(other) in versions(text, threat, "ab -z"))


def test_a_single_edit_is_found_wherever_it_is() -> None:
    """A bag of words has no local optimum at one edit, so greedy search breaks whatever one edit breaks."""
    threat = Threat.typos(1) | Threat.deletions("any", at_most=1)
    texts = ["ab a b ba", "b - ba q a", "ab. 'a b", "a5 b ba ab", "q q bb"]
    found = 0
    for seed in range(8):
        classifier = classifier_of(seed)
        proofs = certify_against(classifier, texts, threat.within(total=1))
        results = sgbt.attack(classifier, texts, threat=threat.within(total=1), method="greedy")
        assert [result.status == FAILED for result in results] == [proof.stays for proof in proofs]
        found += sum(result.status == SUCCESS for result in results)
    assert found


def test_callables_are_attacked_by_their_texts() -> None:
    classifier = classifier_of(3)
    threat = Threat.typos(1)
    texts = ["ab a b ba", "b - ba q a"]
    results = sgbt.attack(lambda some: classifier.predict(some).probabilities, texts, threat=threat, method="charmer")
    assert [result.status for result in results] == [SUCCESS, SUCCESS]
    assert all(result.queries > 10 for result in results)


def test_rows_name_their_threat_and_are_taken_up_again(tmp_path: Path) -> None:
    classifier, path, threat = classifier_of(3), tmp_path / "rows.jsonl", Threat.typos(1)
    texts = ["ab a b ba", "b - ba q a"]
    first = sgbt.attack(classifier, texts[:1], threat=threat, out=path)
    both = sgbt.attack(classifier, texts, threat=threat, out=path)
    assert both[0] == first[0]
    assert read_rows(path) == both
    assert {(row.method, row.threat, row.threat_hash) for row in both} == {("greedy", "typos:1", threat.hash)}
    with pytest.raises(AttackError, match="threat hash"):
        sgbt.attack(classifier, texts, threat=Threat.typos(2), out=path)
    with pytest.raises(AttackError, match="table hash"):
        sgbt.attack(classifier, texts, TABLE, method="greedy", out=path)


def test_rows_within_a_threat_stand_beside_certificates_of_a_table(tmp_path: Path) -> None:
    """They are checked as far as that goes, counted apart, shown and written; edits may stand behind the last word."""
    classifier, texts = classifier_of(3), ["ab a b ba", "b - ba q a"]
    classifier = replace(classifier, table=TABLE)
    threat = Threat.insertions(["ab", "-", "q"], at_most=2)
    path = tmp_path / "rows.jsonl"
    rows = sgbt.attack(classifier, texts, threat=threat, method="beam", out=path)
    assert any(swap.old == "" for row in rows for swap in row.swaps)
    end = replace(rows[0], status=SUCCESS, after=1 - rows[0].label, swaps=(Swap(4, "", "q"),), perturbed="ab a b ba q")
    assert "nothing[q]" in str(marked_text(end, classifier))
    write_textattack_csv([*rows, end], tmp_path / "rows.csv")
    proofs = sgbt.certify(classifier, texts)
    found = verify(classifier, proofs, texts, attacks=read_rows(path))
    assert [each.reason for each in found.apart] == [f"within the threat {threat.name}"]
    assert not found.attacked
    lie = replace(rows[0], status=FAILED, after=rows[0].label, swaps=(), perturbed="b b b b", model_hash="")
    failed = replay(classifier, [lie], TABLE, sample=None, seed=0)
    assert "within the threat" in failed.reason


def test_a_broken_certificate_is_noticed() -> None:
    classifier, threat = classifier_of(3), Threat.typos(1)
    (proof,) = certify_against(classifier, ["ab a b ba"], threat)
    (broken,) = sgbt.attack(classifier, ["ab a b ba"], threat=threat)
    lie = replace(proof, verdict=Verdict.CERTIFIED, margin=1.0)
    with pytest.raises(CertificateError, match="within typos:1"):
        sgbt.check_consistent([lie], [broken])
    (other,) = certify_against(classifier, ["ab a b ba"], Threat.deletions(["zzz"], at_most=1))
    assert sgbt.check_consistent([other], [broken]) == 0  # of another threat


def test_substitutions_alone_are_attacked_as_before() -> None:
    classifier = classifier_of(1)
    texts = ["ab a b ba", "b ab"]
    before = sgbt.attack(classifier, texts, TABLE, method="beam")
    after = sgbt.attack(classifier, texts, threat=Threat.substitutions(TABLE), method="beam")
    assert [replace(row, seconds=0.0) for row in before] == [replace(row, seconds=0.0) for row in after]
    limited = sgbt.attack(classifier, texts, threat=Threat.substitutions(TABLE, at_most=1), method="beam")
    assert all(len(row.swaps) <= 1 for row in limited)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "pwws"}, "about substitutes"),
        ({"method": "ensemble"}, "about substitutes"),
        ({"method": "genetic", "max_changed": 0.2}, "budgets of the threat"),
        ({"table": TABLE}, "a threat alone"),
        ({"stop_words": ["a"]}, "a threat alone"),
    ],
)
def test_wrong_questions_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(AttackError, match=message):
        sgbt.attack(classifier_of(3), ["ab a"], threat=Threat.typos(1), **arguments)  # type: ignore[arg-type]


def test_what_no_lattice_is_made_of_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(LexiconError, match="at most 2 typing errors"):
        sgbt.attack(classifier_of(3), ["ab a"], threat=Threat.typos(3))
    with pytest.raises(AttackError, match="a substitution table or a threat"):
        sgbt.attack(classifier_of(3), ["ab a"])


def test_a_text_beyond_the_threat_is_a_bug_and_raises() -> None:
    tokens = Tokenizer().tokenize("ab a")
    reach = ThreatReach(Threat.typos(1), Tokenizer(), None, "broken")
    space = ThreatSpace.under(Threat.typos(2), tokens, TypingErrors(Tokenizer(), None))
    state = space.original
    words = [at for at, each in enumerate(space.stretches) if each.end - each.start < 3]
    state[words] = 1
    with pytest.raises(AttackBugError, match="not within typos:1"):
        reach.text(space, tokens, (), state)
