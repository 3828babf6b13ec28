"""Rows name the whole model: they are never taken for rows of a model that answers otherwise."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests import small

from sgbt.attacks import attack
from sgbt.attacks import read_rows as read_attacks
from sgbt.bridges import model_card
from sgbt.certify import Prepared, certify, check_consistent, explain, read_rows
from sgbt.core.errors import AttackError, CertificateError, ForgedRowError, ModelError, SgbtError
from sgbt.data import Tokenizer
from sgbt.models import TextClassifier, identity_of, load_classifier, save_classifier, weights_hash

TEXTS = ["the film was good", "an awful film", "a very dull plot"]
LABELS = [1, 0, 0]


def own() -> TextClassifier:
    return TextClassifier(small.model_of("cnn"), small.VOCABULARY, ("no", "yes"), small.TABLE, max_length=9)


TWINS = {
    "label_names": lambda: replace(own(), label_names=("yes", "no")),
    "max_length": lambda: replace(own(), max_length=2),
    "tokenizer": lambda: replace(own(), tokenizer=Tokenizer(r"\w+")),
    "activation": lambda: replace(own(), model=small.model_of("cnn", activation="relu")),
    "pooling": lambda: replace(own(), model=small.model_of("cnn", pooling="mean")),
}
"""Models that share all weights with `own`."""


@pytest.mark.parametrize("twin", TWINS)
def test_a_model_with_the_same_weights_does_not_go_on_with_the_rows(twin: str, tmp_path: Path) -> None:
    other = TWINS[twin]()
    assert weights_hash(other.model) == weights_hash(own().model)
    certify(own(), TEXTS, labels=LABELS, out=tmp_path / "proofs.jsonl")
    attack(own(), TEXTS, small.TABLE, labels=LABELS, method="greedy", out=tmp_path / "attacks.jsonl")
    kept = [(tmp_path / name).read_bytes() for name in ("proofs.jsonl", "attacks.jsonl")]
    with pytest.raises(CertificateError, match="rows with model hash id1-"):
        certify(other, TEXTS, labels=LABELS, out=tmp_path / "proofs.jsonl")
    with pytest.raises(AttackError, match="rows with model hash id1-"):
        attack(other, TEXTS, small.TABLE, labels=LABELS, method="greedy", out=tmp_path / "attacks.jsonl")
    assert kept == [(tmp_path / name).read_bytes() for name in ("proofs.jsonl", "attacks.jsonl")]


def test_a_folder_that_was_edited_with_its_identity_loads_and_its_rows_are_refused(tmp_path: Path) -> None:
    folder = save_classifier(own(), tmp_path / "model")
    certify(load_classifier(folder), TEXTS, labels=LABELS, out=tmp_path / "proofs.jsonl")
    attack(load_classifier(folder), TEXTS, small.TABLE, labels=LABELS, out=tmp_path / "attacks.jsonl")
    turned = identity_of(TWINS["label_names"]())
    config = json.loads((folder / "config.json").read_text()) | {"label_names": ["yes", "no"]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="label_names"):
        load_classifier(folder)
    config |= {"identity": turned.hash, "identity_parts": dict(turned.parts)}
    (folder / "config.json").write_text(json.dumps(config))
    found = load_classifier(folder)
    assert found.label_names == ("yes", "no")
    with pytest.raises(CertificateError, match="model hash"):
        certify(found, TEXTS, labels=LABELS, out=tmp_path / "proofs.jsonl")
    with pytest.raises(AttackError, match="model hash"):
        attack(found, TEXTS, small.TABLE, labels=LABELS, out=tmp_path / "attacks.jsonl")
    for rows in ({"certificates": tmp_path / "proofs.jsonl"}, {"attacks": tmp_path / "attacks.jsonl"}):
        with pytest.raises(ForgedRowError, match="model"):
            model_card(folder, **rows, texts=TEXTS, labels=LABELS)


def test_every_row_carries_the_identity(tmp_path: Path) -> None:
    identity = own().identity
    proofs = certify(own(), TEXTS, labels=LABELS, out=tmp_path / "proofs.jsonl")
    attacks = attack(own(), TEXTS, small.TABLE, labels=LABELS, out=tmp_path / "attacks.jsonl")
    assert {proof.model_hash for proof in (*proofs, *read_rows(tmp_path / "proofs.jsonl"))} == {identity}
    assert {row.model_hash for row in (*attacks, *read_attacks(tmp_path / "attacks.jsonl"))} == {identity}
    assert {row.table_hash for row in (*attacks, *read_attacks(tmp_path / "attacks.jsonl"))} == {small.TABLE.hash}
    assert Prepared.of(own()).model_hash == identity
    assert explain(own(), TEXTS[0]).certificate.model_hash == identity


def as_of_an_earlier_version(path: Path) -> None:
    """Rows that name the weights alone."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row | {"model_hash": weights_hash(own().model)}) + "\n" for row in rows))


def test_rows_of_an_earlier_version_are_read_and_shown_but_not_continued(tmp_path: Path) -> None:
    folder = save_classifier(own(), tmp_path / "model")
    certify(own(), TEXTS[:2], labels=LABELS[:2], out=tmp_path / "proofs.jsonl")
    assert "weights alone" not in model_card(folder, certificates=tmp_path / "proofs.jsonl", texts=TEXTS, labels=LABELS)
    as_of_an_earlier_version(tmp_path / "proofs.jsonl")
    assert [proof.index for proof in read_rows(tmp_path / "proofs.jsonl")] == [0, 1]
    assert "weights alone" in model_card(folder, certificates=tmp_path / "proofs.jsonl", texts=TEXTS, labels=LABELS)
    with pytest.raises(CertificateError, match=r"weights alone.*another --out"):
        certify(own(), TEXTS, labels=LABELS, out=tmp_path / "proofs.jsonl")
    with pytest.raises(ForgedRowError, match="the model"):
        model_card(
            save_classifier(replace(own(), model=small.model_of("cnn", seed=3)), tmp_path / "other"),
            certificates=tmp_path / "proofs.jsonl",
            texts=TEXTS,
            labels=LABELS,
        )


def test_attack_rows_of_an_earlier_version_are_read_but_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "attacks.jsonl"
    made = attack(own(), TEXTS, small.TABLE, labels=LABELS, out=path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["settings"] = "0123456789abcdef"
        del row["model_hash"], row["table_hash"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_attacks(path) == sorted(made, key=lambda row: [r["index"] for r in rows].index(row.index))
    assert {row.model_hash for row in read_attacks(path)} == {""}
    with pytest.raises(AttackError, match="choose another"):
        attack(own(), TEXTS, small.TABLE, labels=LABELS, out=path)


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"seed": 1}, "seed"), ({"max_queries": 7}, "options"), ({"max_changed": 0.5}, "options")],
)
def test_what_differs_in_attack_rows_is_named(changes: dict[str, object], field: str, tmp_path: Path) -> None:
    path = tmp_path / "attacks.jsonl"
    attack(own(), TEXTS, small.TABLE, labels=LABELS, method="pwws", out=path)
    with pytest.raises(AttackError, match=f"rows with {field}.*by pwws"):
        attack(own(), TEXTS, small.TABLE, labels=LABELS, method="pwws", out=path, **changes)  # type: ignore[arg-type]
    with pytest.raises(AttackError, match="rows with table hash"):
        attack(own(), TEXTS, small.TABLE.without(["good"]), labels=LABELS, method="pwws", out=path)


def _index(line: str) -> int:
    return int(json.loads(line)["index"])


def test_a_row_of_another_model_among_others_is_refused(tmp_path: Path) -> None:
    path, twin = tmp_path / "attacks.jsonl", tmp_path / "twin.jsonl"
    attack(own(), TEXTS, small.TABLE, labels=LABELS, out=path)
    attack(TWINS["label_names"](), TEXTS, small.TABLE, labels=LABELS, out=twin)
    kept = path.read_text()
    own_rows, others = (sorted(each.read_text().splitlines(keepends=True), key=_index) for each in (path, twin))
    path.write_text("".join([*own_rows[:-1], others[-1]]))
    with pytest.raises(AttackError, match="rows with model hash"):
        attack(own(), TEXTS, small.TABLE, labels=LABELS, out=path)
    path.write_text(kept.replace(own().identity, TWINS["label_names"]().identity, 1))  # a row that was edited
    with pytest.raises(AttackError, match="rows with model hash"):
        attack(own(), TEXTS, small.TABLE, labels=LABELS, out=path)


def test_certificates_and_attacks_of_two_models_are_not_compared(tmp_path: Path) -> None:
    proofs = certify(own(), TEXTS, labels=LABELS)
    attacks = attack(TWINS["label_names"](), TEXTS, small.TABLE, labels=LABELS, out=tmp_path / "attacks.jsonl")
    with pytest.raises(CertificateError, match="attacks on the model that was certified"):
        check_consistent(proofs, attacks)
    earlier = [replace(proof, model_hash=weights_hash(own().model)) for proof in proofs]
    assert isinstance(check_consistent(earlier, attacks), int)  # a name of weights alone cannot be compared


def test_a_sentence_and_no_traceback(tmp_path: Path) -> None:
    certify(own(), TEXTS, labels=LABELS, out=tmp_path / "proofs.jsonl")
    as_of_an_earlier_version(tmp_path / "proofs.jsonl")
    with pytest.raises(SgbtError) as caught:
        certify(own(), TEXTS, labels=LABELS, out=tmp_path / "proofs.jsonl")
    assert "\n" not in str(caught.value)
