"""The page in a real browser: what a person sees, with a mouse, with a keyboard, on a phone, and on a file."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.cli.walked import run
from tests.serve.browsing import NASTY, TEXT, examine, serving
from tests.soundness.trained import dataset

from sgbt.serve import Pool, create_app
from sgbt.serve.guard import LOOPBACK

ENDS = re.compile("broken by|the proof holds|nothing is proven")


def test_two_models_are_examined_side_by_side(page: Any) -> None:
    examine(page)
    verdicts = page.locator(".verdict strong").all_inner_texts()
    assert len(verdicts) == 2
    assert set(verdicts) <= {"Certified", "Not proven"}
    assert page.locator(".read").nth(0).inner_text() == TEXT
    boxes = [page.locator("article").nth(place).bounding_box() for place in range(2)]
    assert boxes[0]["y"] == boxes[1]["y"]


def test_a_text_with_nothing_to_replace_has_a_neutral_verdict_and_says_how_much_is_known(page: Any) -> None:
    examine(page, "zzz qqq")
    assert page.locator(".verdict strong").all_inner_texts() == ["Nothing to replace"] * 2
    verdict = page.locator("article").nth(0).locator(".verdict")
    assert "2 of 2 words unknown" in verdict.inner_text()
    colour = "all => all.map(one => getComputedStyle(one.querySelector('strong')).color)"
    (neutral, *_) = page.locator(".verdict").evaluate_all(colour)
    page.get_by_role("button", name="Attack").click()
    page.get_by_text("There is no swap to try.").first.wait_for()
    assert page.locator(".verdict strong").all_inner_texts() == ["Nothing to replace"] * 2
    examine(page, TEXT)
    assert neutral not in page.locator(".verdict").evaluate_all(colour)


def test_a_file_shows_every_class_and_a_model_with_one_answer(page: Any, tmp_path: Path) -> None:
    stars = ("good", "bad")
    rows = [f"zzz {'q' * (number + 1)},{stars[number % 2]}" for number in range(25)]
    (tmp_path / "same.csv").write_text("\n".join(["text,stars", *rows]))
    page.set_input_files("#csv", tmp_path / "same.csv")
    page.fill("#truth", "stars")
    page.get_by_role("button", name="Certify rows").click()
    result = page.locator("#csv-result")
    result.locator("table").wait_for()
    told = result.inner_text()
    assert "for all 25 texts" in told
    assert "with nothing to replace" in told
    assert [row.split()[:2] for row in result.locator("tbody tr").all_inner_texts()] == [["good", "13"], ["bad", "12"]]


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
    column = page.get_by_label("Column with the texts")
    page.wait_for_function("document.getElementById('column').value === 'review'")  # the only one that the file has
    column.fill("text")
    page.get_by_role("button", name="Certify rows").click()
    page.locator("#csv-result", has_text="a column named 'text'").wait_for()
    column.fill("review")
    page.get_by_role("button", name="Certify rows").click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download reviews-certified.csv").click()
    waiting.value.save_as(tmp_path / "back.csv")
    assert waiting.value.suggested_filename == "reviews-certified.csv"
    with (tmp_path / "back.csv").open(newline="", encoding="utf-8") as stream:
        assert [row["review"] for row in csv.DictReader(stream)] == list(dataset().test.texts[:5])


def test_certificates_of_a_file_are_what_verify_takes(
    page: Any, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = dataset().test.texts[:5]
    (tmp_path / "reviews.csv").write_text("id;review\n" + "\n".join(f"{n};{text}" for n, text in enumerate(texts)))
    page.set_input_files("#csv", tmp_path / "reviews.csv")
    page.wait_for_function("document.getElementById('column').value === 'review'")
    assert page.locator("#columns option").evaluate_all("all => all.map(one => one.value)") == ["id", "review"]
    (tmp_path / "reviews.csv").write_text("label,review\n" + "\n".join(f"good,{text}" for text in texts))
    page.set_input_files("#csv", tmp_path / "reviews.csv")
    page.get_by_role("button", name="Certify rows").click()
    for name in ("certificates", "texts"):
        with page.expect_download() as waiting:
            page.get_by_role("link", name=f"Download reviews-{name}.jsonl").click()
        waiting.value.save_as(tmp_path / f"{name}.jsonl")
    told = page.locator("#csv-result").inner_text()
    assert "sgbt verify reviews-certificates.jsonl --model RUN --texts reviews-texts.jsonl" in told
    rows, known = str(tmp_path / "certificates.jsonl"), str(tmp_path / "texts.jsonl")
    assert run("verify", rows, "--model", str(runs[0]), "--texts", known) == 0
    assert "proven again: 5 of 5 rows" in capsys.readouterr().out


def test_switches_ask_for_a_proof_against_more_edits(page: Any) -> None:
    page.get_by_role("switch", name="one typing error").check()
    page.get_by_role("switch", name="one dropped function word").check()
    page.fill("#text", "a good film")
    page.get_by_role("button", name="Examine").click()
    told = page.locator("p.threat").nth(0)
    told.get_by_text("Also against model + typos:1 + delete:1").wait_for()
    assert re.search(r"(certified|not proven)\. [\d,]+ single edits are possible", told.inner_text())
    page.get_by_role("switch", name="one dropped function word").uncheck()
    page.locator("#panels.stale").wait_for()  # what is shown is the answer to another question


def test_the_page_asks_for_the_token_and_goes_on_with_it(browser: Any, pool: Pool) -> None:
    token = "0123456789abcdef"
    with serving(create_app(pool, token=token, names=LOOPBACK)) as locked:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(locked)
        page.get_by_role("textbox", name="Token").fill(token)
        page.get_by_role("button", name="Continue").click()
        page.locator("article").nth(1).wait_for()
        context.close()


def test_the_description_for_programs_is_read_from_this_server_alone(page: Any, address: str) -> None:
    page.goto(address + "docs")
    page.locator(".endpoint").nth(7).wait_for()
    assert page.locator(".endpoint h2", has_text="/certify/csv").count() == 2
