"""attack: what comes out, whatever goes in; and rows that survive anything."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.attacks.world import World

from sgbt.attacks import AttackBugError, AttackResult, attack, read_rows, summarise, workers, write_textattack_csv
from sgbt.attacks.campaign import checked
from sgbt.attacks.edits import TableReach
from sgbt.attacks.queries.engine import MASK_WORD
from sgbt.attacks.result import Swap
from sgbt.attacks.victim import victim_of
from sgbt.core.errors import AttackError
from sgbt.core.registry import ATTACKS
from sgbt.core.shares import Share
from sgbt.data import Split, Tokenizer
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionIndex, SubstitutionTable

SMALL = {
    "genetic": {"population": 6, "generations": 3},
    "genetic:alzantot": {"population": 6, "generations": 3},
    "genetic:fast": {"population": 6, "generations": 3},
    "genetic:openattack": {"population": 6, "generations": 3},
    "pso": {"particles": 4, "iterations": 2},
    "pso:zang": {"particles": 4, "iterations": 2},
    "pso:quick": {"particles": 4, "iterations": 2},
    "pso:openattack": {"particles": 4, "iterations": 2},
    "pso:openattack-compat": {"particles": 4, "iterations": 2},
}
Classifiers = Callable[..., TextClassifier]


def untimed(results: Sequence[AttackResult]) -> list[AttackResult]:
    return [replace(result, seconds=0.0) for result in results]


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
@pytest.mark.parametrize("method", ["pwws", "genetic:openattack", "pso:openattack"])
def test_neither_workers_nor_company_matter_even_in_float32(
    method: str, kind: str, world: World, classifier_of: Classifiers
) -> None:
    classifier = classifier_of(kind)
    texts, labels = world.texts(20, length=25)
    classifier.model.float()
    try:
        runs = [
            untimed(
                attack(classifier, texts, world.table, method=method, labels=labels, workers=count, together=beside)
            )
            for count, beside in ((1, 1), (1, 3), (1, 20), (2, 5), (3, 16))
        ]
    finally:
        classifier.model.double()
    assert all(run == runs[0] for run in runs)


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
@pytest.mark.parametrize("method", ["pwws", "genetic:openattack"])
def test_five_thousand_words(method: str, kind: str, world: World, classifier_of: Classifiers) -> None:
    """Only the words that the model reads are attacked; the rest stays, letter by letter."""
    classifier = classifier_of(kind)
    text = world.text(np.random.default_rng(0), length=5000, label=0)
    result = attack(classifier, [text], world.table, method=method, max_queries=800)[0]
    assert result.words == 5000
    assert result.queries <= 800
    assert result.perturbed.split()[512:] == text.split()[512:]
    whole = replace(classifier, max_length=5000)
    assert attack(whole, [text], world.table, method="pwws", max_queries=100)[0].status == "failed"


def test_a_constant_model_is_never_broken(world: World) -> None:
    texts, _ = world.texts(6, length=8)
    for method in ATTACKS:
        if method != "gradient":
            results = attack(
                lambda asked: np.tile([0.3, 0.7], (len(asked), 1)), texts, world.table, method=method,
                **SMALL.get(method, {}),
            )  # fmt: skip
            assert {result.status for result in results} == {"failed"}


def test_a_callable_gives_what_its_classifier_gives(world: World, classifier_of: Classifiers) -> None:
    """Black box and white box answer alike, and the black box is asked about no text twice."""
    classifier = classifier_of("cnn")
    texts, labels = world.texts(10, length=8)
    for method in ("pwws", "greedy", "genetic:openattack"):
        asked: list[str] = []

        def classify(batch: Sequence[str], asked: list[str] = asked) -> np.ndarray:
            asked.extend(batch)
            return classifier.predict(batch).probabilities

        fast = attack(classifier, texts, world.table, method=method, labels=labels, **SMALL.get(method, {}))
        slow = attack(classify, texts, world.table, method=method, labels=labels, **SMALL.get(method, {}))
        assert [row.perturbed for row in fast] == [row.perturbed for row in slow]
        assert [row.queries for row in fast] == [row.queries for row in slow]
        checks = sum(row.status == "success" for row in slow) + len(texts)
        assert len(asked) <= len(set(asked)) + checks


def test_a_callable_is_shown_texts_of_as_many_words_with_unknown_ones_as_they_are(world: World) -> None:
    """A masked word is one word as well; no other word that stands in a text is changed on the way."""
    tokenizer, text = Tokenizer(), "Wba Strange, <unk> <pad> wca\x00n't İSTANBUL \ud83d wda"
    words, shown = tokenizer.words(text), []

    def classify(texts: Sequence[str]) -> np.ndarray:
        shown.extend(texts)
        return np.tile([0.3, 0.7], (len(texts), 1))

    attack(classify, [text], world.table, method="pwws")
    assert len(shown) > 5
    masked = 0
    for each in shown:
        found = tokenizer.words(each)
        assert len(found) == len(words)
        for old, new in zip(words, found, strict=True):
            assert new in (old, MASK_WORD, *world.table.substitutes(old))
            masked += new == MASK_WORD
    assert masked


def test_gradient_needs_a_white_box(world: World) -> None:
    with pytest.raises(AttackError, match="gradient"):
        attack(lambda texts: np.tile([1.0, 0.0], (len(texts), 1)), ["wba"], world.table, method="gradient")


def test_limits_are_kept(world: World, classifier_of: Classifiers) -> None:
    classifier = classifier_of("cnn")
    texts, labels = world.texts(12, length=20)
    for method in ("pwws", "greedy", "beam", "gradient", "genetic", "pso:quick"):
        options = SMALL.get(method, {}) | {"max_changed": 0.1}
        for result in attack(classifier, texts, world.table, method=method, labels=labels, max_queries=150, **options):
            assert result.queries <= 150
            assert len(result.swaps) <= 2
    stop = [word for group in world.words for word in group if word.endswith("a")]
    for result in attack(classifier, texts, world.table, method="greedy", labels=labels, stop_words=stop):
        assert not {swap.old for swap in result.swaps} & set(stop)


def test_split_index_and_predicted_labels(world: World, classifier_of: Classifiers) -> None:
    classifier = classifier_of("cnn")
    texts, labels = world.texts(8, length=8)
    split = Split("test", tuple(texts), np.array(labels))
    index = SubstitutionIndex.build(world.table, world.vocabulary)
    by_split = attack(classifier, split, index, method="greedy")
    assert untimed(by_split) == untimed(attack(classifier, texts, world.table, method="greedy", labels=labels))
    assert all(row.status != "skipped" for row in attack(classifier, texts, world.table, method="greedy"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "pws"}, "did you mean pwws"),
        ({"method": "genetic", "populaton": 3}, "populaton"),
        ({"method": "genetic", "population": 0}, "population of at least 1"),
        ({"method": "greedy", "max_changed": 0}, "max_changed"),
        ({"labels": [0, 1]}, "one label for each text"),
        ({"together": 0}, "one text or more"),
    ],
)
def test_wrong_questions_are_refused(
    arguments: dict[str, object], message: str, world: World, classifier_of: Classifiers
) -> None:
    with pytest.raises(AttackError, match=message):
        attack(classifier_of("cnn"), ["wba wbb"], world.table, **arguments)  # type: ignore[arg-type]


def test_a_wrong_answer_is_a_bug_and_raises(world: World, classifier_of: Classifiers) -> None:
    victim = victim_of(classifier_of("cnn"))
    tokens = victim.tokenizer.tokenize("waa wba wbb")
    label = int(victim.probabilities([tokens.text])[0].argmax())
    for swaps, message in (
        ((Swap(0, "waa", "wab"),), "not allowed"),
        ((Swap(1, "wba", "wba"),), "are not the words"),
        ((), "no word changed"),
    ):
        reach = TableReach(world.table, "a broken attack")
        space = reach.space(tokens, length=None)
        check = checked(reach, space, tokens, swaps, space.original, label)
        with pytest.raises(AttackBugError, match=message):
            check.send(int(victim.probabilities([next(check).text])[0].argmax()))


def test_rows_are_resumed_and_never_doubled(world: World, classifier_of: Classifiers, tmp_path: Path) -> None:
    classifier = classifier_of("cnn")
    texts, labels = world.texts(10, length=8)
    path = tmp_path / "deep" / "rows.jsonl"
    whole = attack(classifier, texts, world.table, labels=labels)
    attack(classifier, texts[:4], world.table, labels=labels[:4], out=path)
    with path.open("ab") as stream:
        stream.write(b'{"settings": "half a li')  # a process was killed here
    again = attack(classifier, texts, world.table, labels=labels, out=path)
    attack(classifier, texts, world.table, labels=labels, out=path)
    assert untimed(again) == untimed(whole)
    rows = sorted(read_rows(path), key=lambda row: row.index)  # rows come in the order in which they are done
    assert untimed(rows) == untimed(whole)
    attack(classifier, texts, world.table, labels=labels, out=path, method="greedy")
    assert len(read_rows(path)) == 20
    with pytest.raises(AttackError, match="with seed 1"):
        attack(classifier, texts, world.table, labels=labels, out=path, seed=1)
    other = SubstitutionTable({"wba": ("wbb",)})
    with pytest.raises(AttackError, match="with table hash"):
        attack(classifier, texts, other, labels=labels, out=path)


KILLED = """
import sys, numpy as np, time
from sgbt.attacks import attack
from sgbt.threats import SubstitutionTable
def slow(texts):
    time.sleep(0.005)
    return np.array([[0.5 + 0.01 * text.count("b"), 0.5 - 0.01 * text.count("b")] for text in texts])
texts = [f"aa {'bb ' * (n % 4)}aa {'xx ' * n}" for n in range(60)]
table = SubstitutionTable({"bb": ("cc", "dd"), "aa": ("ee",)})
attack(slow, texts, table, method="greedy", out=sys.argv[1], fingerprint="slow")
"""


def test_rows_survive_kill(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], env=environment)
    until = time.monotonic() + 60
    while time.monotonic() < until and (not path.exists() or path.read_bytes().count(b"\n") < 5):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(read_rows(path))
    assert 5 <= kept < 60
    subprocess.run([sys.executable, "-c", KILLED, str(path)], env=environment, check=True)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(row["index"] for row in lines) == list(range(60))


def test_two_processes_do_not_share_a_file(world: World, classifier_of: Classifiers, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"

    def interrupt(_: AttackResult) -> None:
        with pytest.raises(AttackError, match="no other process"):
            attack(classifier_of("cnn"), ["wba"], world.table, out=path)

    attack(classifier_of("cnn"), ["wba wca"], world.table, out=path, listener=interrupt)


def test_processes_that_start_anew_give_the_same_rows(
    world: World, classifier_of: Classifiers, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = classifier_of("cnn", classes=2)
    texts, labels = world.texts(6, length=8)
    alone = attack(classifier, texts, world.table, method="pwws", labels=labels)
    monkeypatch.setattr(workers, "START", "spawn")  # as on macOS and Windows
    apart = attack(classifier, texts, world.table, method="pwws", labels=labels, workers=2)
    assert untimed(apart) == untimed(alone)


def test_what_cannot_be_sent_to_a_process_that_starts_anew_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "START", "spawn")
    with pytest.raises(AttackError, match=r"can be sent to another process, got one that cannot .*use one worker"):
        attack(lambda texts: np.ones((len(texts), 2)) / 2, ["wba", "wca"], world.table, workers=2)


def test_a_workers_problem_is_told(world: World) -> None:
    def short(texts: Sequence[str]) -> np.ndarray:
        return np.zeros((0, 2))

    def broken(texts: Sequence[str]) -> np.ndarray:
        raise ZeroDivisionError("inside the model")

    with pytest.raises(AttackError, match="one row of label probabilities"):
        attack(short, ["wba", "wca"], world.table, workers=2)
    with pytest.raises(RuntimeError, match="inside the model"):
        attack(broken, ["wba", "wca"], world.table, workers=2)
    with pytest.raises(AttackError, match="one worker or more"):
        attack(short, ["wba", "wca"], world.table, workers=0)


def test_damaged_rows_are_named(world: World, classifier_of: Classifiers, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n")
    with pytest.raises(AttackError, match="line 1"):
        attack(classifier_of("cnn"), ["wba"], world.table, out=path)


def test_summary_has_both_denominators(world: World, classifier_of: Classifiers, tmp_path: Path) -> None:
    texts, labels = world.texts(20, length=8)
    results = attack(classifier_of("cnn"), texts, world.table, labels=labels, method="greedy")
    (summary,) = summarise(results)
    held = sum(result.status == "failed" for result in results)
    skipped = sum(result.status == "skipped" for result in results)
    assert (summary.robust.count, summary.robust.total) == (held, 20)
    assert (summary.unbroken.count, summary.unbroken.total) == (held, 20 - skipped)
    assert summary.clean.count == 20 - skipped
    write_textattack_csv(results, tmp_path / "log.csv")
    rows = list(csv.DictReader((tmp_path / "log.csv").open(newline="")))
    assert len(rows) == 20
    assert {row["result_type"] for row in rows} <= {"Successful", "Failed", "Skipped"}
    broken = next(result for result in results if result.status == "success")
    assert f"[[{broken.swaps[0].new}]]" in rows[broken.index]["perturbed_text"]


def test_wilson_interval_of_known_values() -> None:
    """Values of Newcombe 1998, Table I."""
    assert Share(81, 263).interval == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert Share(0, 20).interval == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert Share(29, 29).interval == pytest.approx((0.8830, 1.0), abs=1e-4)
    assert str(Share(0, 0)) == "none"
