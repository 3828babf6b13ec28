"""Reports follow from records, in four formats, and quote the paper as quoted."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.report.records import METHODS, record, sweep, table1

from sgbt.core.errors import EvaluationError
from sgbt.evaluate import RunRecord, read_records, write_records
from sgbt.report import report_of_folder, report_of_records
from sgbt.report.build import FORMATS, Report
from sgbt.report.drawn import by_budget
from sgbt.report.methods import comparisons, methods_of
from sgbt.report.published import TABLE_1

VOID = {"meta", "br", "line", "rect", "circle", "polyline", "polygon"}


@pytest.fixture(scope="module")
def whole() -> Report:
    return report_of_records(table1() + sweep(), title="Everything", pairs=[("sgbt", "gbm")])


class Balanced(HTMLParser):
    """Notes every element that is not closed where it should be, and every address that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href", "srcset") and value[:1] != "#"]  # type: ignore[index]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_fetches_nothing(whole: Report) -> None:
    page = whole.text(".html")
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert parser.fetched == []
    assert "script" not in parser.tags
    assert not re.search(r"url\(|@import|https?://", page)
    assert "prefers-color-scheme: dark" in page


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_same_records_give_the_same_bytes(whole: Report, suffix: str, tmp_path: Path) -> None:
    write_records(whole.records, tmp_path / "records.jsonl")
    again = report_of_records(read_records(tmp_path), title="Everything", pairs=[("sgbt", "gbm")])
    assert again.text(suffix) == whole.text(suffix)


def test_every_section_is_there(whole: Report) -> None:
    titles = [section.title for section in whole.document.sections]
    assert titles == [
        "Accuracy, robustness, proofs",
        "Accuracy against robustness",
        "Beside the paper's Table 1",
        "Robustness by beta and gamma",
        "Do the methods differ?",
        "Certified accuracy by budget",
        "The weakest words",
        "What the attacks did",
        "What it costs",
        "What the figures are about",
        "Loss parts while training",
    ]
    page = whole.text(".html")
    assert 'class="heat"' in page
    assert page.count("<svg") == sum(len(section.charts) for section in whole.document.sections) > 20


def test_every_row_of_figures_has_its_command(whole: Report) -> None:
    for section in whole.document.sections:
        for table in section.tables:
            assert len(table.commands) == len(table.rows), table.title
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert all(command.startswith("sgbt bench ") for command in table.commands)


def test_a_figure_shows_interval_and_denominator(whole: Report) -> None:
    own = record("imdb", "bilstm", "gbm")
    share = own.share("robust", "pwws")
    assert share is not None
    low, high = share.interval
    shown = f"{100 * share.value:.1f} ({100 * low:.1f} to {100 * high:.1f}, {share.count:,} of {share.total:,})"
    assert shown in whole.text(".md")


def test_what_was_measured_on_dev_stands_apart_and_says_so() -> None:
    on_test = record(label="sgbt", seed=0)
    on_dev = replace(record(label="sgbt", seed=1), config=record().config | {"split": "dev"})
    made = report_of_records([on_test, on_dev], pairs=[("sgbt", "sgbt")])
    (results,) = [section for section in made.document.sections if section.title == "Accuracy, robustness, proofs"]
    assert [table.title for table in results.tables] == [
        "imdb, cnn, substitutions counter_fitted",
        "imdb, on dev, cnn, substitutions counter_fitted",
    ]
    assert [table.rows[0][1].text for table in results.tables] == ["1", "1"]  # seeds: never averaged over splits
    (beside,) = [section for section in made.document.sections if section.title == "Beside the paper's Table 1"]
    assert [table.title for table in beside.tables] == ["imdb, cnn, substitutions counter_fitted"]
    assert "imdb, on dev" in {row["dataset"] for row in csv.DictReader(io.StringIO(made.text(".csv")))}


def test_several_seeds_are_a_mean_with_its_spread(whole: Report) -> None:
    shares = [record("imdb", "cnn", "ibp", seed).share("clean") for seed in (0, 1)]
    values = [100 * share.value for share in shares if share]
    assert f"| {np.mean(values):.1f} ± {np.std(values, ddof=1):.1f} (" in whole.text(".md")


def test_proven_shares_never_rise_with_the_budget_also_over_seeds() -> None:
    runs = [record("imdb", "cnn", "ibp", seed) for seed in (0, 1, 2)]
    (chart,) = by_budget(methods_of(runs))
    heights = [float(each) for each in re.findall(r'<circle class="mark s0" cx="[^"]*" cy="([^"]*)"', chart.svg)[:-1]]
    assert len(heights) == 13
    assert heights == sorted(heights)  # downwards on the page


def test_csv_has_every_figure_of_every_run(whole: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(whole.text(".csv"))))
    own = [row for row in rows if (row["dataset"], row["model"], row["method"]) == ("imdb", "cnn", "sem")]
    assert {row["seed"] for row in own} == {"0", "1"}
    assert {row["metric"] for row in own} >= {"clean", "certified", "robust", "aua", "success", "queries", "seconds"}
    for row in own:
        if row["count"]:
            assert float(row["value"]) == int(row["count"]) / int(row["total"])
            assert float(row["low"]) <= float(row["value"]) <= float(row["high"])


def test_latex_escapes_and_balances(whole: Report) -> None:
    text = whole.text(".tex")
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") > 5
    assert not any(re.search(r"(?<!\\)[_%#]", line) for line in lines)
    assert r"$\pm$" in text


def test_the_papers_figures_are_those_of_its_table(shared_data: Path) -> None:
    paper = shared_data.parent / "paper" / "s-gbt.tex"
    if not paper.is_file():
        pytest.skip(f"no {paper}")
    names = {"Standard": "standard", "S-GBT": "sgbt"} | {name.upper(): name for name in METHODS}
    table = paper.read_text().split(r"\label{tab:defense}")[0].rsplit(r"\begin{tabular}", 1)[1]
    found = []
    for line in re.sub(r"\\cite\{[^}]*\}", "", table).splitlines():
        name = re.match(r"[\s&]*([A-Z][A-Za-z-]+) *&", line)
        numbers = [float(each) for each in re.findall(r"\d+\.\d", line)]
        if name and name[1] in names and len(numbers) == 8:
            found.append((names[name[1]], tuple(numbers[:4]), tuple(numbers[4:])))
    assert len(found) == 14
    for place, (label, cnn, bilstm) in enumerate(found):
        dataset = "imdb" if place < 7 else "yahoo_answers"
        assert TABLE_1[dataset, "cnn"][label] == cnn
        assert TABLE_1[dataset, "bilstm"][label] == bilstm


def test_the_note_on_denominators_follows_from_the_quoted_figures() -> None:
    above = [(under, rows["sgbt"][0]) for rows in TABLE_1.values() for under in rows["sgbt"][1:]]
    assert (sum(under > clean for under, clean in above), len(above)) == (10, 12)
    clean, *_, pso = TABLE_1["yahoo_answers", "cnn"]["sgbt"]
    assert f"{clean * pso / 100:.1f}" == "57.4"
    assert TABLE_1["yahoo_answers", "cnn"]["gbm"][3] == 67.3


def test_quoted_figures_are_marked(whole: Report) -> None:
    section = next(each for each in whole.document.sections if each.title.startswith("Beside"))
    for table in section.tables:
        quoted = [place for place, column in enumerate(table.columns) if column.endswith("quoted")]
        for row in table.rows:
            assert [place for place, figure in enumerate(row) if figure.quoted] == quoted
    assert "*92.3*" in whole.text(".md")


def test_a_pair_is_matched_by_accuracy_on_dev_and_not_on_test() -> None:
    def with_dev(label: str, accuracy: float) -> RunRecord:
        found = record(label=label)
        return replace(found, metrics={**found.metrics, "dev": {"accuracy": accuracy}})

    runs = [with_dev("sgbt", 0.80), with_dev("gbm-beta0.2", 0.90), with_dev("gbm-beta0.4", 0.81), with_dev("gbm", 0.8)]
    found = comparisons(methods_of(runs), ("sgbt", "gbm-beta*"))
    assert {each.second.label for each in found} == {"gbm-beta0.4"}
    assert [each.metric for each in found] == ["clean", "certified", "pwws", "genetic", "pso"]
    first, second = (runs[place].outcome("pwws") for place in (0, 2))
    assert first is not None
    assert second is not None
    pwws = found[2].result
    assert (pwws.only_first, pwws.only_second) == (int((first & ~second).sum()), int((second & ~first).sum()))


def test_a_report_of_nothing_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="run sgbt bench first"):
        report_of_folder(tmp_path / "nowhere")
    with pytest.raises(EvaluationError, match="a file of run records"):
        report_of_folder(tmp_path)


def test_another_ending_is_refused(whole: Report, tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"ends in \.html"):
        whole.save(tmp_path / "report.pdf")


def test_words_from_texts_cannot_break_the_page() -> None:
    odd = replace(record(), weakest=(["<b>", "&amp;|", 3],), label="a<script>")
    made = report_of_records([odd])
    parser = Balanced()
    parser.feed(made.text(".html"))
    assert "script" not in parser.tags
    assert "\\|" in made.text(".md")


@pytest.mark.parametrize("label", METHODS)
def test_the_figures_of_made_up_records_are_possible(label: str) -> None:
    own = record(label=label)
    robust, clean = own.outcome("pwws"), own.outcome("clean")
    assert robust is not None
    assert clean is not None
    assert not (robust & ~clean).any()
