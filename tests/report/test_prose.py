"""Figures in running text, beside the tables: each follows from committed rows."""

from __future__ import annotations

import hashlib
import importlib.util
from types import ModuleType

import pytest
from tests.conftest import ROOT
from tests.report.pages import page, prose, rows
from tests.report.test_results_page import methods, on_one_curve, shown

from sgbt.evaluate import Paired, read_records
from sgbt.report.methods import by_model
from sgbt.report.paired import comparisons
from sgbt.report.picture import picture

RESULTS = prose("docs/results.md")
AGAIN = "run python benchmarks/pictures.py"


def a_method(folder: str, *wanted: str):
    """The one method of a folder with this dataset, model and label."""
    (found,) = [each for each in methods(folder) if (each.first.dataset, each.first.model, each.label) == wanted]
    return found


def test_the_headline() -> None:
    found = [method for folder in ("imdb-linear", "imdb-all", "imdb-two-channel") for method in methods(folder)]
    best = max(found, key=lambda method: method.value("certified"))
    assert best.label == "certified-maps"
    assert best.first.metrics["certified_total"] == 25_000
    assert f"**{shown(best, 'certified')} %**" in page("README.md")


def pairs_on_all_of_imdb(model: str, *pair: str) -> dict[str, Paired]:
    """How two methods of Table 1 on all of IMDB differ in every metric, on the same texts."""
    own = [method for method in methods("table1-imdb") if method.first.model == model]
    return {each.metric: each.result for each in comparisons(own, (pair[0], pair[1]))}


def test_what_is_said_of_table_1_on_all_of_imdb() -> None:
    found = pairs_on_all_of_imdb("cnn", "certified", "ibp")
    proven, right = found["certified"], found["clean"]
    told = f"proves {-100 * proven.difference:.1f} points less than IBP on the TextCNN (p {proven.p_value:.2g})"
    also = f"and is right about as often ({100 * right.difference:+.1f} points, p {right.p_value:.2g})"
    assert f"{told}, {also}" in RESULTS
    found = pairs_on_all_of_imdb("bilstm", "certified", "ibp")
    proven, right = found["certified"], found["clean"]
    told = f"On the BiLSTM it proves {100 * proven.difference:.1f} points more than IBP (p {proven.p_value:.2g})"
    assert f"{told}, and is right on {-100 * right.difference:.1f} points less" in RESULTS
    found = pairs_on_all_of_imdb("cnn", "certified-ties", "ibp")
    proven, held, right = (found[name] for name in ("certified", "pwws", "clean"))
    told = f"proves {100 * proven.difference:.1f} points more than IBP (p {proven.p_value:.2g}), holds"
    more = f"{100 * held.difference:.1f} points more under PWWS (p {held.p_value:.2g})"
    assert f"{told} {more} and is right on {100 * right.difference:.1f} points more" in RESULTS
    assert all(each.difference > 0 for each in found.values())  # on every count
    found = pairs_on_all_of_imdb("cnn", "sgbt", "gbm")
    held, right = found["pwws"], found["clean"]
    told = f"S-GBT holds {100 * held.difference:.1f} points more than GBM under PWWS (p {held.p_value:.2g})"
    assert f"{told} and is right on {-100 * right.difference:.1f} points less" in RESULTS

    slow = a_method("table1-imdb", "imdb", "bilstm", "atfl")
    assert f"ATFL on a BiLSTM here either ({shown(slow, 'clean')} clean)" in RESULTS
    undone = [a_method("table1-imdb", "imdb", model, "ascc").value("robust", "pwws") for model in ("cnn", "bilstm")]
    assert all(share < 0.2 for share in undone)


def test_what_curvature_is_said_to_do() -> None:
    cells = [[float(cell) for cell in line.strip("| ").split(" | ")[2:]] for line in on_one_curve()]
    left = sorted(robust - growth for robust, growth in cells)
    for name in ("README.md", "docs/results.md"):
        assert f"{left[0]:.1f} to {left[-1]:.1f} points" in prose(name)
    found = [
        each
        for gamma in ("", "-gamma1.0", "-gamma3.0")
        for each in comparisons(methods("ablation-small"), (f"sgbt{gamma}", "gbm-beta*"))
    ]
    values = [f"{each.result.p_value:.2g}" for each in found if each.metric == "pwws"]
    assert f"(p {values[0]}, {values[1]} and {values[2]};" in RESULTS
    behind = sorted(-100 * each.result.difference for each in found if each.metric == "clean")
    assert f"{behind[0]:.1f} to {behind[-1]:.1f} points of clean accuracy behind" in RESULTS
    paid = a_method("ablation-small", "imdb", "cnn", "gbm-beta6.4")
    assert f"`beta` 6.4: {shown(paid, 'robust', 'pwws')} robust, {shown(paid, 'clean')} clean" in RESULTS
    raw = a_method("ablation-small", "imdb", "cnn", "sgbt-raw")
    assert f"whose {100 * raw.value('robust', 'pwws'):.0f} % are the texts of that class" in RESULTS


def test_what_is_said_of_table_1() -> None:
    gained, chance = {}, {}
    for (data, model, _), group in by_model(methods("table1-small")).items():
        (found,) = [each for each in comparisons(group, ("certified", "ibp")) if each.metric == "certified"]
        gained[data, model] = 100 * found.result.difference
        chance[data, model] = found.result.p_value
    recurrent, convolved = [(data, "bilstm") for data in ("imdb", "yahoo_answers")], ("imdb", "cnn")
    assert all(chance[key] < 1e-5 for key in recurrent)
    assert f"({gained[recurrent[0]]:.1f} and {gained[recurrent[1]]:.1f} points in pairs, p below 1e-5)" in RESULTS
    assert f"on the TextCNNs {gained[convolved]:.1f} points more on either dataset" in RESULTS
    values = [f"{chance[data, 'cnn']:.2f}" for data in ("imdb", "yahoo_answers")]
    assert f"chance (p {values[0]} and {values[1]})" in RESULTS
    before = next(row for row in rows("trials/ibp-bilstm.jsonl") if row["dataset"] == "imdb")["metrics"]["dev"]
    after = a_method("table1-small", "imdb", "bilstm", "ibp").first.metrics["dev"]
    assert f"on dev ({100 * before['accuracy']:.1f}) alike" in RESULTS
    told = f"(dev on reviews {100 * after['accuracy']:.1f} clean, {100 * after['certified']:.1f} certified)"
    assert told in RESULTS
    assert f"({shown(a_method('table1-small', 'imdb', 'bilstm', 'atfl'), 'clean')} clean on reviews)" in RESULTS


def test_what_is_said_of_the_weights() -> None:
    found = {method.label: method for method in methods("hyperparameters-small") if method.first.dataset == "imdb"}
    (largest,) = [found[label] for label in found if "beta1.0" in label and "gamma3.0" in label]
    assert f"`gamma` 3) {shown(largest, 'robust', 'pwws')} % of all texts stay right under PWWS" in RESULTS
    recurrent = [each for each in methods("hyperparameters-small") if each.first.model == "bilstm"]
    held = sorted(100 * each.value("robust", "pwws") for each in recurrent)
    assert len(held) == 5
    assert f"{held[0]:.1f} to {held[-1]:.1f} % stay right" in RESULTS


def test_what_is_said_of_the_certificates() -> None:
    found = [row for name in ("cnn", "bilstm") for row in rows(f"certificates/{name}.jsonl")]
    any_tier = {row["run"]: row["certified"] for row in found if row.get("scale") == 1.0 and row["tier"] == "any"}
    assert f"{any_tier['bilstm-ibp']} of 1,000 reviews with a BiLSTM, {any_tier['cnn-ibp']} with a TextCNN" in RESULTS
    assert f"{any_tier['bilstm-ibp']} of 1,000 reviews at the full distance" in prose("docs/certificates.md")
    curves = {row["run"]: row["by_budget"] for row in found if "by_budget" in row}
    for words in ("2", "4", "8", "16"):
        plain, first, second = (curves[f"cnn-{name}"][words] for name in ("standard", "gbm", "sgbt"))
        assert plain < first < second


def test_rows_of_trials_and_certificates_tell_what_made_them() -> None:
    for folder in ("trials", "certificates"):
        for path in sorted((ROOT / "results" / folder).glob("*.jsonl")):
            for row in rows(path):
                if path.stem == "scripts":  # what scripts outside the repository logged, and nothing to repeat it by
                    assert {"model", "trial", "measured_on", "texts", "clean", "certified"} <= set(row)
                    continue
                assert row["command"].startswith(("python benchmarks/", "sgbt bench")), path.name
                assert len(row["commit"]) == 40, path.name


def test_the_run_behind_the_speed_of_certificates() -> None:
    clean = rows("speed/certify.jsonl")[0]["clean"]
    assert f"({100 * clean['count'] / clean['total']:.1f} % clean)" in prose("docs/certificates.md")


def test_what_a_certificate_is_worth_against_other_sets() -> None:
    found = [method for method in methods("substitutions-small") if method.label == "certified"]
    held = {str(method.first.substitutions["name"]): method.value("certified") for method in found}
    assert held["counter_fitted"] == pytest.approx(2 / 3, abs=0.01)
    assert held["wordnet"] == pytest.approx(0.1, abs=0.015)
    assert held["sememes"] == pytest.approx(0.1, abs=0.015)
    assert "keeps two thirds of the texts" in RESULTS
    assert "a tenth against WordNet's or the sememes'" in RESULTS


def test_what_substitution_sets_reach() -> None:
    share = {row["set"]: 100 * row["replaceable"] / row["words"] for row in rows("speed/sets.jsonl")}
    assert (
        f"{share['counter_fitted']:.1f} % have counter-fitted neighbours, {share['wordnet']:.1f} % synonyms in "
        f"WordNet, {share['sememes']:.1f} % words of the same sememes, and {share['neighbours']:.1f} % neighbours"
    ) in RESULTS
    (counter_fitted,) = [row for row in rows("speed/sets.jsonl") if row["set"] == "counter_fitted"]
    assert f"has 10^{counter_fitted['log10_combinations']:.0f} variants" in prose("docs/index.md")
    assert f"can become 10^{counter_fitted['log10_combinations']:.0f} texts" in RESULTS


def test_the_slack_of_published_runs() -> None:
    slack: dict[str, list[float]] = {}
    for path in sorted((ROOT / "results").glob("*/records.jsonl")):
        if path.parent.name != "imdb-two-channel":
            for record in read_records(path):
                slack.setdefault(record.model, []).append(record.metrics["certified_slack"])
    told = prose("docs/certificates.md")
    assert "at most 0.04 in the runs of `results/`" in told
    assert 0.03 < max(slack["cnn"]) <= 0.04
    assert "a measured allowance, at most 2e-5" in told
    assert 1e-5 < max(slack["bilstm"]) <= 2e-5


def test_what_the_demo_is_said_to_show() -> None:
    told = page("docs/demo.md")
    for row in rows("speed/demo.jsonl"):
        cells = [f"{100 * row[name] / row['reviews']:.1f}%" for name in ("clean", "robust", "certified")]
        counts = [f"{row[name]} of {row['reviews']}" for name in ("clean", "robust", "certified")]
        lines = iter(told.splitlines())
        assert any([cell.strip() for cell in line.strip("│").split("│")] == [row["training"], *cells] for line in lines)
        assert [cell.strip() for cell in next(lines).strip("│").split("│")] == ["", *counts]
    assert f"takes {row['seconds']} seconds on {row['cores']} cores" in prose("docs/demo.md")


def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "benchmarks" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_photograph_of_a_report_is_of_todays_rows() -> None:
    drawn = pictures()
    of_rows = hashlib.sha256(drawn.REPORTED.read_bytes()).hexdigest()
    png = (ROOT / "docs" / "assets" / "report.png").read_bytes()
    assert drawn.with_note(png[:33], of_rows) == png[: 33 + 12 + 5 + 64], AGAIN


@pytest.mark.parametrize("name", sorted(pictures().PICTURES))
def test_a_picture_is_that_of_the_rows(name: str) -> None:
    same = page(f"docs/assets/{name}") == picture(pictures().PICTURES[name]())
    assert same, AGAIN
