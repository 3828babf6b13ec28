"""The page for everybody: by keyboard alone, by ear, on a phone, in light and dark, and with one model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.serve.browsing import TEXT, examine, serving
from tests.soundness.trained import dataset

from sgbt.serve import Limits, Pool, create_app
from sgbt.serve.guard import LOOPBACK

ENDS = re.compile("broken by|the proof holds|nothing is proven")
PHONE = {"viewport": {"width": 390, "height": 844}}
NARROW = {"viewport": {"width": 320, "height": 640}}

CONTRASTS = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((part) => part / 255);
  };
  const over = (top, below) => below.map((part, place) => top[3] * top[place] + (1 - top[3]) * part);
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) layers.push(rgba(getComputedStyle(each).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [1, 1, 1]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("svg, script, .skip, .unseen, dialog")) continue;
    const below = behind(element);
    const ink = over(rgba(getComputedStyle(element).color), below);
    const [one, other] = [light(ink), light(below)].sort((a, b) => b - a);
    found.push([(one + 0.05) / (other + 0.05), element.outerHTML.slice(0, 120)]);
  }
  return found;
}"""
"""The contrast of every text that is seen against what is behind it, as WCAG has it."""

FOCUSED = """() => {
  const element = document.activeElement;
  if (element === document.body) return null;
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  return { id: element.id, words: element.textContent.trim().slice(0, 40), kind: element.tagName,
           ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
           seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight };
}"""


def tabbed(page: Any, most: int = 60) -> list[dict[str, Any]]:
    """What the tab key reaches, from the top of the page to its end."""
    page.locator(".skip").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    stops = [page.evaluate(FOCUSED)]
    for _ in range(most):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None or stop == stops[0]:
            return stops
        stops.append(stop)
    raise AssertionError(f"the tab key does not come to an end: {stops}")


def test_the_tab_key_reaches_everything_in_order_and_shows_where_it_is(page: Any) -> None:
    examine(page)
    stops = tabbed(page)
    assert all(stop["ring"] for stop in stops), [stop for stop in stops if not stop["ring"]]
    assert all(stop["seen"] for stop in stops), [stop for stop in stops if not stop["seen"]]
    places = [stop["id"] or stop["words"] for stop in stops]
    assert places[0] == "Skip to the text"
    wanted = ["theme", "text", "examine", "attack", "budget", "csv", "column", "truth", "csv-model", "Certify rows"]
    assert [place for place in places if place in wanted] == wanted
    words = [stop for stop in stops if stop["kind"] == "BUTTON" and stop["words"].lower() in TEXT.lower().split()]
    assert len(words) == 2  # the text of each model is one stop; arrows move within


def test_an_attack_and_a_file_by_keyboard_alone(page: Any, tmp_path: Path) -> None:
    page.keyboard.type(TEXT)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "attack"
    page.keyboard.press("Enter")
    page.locator("#status", has_text=ENDS).wait_for()
    source = tmp_path / "reviews.csv"
    source.write_text("text\n" + "\n".join(dataset().test.texts[:3]), encoding="utf-8")
    page.locator("#csv").set_input_files(source)  # a dialog of the system, which no page sees
    page.locator("#csv").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#csv-result", has_text="3 rows").wait_for()


def test_what_a_screen_reader_is_told(page: Any) -> None:
    examine(page)
    for name in ("plain", "firm"):
        panel = page.get_by_role("article", name=f"Model {name}")
        assert panel.get_by_role("heading", name=name, level=2).count() == 1
        assert panel.get_by_role("group", name="Arrow keys move between the words").count() == 1
        words = panel.get_by_role("button", name=re.compile(r"^\S+: .*(of the worst case); \d+ substitutes?"))
        assert words.count() == panel.locator(".word").count() > 0
        assert panel.get_by_role("list", name="Probabilities").get_by_role("listitem").count() == 2
    assert re.search(r"plain: \w+, (certified|not proven)\. firm: \w+, ", page.get_by_role("status").first.inner_text())
    for landmark in ("banner", "main", "navigation"):
        assert page.get_by_role(landmark).count() >= 1
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.get_by_role("link", name="Skip to the text").get_attribute("href") == "#text"


def test_a_word_that_is_put_back_is_told_as_it_was(page: Any) -> None:
    examine(page)
    told = page.evaluate(
        """async () => {
            const { wordsOf } = await import("/static/words.js");
            const piece = { before: "", text: "Fine", substitutes: ["good"], share: 1, worst: "good", drop: -1 };
            const { group, swap } = wordsOf({ pieces: [piece], rest: "", read: 1, words: 1, shares_by: "ibp" });
            const word = group.querySelector(".word");
            const seen = [word.getAttribute("aria-label")];
            for (const fresh of ["good", "fine"]) { swap(0, fresh); seen.push(word.getAttribute("aria-label")); }
            return seen;
        }"""
    )
    assert told == [told[0], "Fine replaced by good", told[0]]


@pytest.mark.parametrize(
    "page",
    [{"color_scheme": scheme, "viewport": {"width": 1280, "height": 900}} for scheme in ("light", "dark")],
    ids=["light", "dark"],
    indirect=True,
)
def test_every_text_stands_out_from_what_is_behind_it(page: Any) -> None:
    examine(page)
    page.get_by_role("button", name="Attack", exact=True).click()
    page.locator("#status", has_text=ENDS).wait_for()
    page.wait_for_timeout(900)  # until the last word has stopped flashing
    page.locator(".word").first.focus()  # its substitutes are shown
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 40
    assert [each for each in contrasts if each[0] < 4.5] == []


@pytest.mark.parametrize("page", [PHONE, NARROW], ids=["390", "320"], indirect=True)
def test_a_phone_can_do_everything(page: Any, address: str) -> None:
    width = page.viewport_size["width"]
    examine(page)
    page.get_by_role("button", name="Attack", exact=True).click()
    page.locator("#status", has_text=ENDS).wait_for()
    page.locator(".word").first.focus()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    tip = page.get_by_role("tooltip").bounding_box()
    assert tip["x"] >= 0
    assert tip["x"] + tip["width"] <= width
    small = page.locator("button:not(.word)").evaluate_all(
        "all => all.filter(each => each.checkVisibility() && each.getBoundingClientRect().height < 24).length"
    )
    assert small == 0  # a finger finds every button
    page.goto(address + "docs")
    page.locator(".endpoint").nth(5).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_page_says_what_the_server_says(page: Any, address: str) -> None:
    examine(page)
    for place, name in enumerate(("plain", "firm")):
        told = page.request.post(address + "certify", data={"text": TEXT, "model": name}).json()
        panel = page.locator("article").nth(place)
        shown = panel.inner_text()
        assert panel.locator(".labels li").first.inner_text().split()[0] == told["label"]
        assert f"{100 * told['probability']:.1f}" in panel.locator(".labels li").first.inner_text()
        assert panel.locator(".verdict strong").inner_text() == (
            "Certified" if told["verdict"] == "certified" else "Not proven"
        )
        radius = told["replaceable"] if told["verdict"] == "certified" else told["radius"]
        assert re.search(rf"Radius\s+(all )?{radius}( of {told['replaceable']})? replaceable words", shown)
        words = [piece for piece in told["pieces"] if piece["substitutes"]]
        assert panel.locator(".word").all_inner_texts() == [piece["text"] for piece in words]


def test_one_model_alone(browser: Any, runs: list[Path]) -> None:
    with Pool(runs[1:], limits=Limits(workers=1)) as pool, serving(create_app(pool, names=LOOPBACK)) as address:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(address)
        page.locator("article").wait_for()
        examine(page)
        assert page.locator(".verdict").count() == 1
        context.close()


def test_markup_in_a_file_stays_text(page: Any, tmp_path: Path) -> None:
    source = tmp_path / "<b>reviews</b>.csv".replace("/", "")
    source.write_text('"<img src=x onerror=document.title=1>"\nhello\n', encoding="utf-8")
    page.get_by_label("Choose a CSV file").set_input_files(source)
    column = page.locator("#column")
    page.wait_for_function("document.getElementById('column').value.startsWith('<img src=x')")
    column.fill("none of these")
    page.get_by_role("button", name="Certify rows").click()
    page.locator("#csv-result", has_text="<img src=x").wait_for()
    assert page.locator("main img, main b").count() == 0
