"""/health says whether the server answers and nothing that is secret; /metrics counts what it did."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import ADDRESS
from tests.soundness.trained import dataset, table, trained

from sgbt.serve import Limits, Pool, create_app
from sgbt.serve.guard import LOOPBACK
from sgbt.serve.lanes import Lane
from sgbt.serve.metrics import Metrics
from sgbt.serve.worker import DONE

TOKEN = "0123456789abcdef"
LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\]*",?)*)\})? (\d+(?:\.\d+)?(?:e-?\d+)?)')


def samples(text: str) -> dict[str, float]:
    """Every value by its name and labels; each line is one that Prometheus reads, after its TYPE."""
    found: dict[str, float] = {}
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            kinds[name] = kind
        elif not line.startswith("# HELP "):
            match = LINE.fullmatch(line)
            assert match is not None, line
            family = re.sub(r"_(bucket|sum|count)$", "", match[1]) if match[1] not in kinds else match[1]
            assert family in kinds, line
            assert line.rpartition(" ")[0] not in found
            found[line.rpartition(" ")[0]] = float(match[3])
    return found


def test_health_names_the_models_by_their_identity_and_needs_no_token(pool: Pool) -> None:
    health = TestClient(create_app(pool, token=TOKEN, names=LOOPBACK), base_url=ADDRESS).get("/health")
    assert health.status_code == 200
    own = [f"{trained(*kind).identity} {table().hash}" for kind in (("cnn",), ("cnn", "ibp", "mean"))]
    assert health.json() == {"status": "ok", "identities": own, "missing_workers": 0}
    assert not any(model["name"] in health.text for model in pool.models)


def test_health_is_degraded_without_a_worker_and_does_not_say_why_to_strangers() -> None:
    pool: Any = SimpleNamespace(
        limits=Limits(),
        models=[],
        identities=["x"],
        metrics=Metrics(),
        problems=["expected /secret/run"],
        behind=None,
    )
    health = TestClient(create_app(pool, token=TOKEN, names=LOOPBACK), base_url=ADDRESS).get("/health")
    assert health.status_code == 503
    assert health.json() == {"status": "degraded", "identities": ["x"], "missing_workers": 1}


def test_metrics_count_requests_texts_and_batches(pool: Pool) -> None:
    client = TestClient(create_app(pool, names=LOOPBACK), base_url=ADDRESS)
    before = samples(client.get("/metrics").text)
    assert client.post("/predict", json={"texts": list(dataset().test.texts[:5])}).status_code == 200
    assert client.post("/predict", json={"text": ""}).status_code == 422
    assert client.get("/<no such path>").status_code == 404
    told = client.get("/metrics")
    assert told.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    after = samples(told.text)

    def more(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert more('sgbt_requests_total{path="/predict",status="200"}') == 1
    assert more('sgbt_requests_total{path="/predict",status="422"}') == 1
    assert more('sgbt_requests_total{path="other",status="404"}') == 1
    assert more('sgbt_request_seconds_count{path="/predict"}') == 2
    assert more('sgbt_request_seconds_bucket{path="/predict",le="+Inf"}') == 2
    assert more('sgbt_texts_total{lane="predict"}') == 5
    assert more('sgbt_batch_texts_bucket{le="4"}') == 0
    assert more('sgbt_batch_texts_bucket{le="8"}') == 1
    assert more('sgbt_jobs_total{lane="predict",end="done"}') == 1
    assert {f'sgbt_jobs_waiting{{lane="{lane}"}}' for lane in Lane} <= after.keys()
    assert "sgbt_worker_restarts_total" in after


def test_no_path_that_a_client_makes_up_becomes_a_name(pool: Pool) -> None:
    client = TestClient(create_app(pool, names=LOOPBACK), base_url=ADDRESS)
    for number in range(5):
        client.get(f'/made-up-{number}"')
    assert "made-up" not in client.get("/metrics").text


@pytest.mark.parametrize(("seconds", "below"), [(0.005, "0.005"), (0.0051, "0.01"), (1e6, "+Inf")])
def test_a_value_is_counted_at_its_bound_and_all_above(seconds: float, below: str) -> None:
    metrics = Metrics()
    metrics.answered("/x", 200, seconds)
    metrics.ended(Lane.FILE, [{"kind": DONE}], 3)
    found = samples(metrics.lines(waiting={}, restarts=0))
    counted = [name for name, value in found.items() if "request_seconds_bucket" in name and value]
    assert f'le="{below}"' in counted[0]
    assert 'le="+Inf"' in counted[-1]
    assert found['sgbt_request_seconds_sum{path="/x"}'] == seconds
    assert found['sgbt_texts_total{lane="file"}'] == 3
