"""Schemathesis: requests made from the OpenAPI description never break the server, and answers are as described."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from tests.serve.conftest import ADDRESS

from sgbt.serve import Pool, create_app
from sgbt.serve.guard import LOOPBACK

FILES = ("/certify/csv/live", "/certify/csv")
TEXTS = ("/models", "/predict", "/certify", "/certify/threat", "/attack", "/attack/live")
PATHS = (*TEXTS, *FILES, "/health", "/metrics")
READ = ("/models", "/health", "/metrics")

BEYOND = [schemathesis.checks.positive_data_acceptance]
"""What no schema can say: that a CSV file has the column asked for, and rows; and the grammar of threats."""


@pytest.fixture(scope="module")
def description(pool: Pool) -> Any:
    schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(pool, names=None))
    schema.config.update(base_url=ADDRESS)
    return schema


def campaign(description: Any, path: str, *, examples: int, **options: Any) -> None:
    """Send so many requests to a path; every answer is one that the description has, in the form it says."""
    seen = 0

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), **options)
    @given(case=description[path]["GET" if path in READ else "POST"].as_strategy())
    def sent(case: Any) -> None:
        nonlocal seen
        seen += 1
        case.call_and_validate(excluded_checks=BEYOND if path in (*FILES, "/certify/threat") else [])

    sent()
    assert seen


@pytest.mark.parametrize("path", PATHS)
def test_a_sample_of_requests(description: Any, path: str) -> None:
    campaign(description, path, examples=15, derandomize=True)


@pytest.mark.soak
@pytest.mark.parametrize("path", PATHS)
def test_many_requests(description: Any, path: str) -> None:
    campaign(description, path, examples=2000)


def test_the_description_names_every_route(pool: Pool) -> None:
    assert tuple(create_app(pool, names=LOOPBACK).openapi()["paths"]) == PATHS
