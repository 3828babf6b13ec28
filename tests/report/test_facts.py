"""What docs/results.md and docs/notebook say in words holds in the rows; and rows do not contradict one another."""

from __future__ import annotations

import pytest
from pages.figures.trial_tables import FOLD, by_trial
from pages.rows import RESULTS, method, methods, pair, rows

BAG = "imdb-linear/linear/certified-words-places"


def certified(path: str) -> float:
    return method(path).value("certified")


def on_dev(path: str) -> dict[str, float]:
    return {each.label: each.value("certified") for each in methods(path)}


def test_the_headline_is_the_best_model_on_all_test_reviews() -> None:
    found = [
        each for folder in ("imdb-linear", "imdb-all", "imdb-two-channel", "imdb-alone") for each in methods(folder)
    ]
    best = max(found, key=lambda each: each.value("certified"))
    assert (best.first.grid, best.first.model, best.label) == ("imdb-all", "grams", "certified-clusters")
    assert best.first.metrics["certified_total"] == 25_000


def test_certified_training_with_ties_wins_on_every_count_and_ascc_is_undone() -> None:
    assert all(each.difference > 0 for each in pair("table1-imdb/cnn/certified-ties", "table1-imdb/cnn/ibp").values())
    assert all(method(f"table1-imdb/{model}/ascc").value("robust", "pwws") < 0.2 for model in ("cnn", "bilstm"))


def test_on_small_bilstms_certified_training_is_above_chance_and_on_textcnns_alike() -> None:
    def gain(data: str, model: str):
        return pair(f"table1-small/{data}/{model}/certified", f"table1-small/{data}/{model}/ibp")["certified"]

    assert all(gain(data, "bilstm").p_value < 1e-5 for data in ("imdb", "yahoo_answers"))
    assert len({f"{100 * gain(data, 'cnn').difference:.1f}" for data in ("imdb", "yahoo_answers")}) == 1


def test_penalties_help_within_a_budget() -> None:
    curves = {row["run"]: row["by_budget"] for row in rows("certificates/cnn") if "by_budget" in row}
    for words in ("2", "4", "8", "16"):
        plain, first, second = (curves[f"cnn-{name}"][words] for name in ("standard", "gbm", "sgbt"))
        assert plain < first < second


@pytest.mark.parametrize("path", ["certificates/cnn", "certificates/bilstm"])
def test_more_is_never_certified_with_more_words_or_larger_substitutes(path: str) -> None:
    for row in rows(path):
        if "by_budget" in row:
            shares = [row["by_budget"][str(n)] for n in (*range(65), -1)]
            assert shares == sorted(shares, reverse=True)
    best = {(row["run"], row["scale"]): row["certified"] for row in rows(path) if row.get("tier") == "any"}
    assert len(best) > 2
    for (run, scale), proven in best.items():
        assert all(proven >= other for (name, wider), other in best.items() if name == run and wider >= scale)


@pytest.mark.parametrize("folder", ["trials", "certificates", "speed"])
def test_rows_tell_what_made_them(folder: str) -> None:
    for path in sorted((RESULTS / folder).glob("*.jsonl")):
        for row in rows(f"{folder}/{path.stem}"):
            if path.stem == "scripts":  # what scripts outside the repository logged, and nothing to repeat it by
                assert {"model", "trial", "measured_on", "texts", "clean", "certified"} <= set(row)
                continue
            assert row["command"].startswith(("python benchmarks/", "sgbt bench")), path.name
            assert len(row["commit"]) == 40, path.name
            assert folder != "speed" or row["cores"] >= 1


def test_a_certificate_is_for_one_set() -> None:
    found = [each for each in methods("substitutions-small") if each.label == "certified"]
    held = {str(each.first.substitutions["name"]): each.value("certified") for each in found}
    assert held["counter_fitted"] == pytest.approx(2 / 3, abs=0.01)
    assert held["wordnet"] == pytest.approx(0.1, abs=0.015)
    assert held["sememes"] == pytest.approx(0.1, abs=0.015)


def test_a_network_and_a_linear_bag_trained_apart_have_more_than_either() -> None:
    assert certified("imdb-alone/cnn/certified-apart") > max(certified(BAG), certified("imdb-alone/cnn/certified-ties"))
    fold = {row["trial"]: row["proven"] for row in rows("trials/network-films")}
    (bag,) = [row["proven"] for row in by_trial("trials/linear-films")["words, places"] if row["fold"] == FOLD]
    assert fold["apart"] > max(bag, fold["alone"])
    added = [row for row in rows("trials/scripts") if "added to a GramBag" in row["trial"]]
    assert max(added, key=lambda row: row["certified"])["options"]["weight"] == 0


def test_words_beside_a_gram_bag_add_little_on_dev_and_nothing_certified_on_test() -> None:
    alone = method("imdb-linear/grams/certified").first.metrics
    for model in ("cnn", "bilstm"):
        beside = method(f"imdb-two-channel/{model}/certified").first.metrics
        assert 0.05 < 100 * (beside["clean_accuracy"] - alone["clean_accuracy"]) < 0.25
        assert beside["certified_accuracy"] < alone["certified_accuracy"]


def test_of_tied_words_the_larger_share_is_what_is_read() -> None:
    tried: dict[str, float] = {}
    for row in rows("trials/scripts"):
        tried[row["trial"]] = max(tried.get(row["trial"], 0.0), 100 * row["certified"])
    base, read, both = (tried[f"tied words, {name}"] for name in ("base as recipes", "full vocab", "full vocab ties"))
    assert read - base > both - read > 1
    settled = tried["tied words, all w100 ties fall2 wd1e-4 mean 400"]
    assert all(share < settled for name, share in tried.items() if name.startswith("tied words, all, 1000 words"))
    assert tried["tied words, beside a bag; stopped"] < tried["beside words, the bag itself"]
    assert f"{tried['beside words a']:.1f}" == f"{tried['beside words b']:.1f}"  # with or without vectors that move


def test_places_gain_in_every_fold() -> None:
    folds = by_trial("trials/linear-films")
    both = zip(folds["words"], folds["words, places"], strict=True)
    assert all(places["proven"] > without["proven"] for without, places in both)


def test_what_is_said_of_options() -> None:
    recipes, search, tied = (on_dev(path) for path in ("recipes", "trials/linear-search", "trials/linear-ties"))
    assert max(recipes, key=lambda label: recipes[label]) == "max-pooling"
    assert len({f"{100 * search[f'rate-{rate}']:.1f}" for rate in ("0.04", "0.08", "0.16")}) == 1
    assert search["decay-4e-5"] > search["ties-30-100-300"]
    for kind in ("words", "codes"):
        assert tied[f"{kind}-rate0.04"] == max(share for label, share in tied.items() if label.startswith(kind))
    vectors = on_dev("trials/linear-vectors")
    assert 0.007 < vectors["words-decay6e-5"] - tied["words-rate0.04"] < 0.01  # almost a point
    assert abs(vectors["codes"] - tied["codes-rate0.04"]) < 0.001


def test_ties_gain_more_the_rarer_substitutes_are() -> None:
    proven = {(row["least"], row["recipe"]): row["dev"]["certified"] for row in rows("trials/linear-frequent")}
    gains = [proven[least, "with ties"] - proven[least, "without"] for least in (100, 50, 10, 0)]
    assert gains == sorted(gains)


def test_one_code_for_all_proves_what_it_gets_right_and_none_beats_the_shipped_codes() -> None:
    found = {str(row["trial"]): row["dev"] for row in rows("trials/grams")}
    assert len(found) == len(rows("trials/grams"))
    one = found["{'resolution': 1e-06}"]
    assert one["certified"] == one["accuracy"]
    assert all(dev["certified"] <= found["{}"]["certified"] + 0.005 for dev in found.values())
