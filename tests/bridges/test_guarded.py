"""A proven model before another: who answers, and what is refused."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from tests.soundness.trained import sentences, trained

from sgbt.bridges.guarded import Guarded, behind_of, function_named
from sgbt.certify import Prepared, certify
from sgbt.core.errors import ServeError

TEXTS = list(sentences(20, 3).texts)


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return Prepared.of(trained("cnn", "ibp", "mean"))


def test_the_small_model_answers_what_it_has_proven_and_the_large_one_the_rest(prepared):
    asked = []

    def behind(texts):
        asked.append(list(texts))
        return [prepared.classifier.label_names[0]] * len(texts)

    proofs, found = certify(prepared, TEXTS), Guarded(prepared, behind, sure=0.0).answers(TEXTS)
    by_proof = [proof.stays for proof in proofs]
    assert len(set(by_proof)) == 2
    assert [each.answered_by == "proof" for each in found] == by_proof
    for proof, each in zip(proofs, found, strict=True):
        assert each.verdict == str(proof.verdict)
        assert each.label == prepared.classifier.label_names[proof.predicted if proof.stays else 0]
    assert asked == [[text for text, proven in zip(TEXTS, by_proof, strict=True) if not proven]]


def test_who_is_not_sure_does_not_answer(prepared):
    found = Guarded(prepared, lambda texts: np.tile([0.2, 0.8], (len(texts), 1)), sure=1.0).answers(TEXTS)
    assert {each.answered_by for each in found if each.probability < 1} == {"behind"}
    assert {each.label for each in found if each.answered_by == "behind"} == {prepared.classifier.label_names[1]}
    assert Guarded(prepared, lambda texts: []).answers([]) == []


@pytest.mark.parametrize("answer", [["no such label"] * 20, [0.5], None, [[np.nan, 1.0]] * 20])
def test_an_answer_that_is_none_is_refused(prepared, answer):
    with pytest.raises(ServeError, match="the model behind"):
        Guarded(prepared, lambda texts: answer, sure=1.0).answers(TEXTS)


@pytest.mark.parametrize("name", ["https://127.0.0.1/", "http://example.org/", "http://[", "http://127.0.0.1:x/"])
def test_texts_do_not_leave_this_machine(name):
    with pytest.raises(ServeError, match="an http address of this machine"):
        behind_of(name)


def test_a_web_service_of_this_machine():
    answers = iter([{"labels": ["pos"]}, ["pos"], None])

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert asked == {"texts": ["a good film"]}
            body = json.dumps(next(answers)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *told: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/labels"
        assert behind_of(address)(["a good film"]) == ["pos"]
        for _ in range(2):
            with pytest.raises(ServeError, match="the model behind"):
                behind_of(address)(["a good film"])
        server.shutdown()
    with pytest.raises(ServeError, match=address):
        behind_of(address)(["a good film"])


def test_functions_by_name():
    assert behind_of("json:dumps") is json.dumps
    with pytest.raises(ServeError, match="--behind"):
        function_named("json:nothing", where="--behind")
    with pytest.raises(ServeError, match="a function"):
        function_named("json:__name__", where="--behind")
