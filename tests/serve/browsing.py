"""A real browser on a real server: what the tests of the page share."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from tests.soundness.trained import dataset

from sgbt.serve import Pool, create_app
from sgbt.serve.guard import LOOPBACK
from sgbt.serve.server import address_of, bound

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TEXT = " ".join(dataset().test.texts[:2]).capitalize()
NASTY = TEXT + ' <img src="x" onerror="document.title=\'taken\'"> <b id="planted">goodaa</b>'


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an application while it is served."""
    with bound("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        try:
            yield address_of(listening)
        finally:
            server.should_exit = True
            thread.join(timeout=10)


@pytest.fixture(scope="session")
def address(pool: Pool) -> Iterator[str]:
    with serving(create_app(pool, names=LOOPBACK)) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine; on Debian: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def is_wrong(message: Any) -> bool:
    """Whether a line of the console tells of an error; that a request was refused is an answer like any other."""
    return message.type == "error" and "status of 422" not in message.text


@pytest.fixture
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A fresh page with nothing examined. Errors in its console and requests to other hosts fail the test."""
    context = browser.new_context(**getattr(request, "param", {"viewport": {"width": 1280, "height": 900}}))
    page = context.new_page()
    page.set_default_timeout(60_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if is_wrong(message) else None)
    page.on(
        "request", lambda sent: None if sent.url.startswith((address, "blob:", "data:")) else wrong.append(sent.url)
    )
    page.goto(address)
    page.locator("article").nth(1).wait_for()
    yield page
    context.close()
    assert not wrong


def examine(page: Any, text: str = TEXT) -> None:
    page.get_by_label("Text to examine").fill(text)
    page.get_by_role("button", name="Examine").click()
    page.locator("#status", has_text="firm:").wait_for()
