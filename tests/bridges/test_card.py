"""A card says what was checked and no more; rows and settings become no Markdown, HTML or YAML of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import small

import sgbt
from sgbt.bridges import model_card
from sgbt.bridges.card_figures import as_code, as_text, as_yaml
from sgbt.core.errors import AttackError, CertificateError, ForgedRowError
from sgbt.models import TextClassifier, load_classifier, save_classifier

TEXTS = small.dataset(test=30).test
Line = dict[str, Any]


def own() -> TextClassifier:
    model = small.model_of("cnn", seed=1, pooling="mean")
    return TextClassifier(model, small.VOCABULARY, ("negative", "positive"), small.TABLE, max_length=16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("card")
    save_classifier(own(), folder / "run")
    sgbt.certify(own(), TEXTS, out=folder / "certificates.jsonl")
    sgbt.attack(own(), TEXTS, small.TABLE, method="greedy", out=folder / "attacks.jsonl")
    return folder


def changed(source: Path, out: Path, change: Callable[[list[Line]], list[Line]]) -> Path:
    rows = sorted((json.loads(line) for line in source.read_text().splitlines()), key=lambda row: row["index"])
    out.write_text("".join(json.dumps(row) + "\n" for row in change(rows)))
    return out


def card(folder: Path, **about: Any) -> str:
    return model_card(folder / "run", **({"texts": TEXTS} | about))


def bury(rows: list[Line]) -> list[Line]:
    """Every success rewritten as a failure."""
    for row in rows:
        if row["status"] == "success":
            row |= {"status": "failed", "after": row["label"], "swaps": [], "perturbed": row["original"]}
    return rows


@pytest.mark.parametrize("beside", [True, False])
def test_buried_successes_are_not_published(folder: Path, tmp_path: Path, beside: bool) -> None:
    forged = changed(folder / "attacks.jsonl", tmp_path / "forged.jsonl", bury)
    about = {"certificates": folder / "certificates.jsonl"} if beside else {}
    with pytest.raises(ForgedRowError, match=r"failed.*breaks"):
        card(folder, attacks=forged, **about)


@pytest.mark.parametrize("beside", [True, False])
def test_rows_that_were_taken_out_are_missed(folder: Path, tmp_path: Path, beside: bool) -> None:
    def without(rows: list[Line]) -> list[Line]:
        assert rows[-1]["status"] != "success"
        return [row for row in rows if row["status"] != "success"]

    fewer = changed(folder / "attacks.jsonl", tmp_path / "fewer.jsonl", without)
    about = {"certificates": folder / "certificates.jsonl"} if beside else {}
    with pytest.raises(AttackError, match=r"rows of greedy for all of the first 30 texts, got none for text \d+"):
        card(folder, attacks=fewer, **about)
    first = changed(folder / "attacks.jsonl", tmp_path / "first.jsonl", lambda rows: rows[:20])
    text = card(folder, attacks=first, certificates=folder / "certificates.jsonl")
    assert "greedy: the first 20 texts, of 30 with certificates" in text
    assert re.search(r"robust accuracy against greedy \|.*of 20 \|", text)


def test_what_was_made_again_is_on_the_card(folder: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (folder / "attacks.jsonl").read_text().splitlines()]
    failed = sum(row["status"] == "failed" for row in rows)
    assert f"{failed} of {failed} unbroken texts were attacked again" in card(folder, attacks=folder / "attacks.jsonl")
    some = card(folder, attacks=folder / "attacks.jsonl", sample=3, seed=77)
    assert f"3 of {failed} unbroken texts were attacked again, drawn by seed 77" in some
    drawn = {re.search(r"seed (\d+)", card(folder, attacks=folder / "attacks.jsonl", sample=3))[1] for _ in range(3)}  # type: ignore[index]
    assert len(drawn) > 1  # nobody knows beforehand which rows will be looked at
    silent = changed(
        folder / "attacks.jsonl", tmp_path / "silent.jsonl", lambda rows: [row | {"options": None} for row in rows]
    )
    assert "observed, not replayed: the rows do not say their options" in card(folder, attacks=silent)


def test_a_weak_attack_is_named_as_it_was(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "weak.jsonl"
    sgbt.attack(own(), TEXTS, small.TABLE, method="greedy", max_queries=1, out=out)
    assert "robust accuracy against greedy (max\\_queries 1)" in card(folder, attacks=out)


def test_attacks_within_another_table_stand_apart(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "other.jsonl"
    sgbt.attack(own(), TEXTS, small.TABLE.nearest(0), method="greedy", out=out)
    for about in ({}, {"certificates": folder / "certificates.jsonl"}):
        text = card(folder, attacks=out, **about)
        assert "robust accuracy against greedy |" not in text
        assert f"robust accuracy against greedy, within another table, {small.TABLE.nearest(0).hash[:12]} |" in text


def test_texts_of_attack_rows_are_compared_with_the_data(folder: Path, tmp_path: Path) -> None:
    """Thirty numbers for one text would count it thirty times."""

    def copies(rows: list[Line]) -> list[Line]:
        kept = next(row for row in rows if row["status"] == "failed")
        return [kept | {"index": number} for number in range(30)]

    forged = changed(folder / "attacks.jsonl", tmp_path / "copies.jsonl", copies)
    with pytest.raises(ForgedRowError, match="another text than that of the data"):
        card(folder, attacks=forged)
    assert "texts were not compared with data" in card(folder, attacks=folder / "attacks.jsonl", texts=None)
    assert "texts were not compared with data" not in card(folder, attacks=folder / "attacks.jsonl")


def test_several_budgets_are_refused_and_one_is_said(folder: Path, tmp_path: Path) -> None:
    sgbt.certify(own(), TEXTS, max_substitutions=1, out=tmp_path / "one.jsonl")
    text = card(folder, certificates=tmp_path / "one.jsonl")
    assert "certified accuracy, at most 1 word replaced" in text
    assert "every combination" not in text
    assert "when at most 1 of its words is replaced" in text
    assert "every combination" in card(folder, certificates=folder / "certificates.jsonl")
    for second in (None, 2):
        sgbt.certify(own(), TEXTS, max_substitutions=second, out=tmp_path / f"{second}.jsonl")
        lines = [*(tmp_path / "one.jsonl").read_text().splitlines(keepends=True)[:15]]
        have = {json.loads(line)["index"] for line in lines}
        other = (tmp_path / f"{second}.jsonl").read_text().splitlines(keepends=True)
        lines += [line for line in other if json.loads(line)["index"] not in have]
        (tmp_path / "mixed.jsonl").write_text("".join(lines))
        with pytest.raises(CertificateError, match="one max substitutions for all rows"):
            card(folder, certificates=tmp_path / "mixed.jsonl")


def test_a_study_with_a_scale_is_not_published(folder: Path, tmp_path: Path) -> None:
    sgbt.certify(own(), TEXTS, scale=0.5, out=tmp_path / "half.jsonl")
    with pytest.raises(CertificateError, match="scale"):
        card(folder, certificates=tmp_path / "half.jsonl")


def test_the_models_own_answers_are_no_accuracy(folder: Path, tmp_path: Path) -> None:
    proofs = sgbt.certify(own(), TEXTS.texts, out=tmp_path / "own.jsonl")
    assert {proof.labelled for proof in proofs} == {False}
    sgbt.attack(own(), TEXTS.texts, small.TABLE, method="greedy", out=tmp_path / "attacks.jsonl")
    for about in (
        {"certificates": tmp_path / "own.jsonl", "attacks": tmp_path / "attacks.jsonl"},
        {"attacks": tmp_path / "attacks.jsonl"},
    ):
        text = card(folder, texts=TEXTS.texts, **about)
        assert "accuracy" not in text.split("## Figures")[1].split("Shares are")[0]
        assert "the labels are the model's own answers" in text
        assert "model-index" not in text
        assert "answers unbroken by greedy" in text
    assert {proof.labelled for proof in sgbt.certify(own(), TEXTS)} == {True}


def test_where_labels_come_from_is_said(folder: Path, tmp_path: Path) -> None:
    rows = folder / "certificates.jsonl"
    assert "Labels are those of the data, compared row by row." in card(folder, certificates=rows)
    assert "as the rows state them" in card(folder, certificates=rows, texts=TEXTS.texts)

    def old(lines: list[Line]) -> list[Line]:
        return [{name: value for name, value in line.items() if name != "labelled"} for line in lines]

    earlier = changed(rows, tmp_path / "earlier.jsonl", old)
    assert "do not say where their labels come from" in card(folder, certificates=earlier, texts=TEXTS.texts)
    assert "Labels are those of the data" in card(folder, certificates=earlier)


NASTY = (
    "x|y `z` <img src=x onerror=1> *a* [b](c) # d\n---\n# heading\r\n| row | \\| é 😀 \u2028 \x07 _u_ ~~s~~ $m$ &amp;"
)


def test_everything_in_rows_and_settings_is_text(folder: Path, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    named = changed(
        folder / "attacks.jsonl", tmp_path / "named.jsonl", lambda rows: [row | {"method": NASTY} for row in rows]
    )
    loud = replace(own(), label_names=(NASTY, "good"))
    run = save_classifier(
        loud,
        tmp_path / "run",
        training={"dataset": NASTY, "objective": NASTY, "objective_options": {NASTY: NASTY}, "seed": NASTY},
    )
    sgbt.certify(loud, TEXTS, out=tmp_path / "rows.jsonl")
    rows = changed(
        named,
        tmp_path / "attacks.jsonl",
        lambda lines: [line | {"model_hash": load_classifier(run).identity} for line in lines],
    )
    text = model_card(
        run, certificates=tmp_path / "rows.jsonl", attacks=rows, texts=TEXTS, language=NASTY, licence=NASTY
    )
    _, front, body = text.split("\n---\n", 1)[0], *text.split("\n---\n", 1)
    header = yaml.safe_load(front.removeprefix("---\n"))
    assert header["license"] == NASTY
    assert header["language"] == NASTY
    assert any(NASTY.split("\n")[0] in metric["name"] for metric in header["model-index"][0]["results"][0]["metrics"])
    assert "<img" not in body
    assert "\n# heading" not in body
    assert "\n---\n" not in body
    assert "[b](c)" not in body.replace("\\[b\\]", "")
    for line in body.splitlines():
        if line.startswith("|"):
            columns = re.sub(r"\\.", "", line).count("|")
            assert columns in (3, 5, 7), line


def test_escapes_are_those_of_their_place() -> None:
    yaml = pytest.importorskip("yaml")
    assert as_text("a|b\n<c> `d` *e*") == "a\\|b &lt;c&gt; \\`d\\` \\*e\\*"
    assert as_text("1. one") == "1\\. one"
    assert as_code("a`b|c\\|d\ne") == "<code>a\\`b\\|c\\\\\\|d e</code>"
    assert as_code("plain") == "`plain`"
    for value in (NASTY, 4e-05, 1.0, 0.5, -3, True, None, "yes", "1e3", "\ud800", "\x85\ufeff", {"a": [1, "b: c"]}, []):
        read = yaml.safe_load(f"key: {as_yaml(value)}")["key"]
        assert read == ("\ufffd" if value == "\ud800" else value), value
