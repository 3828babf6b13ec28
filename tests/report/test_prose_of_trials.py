"""Figures in running text about linear models, networks over words and what was tried: each follows from rows."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.report.pages import prose, rows
from tests.report.test_prose import RESULTS, a_method
from tests.report.test_results_page import methods, shown

from sgbt.evaluate import Paired, read_records
from sgbt.report.methods import MethodRuns, methods_of
from sgbt.report.paired import comparisons


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
    rates, of_max = (
        {each.label: shown(each, "certified") for each in methods_of(read_records(ROOT / "results" / "trials" / name))}
        for name in ("bilstm-ties.jsonl", "bilstm-max.jsonl")
    )
    assert f"{rates['rate-2e-3']} % certified at 2e-3, {rates['rate-1e-3']} % at 1e-3" in RESULTS
    assert f"{of_max['rate-4e-3']} % at 4e-3, {of_max['rate-2e-3']} % at 2e-3" in RESULTS
    fold = {row["trial"]: row["proven"] for row in rows("trials/network-films.jsonl")}
    (single,) = [
        row["proven"]
        for row in rows("trials/linear-films.jsonl")
        if (row["trial"], row["fold"]) == ("words, places", "imdb, fold 1 of 5")
    ]
    assert fold["apart"] > max(single, fold["alone"])
    added = [row for row in rows("trials/scripts.jsonl") if "added to a GramBag" in row["trial"]]
    assert max(added, key=lambda row: row["certified"])["options"]["weight"] == 0
    seeds = {record.seed: f"{100 * record.metrics['certified_accuracy']:.1f}" for record in together.records}
    assert f"With a second seed they certify {seeds[1]} %, with the first {seeds[0]} %" in RESULTS


def test_what_is_said_of_a_bilstm_of_the_greatest_states() -> None:
    bag = a_method("imdb-linear", "imdb", "linear", "certified-words-places")
    whole = a_method("imdb-all", "imdb", "linear", "certified-words-places")
    network = a_method("imdb-alone", "imdb", "bilstm", "certified-apart-max")
    assert f"a BiLSTM that takes the greatest of its states {shown(network, 'certified')} %" in RESULTS
    found, against_all = (
        {each.metric: each.result for each in comparisons([network, other], (network.label, other.label))}
        for other in (bag, whole)
    )
    assert f"The LinearBag alone certifies {shown(bag, 'certified')} " in prose("README.md")
    proven, right = found["certified"], found["clean"]
    told = f"certifies {100 * proven.difference:.2f} points more than the LinearBag (p {proven.p_value:.2g})"
    assert f"{told} and is right on {100 * right.difference:.2f} points more" in RESULTS
    assert f"of train it certifies {100 * against_all['certified'].difference:.2f} points more" in RESULTS
    tried = {row["trial"]: row for row in rows("trials/scripts.jsonl") if row["trial"].startswith("apart, ")}
    alone = tried.pop("apart, BiLSTM of the greatest states, by itself")
    beside = tried.pop("apart, the LinearBag beside the BiLSTM, by itself")
    both = network.first.metrics["dev"]["certified"]
    own, bags, sums = (f"{100 * share:.1f}" for share in (alone["certified"], beside["certified"], both))
    assert f"certifies {own} % of dev, where the LinearBag has {bags} % and both together {sums} %" in RESULTS
    held = {row["options"]["weight"]: row["certified"] for row in tried.values()}
    gain = 100 * (max(held.values()) - held.pop(0.0))
    assert f"adds {gain:.1f} points of dev there at the best of {len(held)} weights" in RESULTS.replace("seven", "7")


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
