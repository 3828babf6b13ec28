"""A run becomes a folder to share: complete, loadable, and with a card whose figures come from rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests import small
from tests.constant import constant

import sgbt
from sgbt.bridges import export, load_from_hub, model_card, push
from sgbt.bridges.hub import FILES
from sgbt.core.errors import CertificateError, ForgedRowError, ModelError
from sgbt.models import save_classifier, weights_hash

TEXTS = small.dataset()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    model = sgbt.TextCNN(small.vectors(), filters=6, kernel_sizes=(1, 2), pooling="mean", dropout=0.0)
    trained = sgbt.train(
        model, TEXTS, objective=sgbt.IBP(), substitutions=small.TABLE, config=small.QUICK, out=folder / "run"
    ).model
    sgbt.certify(trained, TEXTS.test, out=folder / "certificates.jsonl")
    sgbt.attack(trained, TEXTS.test, small.TABLE, method="greedy", out=folder / "attacks.jsonl")
    return folder


def header(card: str) -> dict[str, Any]:
    """The card's header: every line is a name and a JSON value, which is YAML as well."""
    _, front, _ = card.split("---\n", 2)
    return {name: json.loads(value) for name, _, value in (line.partition(": ") for line in front.splitlines())}


def test_a_folder_that_was_exported_is_the_same_classifier(run: Path, tmp_path: Path) -> None:
    out = export(run / "run", tmp_path / "shared", certificates=run / "certificates.jsonl", texts=TEXTS.test)
    assert sorted(path.name for path in out.iterdir()) == sorted([*FILES, "README.md"])
    own, again = sgbt.load_classifier(run / "run"), load_from_hub(out)
    assert weights_hash(again.model) == weights_hash(own.model)
    assert again.table == own.table
    assert again.predict(TEXTS.test.texts).labels == own.predict(TEXTS.test.texts).labels


def test_the_card_has_the_figures_of_the_rows_with_denominators(run: Path) -> None:
    card = model_card(
        run / "run",
        certificates=run / "certificates.jsonl",
        attacks=run / "attacks.jsonl",
        texts=TEXTS.test,
        licence="mit",
    )
    proofs = sgbt.certify(sgbt.load_classifier(run / "run"), TEXTS.test)
    certified, clean = sum(p.certified for p in proofs), sum(p.verdict != "misclassified" for p in proofs)
    front = header(card)
    metrics = {metric["name"]: metric["value"] for metric in front["model-index"][0]["results"][0]["metrics"]}
    assert metrics[f"certified accuracy, {certified} of 24 texts"] == pytest.approx(certified / 24, abs=1e-6)
    assert metrics[f"clean accuracy, {clean} of 24 texts"] == pytest.approx(clean / 24, abs=1e-6)
    assert any(name.startswith("robust accuracy against greedy") for name in metrics)
    assert front["license"] == "mit"
    assert small.TABLE.hash in card
    assert f"| {certified} of 24 |" in card
    assert "| seed | 0 |" in card


def test_the_card_counts_apart_what_cannot_be_replaced(run: Path, tmp_path: Path) -> None:
    texts = [*TEXTS.test.texts, "the plot was", "zzz"]
    classifier = sgbt.load_classifier(run / "run")
    labels = classifier.predict(texts).probabilities.argmax(axis=1).tolist()
    proofs = sgbt.certify(classifier, texts, labels=labels, out=tmp_path / "rows.jsonl")
    vacuous = sum(p.verdict == "nothing-to-replace" for p in proofs)
    assert vacuous >= 2
    card = model_card(run / "run", certificates=tmp_path / "rows.jsonl", texts=texts, labels=labels)
    (line,) = (line for line in card.splitlines() if line.startswith("| nothing to replace"))
    assert line.endswith(f"| {vacuous} of {len(texts)} |")
    metrics = header(card)["model-index"][0]["results"][0]["metrics"]
    assert not any("nothing" in metric["name"] for metric in metrics)


def test_the_card_names_a_model_that_has_one_answer(run: Path, tmp_path: Path) -> None:
    card = model_card(run / "run", certificates=run / "certificates.jsonl", texts=TEXTS.test)
    assert "Warning" not in card
    always = constant(sgbt.load_classifier(run / "run"), label=1)
    save_classifier(always, tmp_path / "always")
    sgbt.certify(always, TEXTS.test, out=tmp_path / "certificates.jsonl")
    sgbt.attack(always, TEXTS.test, small.TABLE, method="greedy", out=tmp_path / "attacks.jsonl")
    for rows in ({"certificates": "certificates.jsonl"}, {"attacks": "attacks.jsonl"}):
        given = {name: tmp_path / file for name, file in rows.items()}
        card = model_card(tmp_path / "always", **given, texts=TEXTS.test)
        assert "answers 'positive' for all 24 texts" in card
        assert "| negative | 12 | 0 | 0 | 0 |" in card
        assert "| positive | 12 | 12 | 24 | 12 |" in card


def test_the_header_is_yaml(run: Path) -> None:
    yaml = pytest.importorskip("yaml")
    card = model_card(run / "run", certificates=run / "certificates.jsonl", texts=TEXTS.test)
    assert yaml.safe_load(card.split("---\n", 2)[1]) == header(card)


def test_a_card_without_rows_claims_nothing(run: Path) -> None:
    card = model_card(run / "run")
    assert "Nothing was measured" in card
    assert "model-index" not in header(card)
    assert str(run) not in card


def test_rows_of_another_model_are_refused(run: Path, tmp_path: Path) -> None:
    model = sgbt.TextCNN(small.vectors(), filters=6, kernel_sizes=(1, 2), pooling="mean", dropout=0.0)
    sgbt.train(model, TEXTS, substitutions=small.TABLE, config=small.QUICK, seed=5, out=tmp_path / "other")
    with pytest.raises(ForgedRowError, match="the model id1-"):
        model_card(tmp_path / "other", certificates=run / "certificates.jsonl", texts=TEXTS.test)
    rows = [json.loads(line) for line in (run / "attacks.jsonl").read_text().splitlines()]
    for row in rows:
        row["label"], row["after"] = 1 - row["label"], 1 - row["after"]
    (tmp_path / "turned.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ForgedRowError, match="this model contradicts"):
        model_card(run / "run", attacks=tmp_path / "turned.jsonl")


def test_forged_certificates_are_not_published(run: Path, tmp_path: Path) -> None:
    """A card once said certified 100 % beside robust 78.5 %."""
    rows = [json.loads(line) for line in (run / "certificates.jsonl").read_text().splitlines()]
    for row in rows:
        if row["verdict"] == "abstained":
            row |= {"verdict": "certified", "margin": 1.0}
    assert rows != [json.loads(line) for line in (run / "certificates.jsonl").read_text().splitlines()]
    (tmp_path / "forged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for about in ({"texts": TEXTS.test}, {"attacks": run / "attacks.jsonl"}):  # attack rows have the texts too
        with pytest.raises(ForgedRowError, match=r"forged\.jsonl"):
            export(run / "run", tmp_path / "shared", certificates=tmp_path / "forged.jsonl", **about)
    assert not (tmp_path / "shared").exists()


def test_certificates_without_their_texts_are_not_published(run: Path, tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="the text of row 0"):
        export(run / "run", tmp_path / "shared", certificates=run / "certificates.jsonl")


def test_a_folder_of_somebody_is_not_overwritten(run: Path, tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(ModelError, match="a new folder"):
        export(run / "run", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["holiday.jpg"]
    export(run / "run", tmp_path / "new")
    export(run / "run", tmp_path / "new")  # its own work may be replaced


def test_without_the_hub_a_name_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelError, match="expected the package huggingface_hub"):
        load_from_hub("somebody/model")


def test_the_hub_is_asked_for_these_files_and_no_others(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = export(run / "run", tmp_path / "shared")
    asked: list[SimpleNamespace] = []
    hub = ModuleType("huggingface_hub")

    def snapshot_download(name: str, **options: Any) -> str:
        asked.append(SimpleNamespace(name=name, **options))
        if name == "nobody/nothing":
            raise OSError("404 Client Error\nRepository Not Found")
        return str(out)

    hub.snapshot_download = snapshot_download  # type: ignore[attr-defined]
    hub.create_repo = lambda name, **options: asked.append(SimpleNamespace(name=name, **options))  # type: ignore[attr-defined]
    hub.upload_folder = lambda **options: f"hub/{options['repo_id']}"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    assert load_from_hub("somebody/model").table == small.TABLE
    assert set(asked[0].allow_patterns) == {*FILES, "README.md"}
    with pytest.raises(ModelError, match=r"no answer \(404 Client Error\)"):
        load_from_hub("nobody/nothing")
    assert push(out, "somebody/model") == "hub/somebody/model"
    assert asked[-1].private is True
    with pytest.raises(ModelError, match="a folder with a model card"):
        push(run / "run", "somebody/model")
