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
from sgbt.report.methods import MethodRuns, by_model, methods_of
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


def test_what_is_said_of_networks_beside_a_linear_bag() -> None:
    bag = a_method("imdb-linear", "imdb", "linear", "certified-words-places")
    networks = [a_method("imdb-two-channel", "imdb", model, "certified-words") for model in ("cnn", "bilstm")]
    cnn, lstm = (
        {each.metric: each.result for each in comparisons([network, bag], (network.label, bag.label))}
        for network in networks
    )
    proven, right = cnn["certified"], cnn["clean"]
    told = f"certifies {-100 * proven.difference:.2f} points less than that LinearBag alone (p {proven.p_value:.2g})"
    assert f"{told} and is right as often ({100 * right.difference:+.2f}, p {right.p_value:.2g})" in RESULTS
    proven, network = lstm["certified"], networks[0]
    assert f"certifies {-100 * proven.difference:.2f} points less (p {proven.p_value:.2g})" in RESULTS
    best = network.first.metrics["dev"]["certified"]
    assert f"Dev had promised more of the TextCNN: {100 * best:.1f} % certified in the best of three epochs" in RESULTS
    tried = {row["trial"]: row for row in rows("trials/scripts.jsonl") if row["trial"].startswith("beside words")}
    assert [f"{100 * row['certified']:.1f}" for row in tried.values()] == ["80.8", "80.8", "80.6", "80.9"]


def test_what_is_said_of_networks_apart_from_a_linear_bag() -> None:
    bag = a_method("imdb-linear", "imdb", "linear", "certified-words-places")
    whole = a_method("imdb-all", "imdb", "linear", "certified-words-places")

    def against(model: str, other: MethodRuns) -> dict[str, Paired]:
        network = a_method("imdb-alone", "imdb", model, "certified-apart")
        return {each.metric: each.result for each in comparisons([network, other], (network.label, other.label))}

    cnn, lstm, all_of_train = against("cnn", bag), against("bilstm", bag), against("cnn", whole)
    proven, right = cnn["certified"], cnn["clean"]
    told = f"certify {100 * proven.difference:.2f} points more than the LinearBag with places (p {proven.p_value:.2g})"
    assert f"{told}, and are right on {100 * right.difference:.2f} points more" in RESULTS
    assert f"had all of train they certify {100 * all_of_train['certified'].difference:.2f} points more" in RESULTS
    together = a_method("imdb-alone", "imdb", "cnn", "certified-apart")
    assert f"a TextCNN and a LinearBag together certify {shown(together, 'certified')} %, more than either" in RESULTS
    alone = a_method("imdb-alone", "imdb", "cnn", "certified-ties")
    assert together.value("certified") > max(bag.value("certified"), alone.value("certified"))
    assert f"By itself the TextCNN certifies {shown(alone, 'certified')} %" in RESULTS
    proven, right = lstm["certified"], lstm["clean"]
    told = f"it is then right on {100 * right.difference:.2f} points more than the LinearBag (p {right.p_value:.2g})"
    assert f"{told} and certifies as much ({100 * proven.difference:+.2f} points, p {proven.p_value:.2g})" in RESULTS
    tried = read_records(ROOT / "results" / "trials" / "bilstm-ties.jsonl")
    rates = {each.label: shown(each, "certified") for each in methods_of(tried)}
    assert f"{rates['rate-2e-3']} % certified at 2e-3, {rates['rate-1e-3']} % at 1e-3" in RESULTS
    fold = {row["trial"]: row["proven"] for row in rows("trials/network-films.jsonl")}
    (single,) = [
        row["proven"]
        for row in rows("trials/linear-films.jsonl")
        if (row["trial"], row["fold"]) == ("words, places", "imdb, fold 1 of 5")
    ]
    assert fold["apart"] > max(single, fold["alone"])
    added = [row for row in rows("trials/scripts.jsonl") if "added to a GramBag" in row["trial"]]
    assert max(added, key=lambda row: row["certified"])["options"]["weight"] == 0


def test_what_is_said_of_the_search_for_ties() -> None:
    found = methods_of(read_records(ROOT / "results" / "trials" / "linear-search.jsonl"))
    held = {each.label: each.value("certified") for each in found}
    told = {each.label: shown(each, "certified") for each in found}
    one = max((name for name in held if name.startswith("ties-") and name.count("-") == 1), key=lambda name: held[name])
    three, four = "ties-30-100-300", "ties-30-100-300-1000"
    assert f"over one level certify {told[one]} % at best, over the three that are shipped {told[three]} %" in RESULTS
    assert f"a fourth level at 1,000 has {told[four]} %, which is within chance" in RESULTS
    (rates,) = {told[f"rate-{rate}"] for rate in ("0.04", "0.08", "0.16")}
    assert f"From a rate of 0.04 on nothing changes ({rates} %)" in RESULTS
    assert held["decay-4e-5"] > held[three]
    assert f"to drop features takes most away ({told['dropout-0.1']} %)" in RESULTS


def test_what_is_said_of_tied_words() -> None:
    tied, untied = (a_method("table1-imdb", "imdb", "cnn", label) for label in ("certified-ties", "certified"))
    told = f"has {shown(tied, 'clean')} clean and {shown(tied, 'certified')} certified on test"
    assert f"{told}, where training from vectors without ties had {shown(untied, 'certified')}" in RESULTS
    tried: dict[str, float] = {}
    for row in rows("trials/scripts.jsonl"):
        if row["trial"].startswith("tied words, "):
            name = row["trial"].removeprefix("tied words, ")
            tried[name] = max(tried.get(name, 0.0), 100 * row["certified"])
    base, read, both = (tried[name] for name in ("base as recipes", "full vocab", "full vocab ties"))
    assert both > read > base
    assert read - base > both - read > 1  # the larger share is what is read
    settled = tried["all w100 ties fall2 wd1e-4 mean 400"]
    assert all(share < settled for name, share in tried.items() if name.startswith("all, 1000 words"))
    (alone,) = [row for row in rows("trials/scripts.jsonl") if row["trial"] == "beside words, the bag itself"]
    assert tried["beside a bag; stopped"] < 100 * alone["certified"]
    bag = a_method("imdb-linear", "imdb", "linear", "certified-words-places")
    assert f"still certifies more ({shown(bag, 'certified')})" in RESULTS


def test_what_places_are_said_to_gain() -> None:
    folds: dict[str, list[dict]] = {}
    for row in rows("trials/linear-films.jsonl"):
        folds.setdefault(row["trial"], []).append(row)
    share = {name: sum(row["proven"] for row in own) / sum(row["texts"] for row in own) for name, own in folds.items()}
    gains = [
        100 * (share[better] - share[than])
        for than, better in (
            ("words", "words, places"),
            ("codes", "codes, places"),
            ("grams", "grams, resolutions 3 and 0.3"),
            ("grams", "grams, ending 20"),
            ("grams", "grams, resolutions 3 and 0.3, ending 20"),
        )
    ]
    assert [f"{gain:.1f}" for gain in gains] == ["0.7", "0.3", "0.3", "0.2", "0.4"]
    assert all(
        with_places["proven"] > without["proven"]
        for without, with_places in zip(folds["words"], folds["words, places"], strict=True)
    )
    told = (
        "gain 0.7 points certified with words alone, in every fold, and 0.3 with codes; a second, coarser map gains 0.3"
    )
    assert f"{told} and the last twenty words 0.2 in a GramBag, both together 0.4" in RESULTS
    words = {
        label: a_method("imdb-linear", "imdb", "linear", f"certified-words-{label}") for label in ("vectors", "places")
    }
    whole = a_method("imdb-all", "imdb", "linear", "certified-words-places")
    from_to = [shown(each, "certified") for each in (words["vectors"], words["places"], whole)]
    assert f"rise from {from_to[0]} to {from_to[1]} with places, and to {from_to[2]} with all of train" in RESULTS
    dev = [100 * words[label].first.metrics["dev"]["certified"] for label in ("places", "vectors")]
    assert f"(places had {dev[0]:.1f} % of it, without them {dev[1]:.1f} %)" in RESULTS


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


def test_what_is_said_of_recipes() -> None:
    found = {method.label: shown(method, "certified") for method in methods("recipes")}
    best = max(found, key=lambda label: float(found[label]))
    assert best == "max-pooling"
    assert f"{found[best]} against {found['base']} with the mean" in RESULTS
    assert f"({found['vectors-fixed']} if it does not)" in RESULTS


def test_what_is_said_of_codes() -> None:
    found = {str(row["trial"]): row for row in rows("trials/grams.jsonl")}
    chain, chosen = found["{'resolution': 1e-06}"], found["{}"]
    told = prose("docs/mathematics.md")
    assert f"one code of {100 * chain['largest_code']:.0f} % of all running words" in told
    assert f"then right on {100 * chain['dev']['accuracy']:.0f} % of dev" in told
    assert chain["dev"]["certified"] == chain["dev"]["accuracy"]
    assert f"Then {100 * chosen['ambiguous']:.0f} % of running words are ambiguous" in told
    right, proven = (100 * chosen["dev"][name] for name in ("accuracy", "certified"))
    assert f"right on {right:.0f} % of dev and proven on {proven:.0f} %" in told


def test_what_is_said_of_networks_over_words_alone() -> None:
    trials = {row["label"]: row["metrics"]["certified_accuracy"] for row in rows("trials/cnn-alone.jsonl")}
    begun, not_begun = trials["fixed-3e-5"], trials["not-from-bag-1e-3"]
    told = f"certifies {100 * begun:.1f} % of dev where from vectors it certifies {100 * not_begun:.1f} %"
    assert told in RESULTS
    (stopped,) = rows("trials/bilstm-stopped.jsonl")
    best = max(row["dev"]["certified"] for row in stopped["curve"])
    assert f"a BiLSTM from vectors had {100 * best:.1f} % at best" in RESULTS
    linear = {row["label"]: row["metrics"]["certified_accuracy"] for row in rows("trials/linear-vectors.jsonl")}
    assert f"the LinearBag, which has {100 * linear['words-decay6e-5']:.1f} %" in RESULTS


def test_what_is_said_of_the_linear_models() -> None:
    found = {
        row["label"]: 100 * row["metrics"]["certified_accuracy"] for row in rows("trials/linear-before-ties.jsonl")
    }
    assert f"({found['certified-words']:.1f} without ties, `results/trials/linear-before-ties.jsonl`" in RESULTS
    assert f"of LinearBags with codes four ({found['certified']:.1f} first)" in RESULTS
    linked = {row["label"]: 100 * row["metrics"]["certified_accuracy"] for row in rows("trials/linear-words.jsonl")}
    without = linked.pop("decay3e-5-hops0")
    told = f"had {min(linked.values()):.1f} to {max(linked.values()):.1f} certified (and {without:.1f} without either"
    assert told in RESULTS
    slow = {row["label"]: 100 * row["metrics"]["certified_accuracy"] for row in rows("trials/linear-mark.jsonl")}
    told = f"no ties have {slow['mark']:.1f} certified, and {slow['mark-l2-3e-6']:.1f} with a tenth of the penalty"
    assert told in RESULTS
    cut = {(row["least"], row["recipe"]): row for row in rows("trials/linear-frequent.jsonl")}
    reach = cut[100, "without"]["of_dev_words"]
    assert f"still reaches {100 * reach['replaceable'] / reach['words']:.1f} % of the running words" in RESULTS
    proven = {key: 100 * row["dev"]["certified"] for key, row in cut.items()}
    most, whole = proven[100, "with ties"], proven[0, "with ties"]
    assert f"{most:.1f} % of the reviews are certified where the whole list leaves {whole:.1f} %" in RESULTS
    assert f"without ties {proven[100, 'without']:.1f} % and {proven[0, 'without']:.1f} %" in RESULTS
    gains = [proven[least, "with ties"] - proven[least, "without"] for least in (100, 50, 10, 0)]
    assert gains == sorted(gains)
    tied = {row["label"]: row["metrics"]["certified_accuracy"] for row in rows("trials/linear-ties.jsonl")}
    told = {row["label"]: row["metrics"]["certified_accuracy"] for row in rows("trials/linear-vectors.jsonl")}
    assert 0.007 < told["words-decay6e-5"] - tied["words-rate0.04"] < 0.01  # almost a point
    assert abs(told["codes"] - tied["codes-rate0.04"]) < 0.001
    for kind in ("words", "codes"):
        assert tied[f"{kind}-rate0.04"] == max(share for label, share in tied.items() if label.startswith(kind))


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


def test_what_words_add_beside_a_grambag() -> None:
    alone = a_method("imdb-linear", "imdb", "grams", "certified").first.metrics
    for model in ("cnn", "bilstm"):
        beside = a_method("imdb-two-channel", "imdb", model, "certified").first.metrics
        on_dev = {name: 100 * (beside["dev"][name] - alone["dev"][name]) for name in ("accuracy", "certified")}
        assert 0.05 < on_dev["accuracy"] < 0.25
        assert 0.15 < on_dev["certified"] < 0.25
        assert 0.05 < 100 * (beside["clean_accuracy"] - alone["clean_accuracy"]) < 0.25
        assert beside["certified_accuracy"] < alone["certified_accuracy"]
    assert "both add 0.1 to 0.2 points to clean and 0.2 to certified accuracy" in RESULTS


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
    assert "at most 2e-5 there" in told
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
