"""`sgbt.report(run, proofs, attacks).save(...)`, as in the first example a user sees."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path

import pytest
from tests.constant import constant

import sgbt
from sgbt.core.errors import SgbtError
from sgbt.evaluate.toy import toy_dataset, toy_table, toy_vectors
from sgbt.report.document import BrokenText, Document, Section
from sgbt.report.formats import to_html


@pytest.fixture(scope="module")
def run() -> sgbt.training.Run:  # type: ignore[name-defined]
    config = sgbt.TrainingConfig(epochs=2, batch_size=16, learning_rate=0.02, minimum_count=1)
    model = sgbt.TextCNN(toy_vectors(), classes=2, filters=4, kernel_sizes=(1, 2))
    return sgbt.train(model, toy_dataset("toy"), objective=sgbt.SGBT(), substitutions=toy_table(), config=config)


def test_one_run_with_its_proofs_and_attacks(run: sgbt.training.Run, tmp_path: Path) -> None:  # type: ignore[name-defined]
    texts = toy_dataset("toy").test[:30]
    proofs = sgbt.certify(run.model, texts, toy_table())
    attacks = sgbt.attack(run.model, texts, toy_table(), method="greedy", seed=0)
    made = sgbt.report(run, proofs, attacks)
    page = made.save(tmp_path / "toy.html").read_text()
    own = made.records[0]
    assert own.share("certified").count == sum(proof.certified for proof in proofs)
    assert own.share("robust", "greedy").count == sum(result.status == "failed" for result in attacks)
    assert "toy: cnn trained with sgbt, seed 0" in page
    broken = [result for result in attacks if result.status == "success"]
    assert ("<ins>" in page) == bool(broken)
    assert own.curve[0]["parts"].keys() == {"cross_entropy", "growth", "curvature"}


def test_a_contradiction_makes_no_report(run: sgbt.training.Run) -> None:  # type: ignore[name-defined]
    texts = toy_dataset("toy").test[:30]
    proofs = sgbt.certify(run.model, texts, toy_table())
    certified = next(proof for proof in proofs if proof.certified)
    claim = sgbt.AttackResult(
        certified.index, "greedy", "success", certified.label, 1 - certified.label, "a", "b",
        (sgbt.attacks.Swap(0, "a", "b"),), 1, 1, 0.1, 0,
    )  # fmt: skip
    with pytest.raises(SgbtError, match="unbroken, as certified"):
        sgbt.report(run, proofs, [claim])


def test_rows_of_another_model_make_no_report(run: sgbt.training.Run, tmp_path: Path) -> None:  # type: ignore[name-defined]
    texts = toy_dataset("toy").test[:5]
    turned = replace(run.model, label_names=run.model.label_names[::-1])
    with pytest.raises(SgbtError, match="rows about the model with identity"):
        sgbt.report(run, sgbt.certify(turned, texts, toy_table()), [])
    attacks = sgbt.attack(turned, texts, toy_table(), method="greedy", out=tmp_path / "rows.jsonl")
    with pytest.raises(SgbtError, match="rows about the model with identity"):
        sgbt.report(run, [], attacks)
    earlier = [
        replace(proof, model_hash=sgbt.models.weights_hash(run.model.model))
        for proof in sgbt.certify(run.model, texts, toy_table())
    ]
    assert sgbt.report(run, earlier, []).records[0].model_hash == run.model.identity


def test_texts_with_nothing_to_replace_and_one_answer_are_in_the_report(
    run: sgbt.training.Run,  # type: ignore[name-defined]
) -> None:
    texts = [*toy_dataset("toy").test.texts[:30], "zzz", "qqq"]
    labels = [*toy_dataset("toy").test.labels[:30].tolist(), 0, 0]
    always = replace(run, model=constant(run.model, 0))
    proofs = sgbt.certify(always.model, texts, toy_table(), labels=labels)
    vacuous = sum(proof.verdict == "nothing-to-replace" for proof in proofs)
    assert vacuous >= 2
    attacks = sgbt.attack(always.model, toy_dataset("toy").test[:30], toy_table(), method="greedy")
    name = run.model.label_names[0]
    for made, count in ((sgbt.report(always, proofs, []), 32), (sgbt.report(always, [], attacks), 30)):
        for suffix in (".html", ".md"):
            page = html.unescape(made.text(suffix))
            assert f"the model answers {name!r} for all {count} texts" in page
            assert "Class by class" in page
        shown = f"{vacuous} more have nothing to replace" in made.text(".md")
        assert shown == (count == 32)
    rows = [row for row in sgbt.report(always, proofs, []).text(".csv").splitlines() if ",vacuous," in row]
    assert len(rows) == 1
    assert f",{vacuous},32," in rows[0]
    other = sgbt.report(run, sgbt.certify(run.model, toy_dataset("toy").test[:30], toy_table()), [])
    assert "Warning" not in other.text(".md")


def test_hashes_and_the_slack_are_in_the_report(run: sgbt.training.Run, tmp_path: Path) -> None:  # type: ignore[name-defined]
    proofs = sgbt.certify(run.model, toy_dataset("toy").test[:10], toy_table())
    page = sgbt.report(run, proofs).save(tmp_path / "toy.html").read_text()
    about = page[page.index("<h2>What the figures are about") :]
    for known in (run.model.identity.removeprefix("id1-"), str(run.about["dataset_hash"]), toy_table().hash):
        assert known[:12] in about
    assert f"{max(proof.slack for proof in proofs):.1e}" in about


def test_three_broken_texts_are_shown_and_the_others_unfold() -> None:
    def page(count: int) -> str:
        examples = tuple(BrokenText(f"text {number}", "good", "bad", ()) for number in range(count))
        return to_html(Document("a report", "", (Section("Texts", "", examples=examples),)))

    assert "more</summary>" not in page(3)
    shown, _, folded = page(10).partition("<summary>7 more</summary>")
    assert [shown.count("<blockquote>"), folded.count("<blockquote>")] == [3, 7]
