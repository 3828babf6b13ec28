"""docs/reproduction.md: tables from whatever has run, and nothing for what has not."""

from __future__ import annotations

from dataclasses import replace

from pages.figures.reproduction import pairs_of, reading_of, summary_of
from tests.report.records import record

SETS = ("wordnet", "counter_fitted", "sememes")


def lines(block: str, title: str) -> list[list[str]]:
    """The cells of the table below a title."""
    table = block.split(title)[1].split("\n\n")[1]
    return [line.strip("| ").split(" | ") for line in table.splitlines()]


def test_nothing_has_run() -> None:
    assert reading_of([], "small") == pairs_of([]) == summary_of({"ours": []}) == ""


def test_a_reading_beside_the_paper_with_both_denominators() -> None:
    first, second = (record(label="sgbt", seed=seed) for seed in (0, 1))
    block = reading_of([record(label="standard"), first, second, record(label="gbm-3")], "small")
    heads, _, standard, sgbt, larger = lines(block, "AUA, among")
    assert heads == ["method", "seeds", "clean", "paper", "PWWS", "paper", "GA", "paper", "PSO", "paper"]
    assert [standard[place] for place in (3, 5, 7, 9)] == ["89.7", "0.6", "2.6", "1.4"]
    assert standard[4].startswith(f"{100 * record(label='standard').attacks['pwws']['aua']:.1f} (")
    assert sgbt[1] == "2"
    mean = 50 * sum(each.attacks["pwws"]["aua"] for each in (first, second))
    assert sgbt[4].startswith(f"{mean:.1f} ± ")
    assert larger[3] == larger[5] == ""  # the paper has no such row
    robust = lines(block, "robust, among all")[2]
    assert robust[1].startswith(f"{100 * record(label='standard').attacks['pwws']['robust_accuracy']:.1f} (")
    certified = lines(block, "certified, among all")[2]
    assert certified[:2] == ["standard", "the published counter-fitted list"]
    assert certified[7].startswith(f"{100 * record(label='standard').metrics['certified_accuracy']:.1f} (")


def test_each_attack_may_have_a_set_of_its_own_and_what_is_not_measured_is_absent() -> None:
    whole = record(label="gbm")
    parts = []
    for name, attack in zip(SETS, ("pwws", "genetic", None), strict=True):
        kept = {attack: whole.attacks[attack]} if attack else {}
        parts.append(
            replace(whole, substitutions={"name": name, "hash": "0" * 64}, metrics={**whole.metrics, "attacks": kept})
        )
    del parts[2].metrics["certified_by_budget"]
    block = reading_of(parts, "small")
    heads, _, gbm = lines(block, "AUA, among")
    assert heads == ["method", "seeds", "clean", "paper", "PWWS", "paper", "GA", "paper"]
    assert gbm[4].startswith(f"{100 * whole.attacks['pwws']['aua']:.1f} (")
    assert [line[1] for line in lines(block, "certified, among all")[2:]] == [
        "WordNet's synonyms",
        "the published counter-fitted list",
    ]


def test_pairs_are_of_clean_and_certified_accuracy() -> None:
    found = lines(f"title\n\n{pairs_of([record(label='sgbt'), record(label='gbm')])}", "Pairs")[2:]
    assert {line[3] for line in found} == {"clean", "certified"}
    assert {line[2] for line in found} == {"sgbt, gbm"}
    ours, theirs = (record(label=label).metrics["clean_accuracy"] for label in ("sgbt", "gbm"))
    assert found[0][4] == f"{100 * (ours - theirs):+.2f}"


def test_readings_side_by_side() -> None:
    block = summary_of({"stated-set": [record(label="standard")], "ours": []})
    _, _, paper, only = lines(f"title\n\n{block}", "TextCNN")
    assert paper[:4] == ["the paper, quoted", "89.7", "90.2", "79.4"]
    assert only[0] == "`stated-set`"
    assert only[2] == ""
