"""The route of a guarded model: there with a model behind, and only then."""

from __future__ import annotations

from fastapi.testclient import TestClient
from tests.serve.conftest import ADDRESS, GENEROUS

from sgbt.serve import Pool, create_app
from sgbt.serve.guard import LOOPBACK


def say(texts):
    return [[0.1, 0.9]] * len(texts)


def test_every_answer_says_who_gave_it(runs):
    behind = ("tests.serve.test_guarded:say", 1.0)
    with (
        Pool(runs[1:], limits=GENEROUS, behind=behind) as pool,
        TestClient(create_app(pool, names=LOOPBACK), base_url=ADDRESS) as client,
    ):
        found = client.post("/guarded", json={"text": "a good film"}).json()
        assert found["answered_by"] == "behind" or found["probability"] == 1.0
        assert found.keys() == {"label", "answered_by", "probability", "verdict"}
        assert client.post("/guarded", json={"text": "a", "sure": 0}).status_code == 422


def test_without_a_model_behind_there_is_no_such_route(client):
    assert client.post("/guarded", json={"text": "a good film"}).status_code == 404
