"""The page in a real browser, offline: nothing is fetched, nothing overflows, and light and dark are both readable."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.report.records import sweep, table1

from sgbt.report import report_of_records

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine; on Debian: apt-get install chromium"
)


def test_the_page_is_readable_in_light_and_dark(tmp_path: Path) -> None:
    path = report_of_records(table1() + sweep(), title="Both", pairs=[("sgbt", "gbm")]).save(tmp_path / "report.html")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for scheme, width in (("light", 1280), ("dark", 400)):
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}, offline=True)
            page = context.new_page()
            asked, told = [], []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("console", lambda message, told=told: told.append(message.text))
            page.goto(path.as_uri())
            assert asked == [path.as_uri()]
            assert told == []
            assert page.evaluate("document.documentElement.scrollWidth") == width  # wide tables scroll in their boxes
            assert page.locator("svg").count() > 20
            for words in ("h1", "td", "p.note", "td small"):
                assert contrast(page, words) > 4.5, (scheme, words)  # what WCAG asks of small text
        browser.close()


def contrast(page, words: str) -> float:  # type: ignore[no-untyped-def]
    """The ratio of luminances of an element's words and the page's paper."""
    colours = page.evaluate(
        "words => [getComputedStyle(document.querySelector(words)).color, "
        "getComputedStyle(document.body).backgroundColor]",
        words,
    )
    light, dark = sorted((luminance(colour) for colour in colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    channels = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
