"""The page in a real browser: what a person sees, with a mouse, with a keyboard, on a phone, and on a file."""

from __future__ import annotations

import csv
import re
import shutil
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.soundness.trained import dataset

from sgbt.serve import Pool, create_app
from sgbt.serve.guard import LOOPBACK
from sgbt.serve.server import address_of, bound

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine; on Debian: apt-get install chromium"
)
TEXT = " ".join(dataset().test.texts[:2]).capitalize()
NASTY = TEXT + ' <img src="x" onerror="document.title=\'taken\'"> <b id="planted">goodaa</b>'
ENDS = re.compile("broken by|the proof holds|nothing is proven")


@pytest.fixture(scope="module")
def address(pool: Pool) -> Iterator[str]:
    with bound("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app(pool, names=LOOPBACK), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        yield address_of(listening)
        server.should_exit = True
        thread.join(timeout=10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
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


def test_two_models_are_examined_side_by_side(page: Any) -> None:
    examine(page)
    verdicts = page.locator(".verdict strong").all_inner_texts()
    assert len(verdicts) == 2
    assert set(verdicts) <= {"Certified", "Not proven"}
    assert page.locator(".read").nth(0).inner_text() == TEXT
    boxes = [page.locator("article").nth(place).bounding_box() for place in range(2)]
    assert boxes[0]["y"] == boxes[1]["y"]


def test_every_word_shows_its_substitutes_to_the_mouse_and_to_the_keyboard(page: Any) -> None:
    examine(page)
    tip = page.get_by_role("tooltip")
    words = page.locator("article").nth(0).locator(".word")
    words.nth(1).hover()
    tip.wait_for()
    assert "of the worst case" in tip.inner_text() or "No substitute lowers" in tip.inner_text()
    page.mouse.move(0, 0)
    tip.wait_for(state="hidden")
    words.nth(0).focus()
    tip.wait_for()
    first = tip.inner_text()
    page.keyboard.press("ArrowRight")
    assert tip.inner_text() != first
    assert words.nth(1).evaluate("word => word === document.activeElement")
    assert tip.locator("li").count() >= 1
    page.keyboard.press("Escape")
    tip.wait_for(state="hidden")
    stops = words.evaluate_all("all => all.filter(word => word.tabIndex === 0).length")
    assert stops == 1  # the tab key passes the text in one step


def test_heat_grows_with_the_share(page: Any) -> None:
    examine(page)
    heats = (
        page.locator("article")
        .nth(0)
        .locator(".word")
        .evaluate_all(
            "all => all.map(word => [Number(word.style.getPropertyValue('--heat')), word.getAttribute('aria-label')])"
        )
    )
    shares = [float(found[1]) if (found := re.search(r"([\d.]+) % of", label)) else 0.0 for _, label in heats]
    ranked = sorted(range(len(heats)), key=lambda place: shares[place])
    assert all(heats[one][0] <= heats[two][0] + 0.02 for one, two in pairwise(ranked))
    assert max(heat for heat, _ in heats) == 1


def test_an_attack_is_watched_to_its_end(page: Any) -> None:
    examine(page)
    page.get_by_role("button", name="Attack", exact=True).click()
    page.locator("#status", has_text=ENDS).wait_for()
    assert set(page.locator(".verdict strong").all_inner_texts()) <= {
        "Broken", "The proof holds", "Neither broken nor proven",
    }  # fmt: skip
    assert page.locator(".swaps li").count() >= 1
    page.get_by_label("Text to examine").fill("other words")
    assert page.locator("#panels.stale").count() == 1


def test_markup_in_a_text_stays_text(page: Any) -> None:
    examine(page, NASTY)
    page.get_by_role("button", name="Attack", exact=True).click()
    page.locator("#status", has_text=ENDS).wait_for()
    assert page.locator("#planted").count() == 0
    assert page.locator("main img").count() == 0
    assert "taken" not in page.title()


def test_the_keyboard_alone_examines(page: Any) -> None:
    page.keyboard.type(TEXT)  # the text has the focus from the start
    page.keyboard.press("Control+Enter")
    page.locator("#status", has_text="firm:").wait_for()


def test_everything_that_can_be_used_has_a_name(page: Any) -> None:
    examine(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, input, textarea, select, a')].filter(element =>
            !element.closest('dialog') && !(element.labels?.length || element.textContent.trim()
            || element.getAttribute('aria-label'))).map(element => element.outerHTML)"""
    )
    assert nameless == []
    assert page.locator("[role=status][aria-live=polite]").count() == 2
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("page", [{"viewport": {"width": 390, "height": 844}}], indirect=True)
def test_nothing_sticks_out_on_a_phone(page: Any) -> None:
    examine(page, TEXT + " " + "incomprehensibilities" * 12)
    page.get_by_text("replaceable words as a table").nth(0).click()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    boxes = [page.locator("article").nth(place).bounding_box() for place in range(2)]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]


@pytest.mark.parametrize("page", [{"color_scheme": "dark"}], indirect=True)
def test_dark_and_light_follow_the_system_and_the_button(page: Any) -> None:
    def brightness() -> float:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

    assert brightness() < 60
    page.get_by_role("button", name="Colours").click()
    assert brightness() > 200
    page.reload()
    page.locator("article").nth(1).wait_for()
    assert brightness() > 200


def test_a_file_comes_back_certified(page: Any, tmp_path: Path) -> None:
    source = tmp_path / "reviews.csv"
    source.write_text("review\n" + "\n".join(dataset().test.texts[:5]), encoding="utf-8")
    page.get_by_label("Choose a CSV file").set_input_files(source)
    page.get_by_role("button", name="Certify rows").click()
    page.locator("#csv-result", has_text="a column named 'text'").wait_for()
    page.get_by_label("Column with the texts").fill("review")
    page.get_by_role("button", name="Certify rows").click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").click()
    waiting.value.save_as(tmp_path / "back.csv")
    assert waiting.value.suggested_filename == "reviews-certified.csv"
    with (tmp_path / "back.csv").open(newline="", encoding="utf-8") as stream:
        assert [row["review"] for row in csv.DictReader(stream)] == list(dataset().test.texts[:5])


def test_the_description_for_programs_is_read_from_this_server_alone(page: Any, address: str) -> None:
    page.goto(address + "docs")
    page.locator(".endpoint").nth(5).wait_for()
    assert page.locator(".endpoint h2", has_text="/certify/csv").count() == 1
