"""The routes say what the library says, and refuse in one sentence what cannot be met."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import ADDRESS
from tests.soundness.trained import dataset, table, trained

from sgbt.attacks import attack
from sgbt.certify import certify
from sgbt.serve import Pool, create_app
from sgbt.serve.guard import LOOPBACK
from sgbt.threats import combinations

TEXTS = dataset().test.texts[:6]
ODD = "Goodaa, <b>badab</b>   \U0001f600 &amp; oddac\tfilleraa! " + "goodab " * 9
"""Markup, a letter outside the basic plane, runs of blanks, and more words than the models read."""


def answered(client: TestClient, path: str, **asked: Any) -> Any:
    told = client.post(path, json=asked)
    assert told.status_code == 200, told.text
    return told.json()


def test_the_models_are_described_in_order(client: TestClient) -> None:
    cards = client.get("/models").json()
    assert [(card["name"], card["objective"]) for card in cards] == [("plain", "standard"), ("firm", "ibp")]
    assert cards[0]["labels"] == ["good", "bad"]
    assert cards[0]["table_hash"] == table().hash[:12]
    assert cards[0]["model_hash"] == trained("cnn").identity


@pytest.mark.parametrize("text", TEXTS)
def test_predict_is_the_models_own(client: TestClient, text: str) -> None:
    own = trained("cnn").predict([text])
    told = answered(client, "/predict", text=text)
    assert told["label"] == own.labels[0]
    assert list(told["probabilities"].values()) == pytest.approx(own.probabilities[0].tolist())


def test_many_texts_are_predicted_at_once(client: TestClient) -> None:
    texts = [*TEXTS, ODD, "?"]
    found = answered(client, "/predict", texts=texts, model="firm")["predictions"]
    own = trained("cnn", "ibp", "mean").predict(texts)
    assert [each["label"] for each in found] == list(own.labels)
    for each, row in zip(found, own.probabilities.tolist(), strict=True):
        assert list(each["probabilities"].values()) == pytest.approx(row)
    alone = [answered(client, "/predict", text=text, model="firm") for text in texts]
    for one, other in zip(found, alone, strict=True):
        assert one.pop("probability") == pytest.approx(other.pop("probability"))
        assert one.pop("probabilities") == pytest.approx(other.pop("probabilities"))
        assert one == other


@pytest.mark.parametrize("text", [*TEXTS, ODD, "?"])
@pytest.mark.parametrize("name", ["plain", "firm"])
def test_certify_is_the_librarys_and_its_pieces_are_the_text(client: TestClient, name: str, text: str) -> None:
    classifier = trained("cnn") if name == "plain" else trained("cnn", "ibp", "mean")
    (proof,) = certify(classifier, [text])
    told = answered(client, "/certify", text=text, model=name)
    assert (told["verdict"], told["tier"]) == (str(proof.verdict), proof.tier)
    assert told["margin"] == pytest.approx(proof.margin)
    assert "".join(piece["before"] + piece["text"] for piece in told["pieces"]) + told["rest"] == text
    shares = [piece["share"] for piece in told["pieces"]]
    assert all(share >= 0 for share in shares)
    assert sum(shares) == pytest.approx(1 if any(shares) else 0)
    words = classifier.tokenizer.words(text)[: classifier.max_length]
    assert [piece["substitutes"] for piece in told["pieces"]] == [list(table().substitutes(word)) for word in words]
    assert told["log10_combinations"] == pytest.approx(math.log10(combinations(table(), words)))


def test_the_radius_is_proven_and_so_is_not_one_more(client: TestClient) -> None:
    partly = 0
    for text in dataset().test.texts[:12]:
        told = answered(client, "/certify", text=text, model="firm")
        radius = told["radius"]
        classifier = trained("cnn", "ibp", "mean")
        (proof,) = certify(classifier, [text], max_substitutions=radius)
        assert proof.stays
        if told["verdict"] == "abstained":
            assert radius < told["replaceable"]
            (beyond,) = certify(classifier, [text], max_substitutions=radius + 1)
            assert not beyond.certified
            partly += radius > 0
    assert partly  # some text here is proven for a few words and not for all


def test_a_label_to_defend_that_the_model_misses(client: TestClient) -> None:
    told = answered(client, "/certify", text=TEXTS[0])
    other = next(name for name in ("good", "bad") if name != told["label"])
    assert answered(client, "/certify", text=TEXTS[0], label=other)["verdict"] == "misclassified"


def test_attack_is_the_librarys(client: TestClient) -> None:
    statuses = set()
    for text in TEXTS:
        (own,) = attack(trained("cnn"), [text], table(), method="pwws", seed=3)
        told = answered(client, "/attack", text=text, method="pwws", seed=3)
        assert (told["status"], told["perturbed"], told["queries"]) == (own.status, own.perturbed, own.queries)
        statuses.add(own.status)
    assert statuses == {"success", "failed"}


def lines(client: TestClient, **asked: Any) -> list[dict[str, Any]]:
    told = client.post("/attack/live", json=asked)
    assert told.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in told.text.splitlines()]


def test_a_live_attack_ends_with_a_flip_or_a_proof(client: TestClient) -> None:
    outcomes = set()
    for name in ("plain", "firm"):
        classifier = trained("cnn") if name == "plain" else trained("cnn", "ibp", "mean")
        for text in (*dataset().test.texts[:10], "zzz qqq"):
            *steps, last = lines(client, text=text, model=name)
            assert last["kind"] == "outcome"
            assert all(step["kind"] in ("swap", "harder") for step in steps)
            verdict = str(certify(classifier, [text])[0].verdict)
            flipped = classifier.predict([last["text"]]).labels[0] != last["label"]
            settled = {"certified": "proven", "nothing-to-replace": "nothing-to-replace"}
            expected = settled.get(verdict, "flipped" if flipped else "undecided")
            assert last["outcome"] == expected
            assert (expected == "flipped") == flipped
            outcomes.add(expected)
    assert {"proven", "flipped", "nothing-to-replace"} <= outcomes


def test_a_live_attack_keeps_to_the_number_of_words(client: TestClient) -> None:
    for text in TEXTS:
        *steps, last = lines(client, text=text, max_substitutions=1)
        assert len(last["swaps"]) <= 1
        assert sum(step["kind"] == "swap" for step in steps) <= 1
        assert lines(client, text=text, max_substitutions=0)[-1]["outcome"] == "nothing-to-replace"


def rows_of(content: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content, newline="")))


def upload(client: TestClient, content: bytes, **query: str) -> Any:
    return client.post("/certify/csv", content=content, headers={"Content-Type": "text/csv"}, params=query)


def test_a_file_comes_back_with_its_certificates(client: TestClient) -> None:
    names, split = dataset().label_names, dataset().test[:20]
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["id", "review", "stars"])
    for number, example in enumerate(split):
        writer.writerow([f"=1+{number}", example.text + (', "quoted"\n' if number == 3 else ""), names[example.label]])
    told = upload(client, out.getvalue().encode(), text="review", label="stars", model="firm")
    assert told.status_code == 200, told.text
    assert told.headers["content-disposition"] == 'attachment; filename="certified.csv"'
    rows = rows_of(told.text)
    texts = [row["review"] for row in rows_of(out.getvalue())]
    proofs = certify(trained("cnn", "ibp", "mean"), texts, labels=split.labels.tolist())
    assert [row["verdict"] for row in rows] == [str(proof.verdict) for proof in proofs]
    assert [row["review"] for row in rows] == texts
    assert [row["id"] for row in rows] == [f"=1+{number}" for number in range(20)]
    assert [row["unknown"] for row in rows] == [str(proof.unknown) for proof in proofs]
    counts = json.loads(told.headers["x-verdicts"])
    assert counts.pop("rows") == 20 == sum(counts.values())
    classes = json.loads(told.headers["x-classes"])
    assert classes["warning"] is None
    assert [each["label"] for each in classes["classes"]] == list(names)
    assert sum(each["certified"] for each in classes["classes"]) == sum(proof.certified for proof in proofs)
    assert sum(each["right"] for each in classes["classes"]) == sum(p.label == p.predicted for p in proofs)


@pytest.mark.parametrize("label", [None, "stars"])
def test_a_file_with_one_answer_for_everything_is_warned_about(client: TestClient, label: str | None) -> None:
    stars = ("good", "bad")
    content = "text,stars\n" + "".join(f"zzz {'q' * (number + 1)},{stars[number % 2]}\n" for number in range(25))
    told = upload(client, content.encode(), **({} if label is None else {"label": label}))
    assert told.status_code == 200, told.text
    (answer,) = {row["predicted"] for row in rows_of(told.text)}
    classes = json.loads(told.headers["x-classes"])
    assert classes["labelled"] == (label is not None)
    assert f"{answer!r} for all 25 texts" in classes["warning"]
    assert json.loads(told.headers["x-verdicts"])["nothing-to-replace"] >= 1


def test_a_text_with_nothing_to_replace_says_so_and_how_much_of_it_is_known(client: TestClient) -> None:
    told = answered(client, "/certify", text="zzz qqq")
    assert (told["verdict"], told["unknown"], told["read"], told["radius"]) == ("nothing-to-replace", 2, 2, 0)
    assert answered(client, "/certify", text=TEXTS[0])["unknown"] == 0


@pytest.mark.parametrize(
    ("content", "query", "said"),
    [
        (b"", {}, "an empty file"),
        (b"text\n", {}, "nothing below it"),
        (b"review\nhello\n", {}, "a column named 'text'"),
        (b"text,verdict\nhello,x\n", {}, "'verdict'"),
        (b'text\n"open\n', {}, "well-formed"),
        (b"text\n\xff\n", {}, "UTF-8"),
        (b"text\n" + b"hello\n" * 51, {}, "at most 50 rows"),
        (b"text,label\nhello,ugly\n", {"label": "label"}, "one of the labels good, bad"),
        (b"text\nhello\n", {"model": "neither"}, "one of the models 'plain', 'firm'"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(
    client: TestClient, content: bytes, query: dict[str, str], said: str
) -> None:
    told = upload(client, content, **query)
    assert told.status_code == 422
    assert said in told.json()["detail"]


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        ("/predict", {}, "text"),
        ("/predict", {"text": ""}, "text"),
        ("/predict", {"text": 3}, "text"),
        ("/predict", {"text": "x", "txet": "y"}, "txet"),
        ("/predict", {"text": "x", "model": "/etc/passwd"}, "one of the models"),
        ("/predict", {"texts": []}, "texts"),
        ("/predict", {"texts": ["x", ""]}, "texts.1"),
        ("/predict", {"texts": "x"}, "texts"),
        ("/predict", {"texts": ["x"], "text": "x"}, "text"),
        ("/predict", {"texts": ["x"] * 257}, "256"),
        ("/predict", {"texts": ["x"], "model": "neither"}, "one of the models"),
        ("/certify", {"text": "x", "label": "ugly"}, "one of the labels"),
        ("/certify", {"text": "x", "max_substitutions": -1}, "max_substitutions"),
        ("/attack", {"text": "x", "method": "magic"}, "method"),
        ("/attack", {"text": "x", "seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_met_is_one_sentence(client: TestClient, path: str, asked: dict[str, Any], said: str) -> None:
    told = client.post(path, json=asked)
    assert told.status_code == 422
    assert said in told.json()["detail"]


def test_half_a_letter_is_refused_and_not_sent_back(client: TestClient) -> None:
    told = client.post("/predict", content=b'{"text": "\\ud800"}', headers={"Content-Type": "application/json"})
    assert told.status_code == 422
    assert set(told.json()) == {"detail"}


@pytest.mark.parametrize("path", ["/predict", "/certify", "/attack", "/attack/live", "/certify/csv"])
@pytest.mark.parametrize("kind", ["text/plain", "text/html", "application/x-www-form-urlencoded", ""])
def test_a_form_of_another_site_is_refused_as_documented(client: TestClient, path: str, kind: str) -> None:
    refused = client.post(path, content=b'{"text": "x"}', headers={"Content-Type": kind})
    assert refused.status_code == 415
    assert set(refused.json()) == {"detail"}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"text": ', b"\xff", b"[" * 100_000, b'{"text": 1' + b"0" * 6000 + b"}", b"NaN", b'{"text": "a\x00"'],
)
@pytest.mark.parametrize("path", ["/predict", "/certify"])
def test_what_is_not_json_is_refused_in_a_sentence(client: TestClient, path: str, body: bytes) -> None:
    refused = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code in (400, 422)
    assert re.fullmatch(r"(expected|text: ).{5,300}\.", refused.json()["detail"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("GET", "/predict", 405), ("DELETE", "/models", 405), ("POST", "/", 405)],
)
def test_what_is_not_there_is_refused_in_a_sentence(client: TestClient, method: str, path: str, status: int) -> None:
    refused = client.request(method, path)
    assert refused.status_code == status
    assert refused.json()["detail"].startswith("expected ")


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/app.py", "/etc/passwd"]
)
def test_nothing_but_the_pages_own_files_is_handed_out(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/", "/docs", "/static/page.js", "/static/style.css", "/static/icon.svg"])
def test_the_pages_own_files_are_there(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 200


def test_with_a_token_the_page_is_free_and_everything_about_the_models_is_not(pool: Pool) -> None:
    token = "0123456789abcdef"
    locked = TestClient(create_app(pool, token=token, names=LOOPBACK), base_url=ADDRESS)
    assert [locked.get(path).status_code for path in ("/", "/docs", "/static/page.js")] == [200, 200, 200]
    secret = ("/models", "/openapi.json", "/metrics", "/other")
    assert [locked.get(path).status_code for path in secret] == [401, 401, 401, 401]
    known = {"Authorization": f"Bearer {token}"}
    assert [locked.get(path, headers=known).status_code for path in secret] == [200, 200, 200, 404]
