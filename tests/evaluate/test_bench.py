"""Benchmarks: done once, gone on with after any kill, never mixed up, and honest about failures."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluate.grids import TINY, rows_of, tiny

from sgbt.core.errors import EvaluationError, SgbtError
from sgbt.core.shares import Share
from sgbt.evaluate import RunRecord, Store, bench, gather, read_records
from sgbt.evaluate.schedule import BenchListener
from sgbt.evaluate.toy import toy_dataset
from sgbt.evaluate.unit import Unit
from sgbt.models import load_classifier, save_classifier


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SGBT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which the tiny grid was done without interruption."""
    folder = tmp_path_factory.mktemp("finished")
    outcome = bench(tiny(), folder, workers=2)
    assert outcome.failed == {}
    assert len(outcome.units) == 10
    return folder


def test_a_record_has_what_a_published_table_needs(finished: Path) -> None:
    first, second = read_records(finished)
    assert (first.dataset, first.model, first.objective, first.seed) == ("toy", "cnn", "standard", 0)
    assert second.objective == "sgbt"
    assert first.substitutions["name"] == "toy"
    assert len(first.substitutions["hash"]) == 64
    assert first.config["training"]["epochs"] == 2
    for name, total in (("clean", 30), ("certified", 30)):
        assert first.metrics[f"{name}_total"] == total
        assert first.metrics[f"{name}_accuracy"] == first.metrics[f"{name}_count"] / total
    assert set(first.attacks) == {"pwws", "greedy"}
    for figures in first.attacks.values():
        assert figures["robust_total"] == 10
        assert figures["aua_total"] == figures["success_total"] <= 10
        assert figures["aua_count"] + figures["success_count"] == figures["aua_total"]
    assert len(first.curve) == 2
    assert first.command == "sgbt bench tiny.toml --only toy/cnn/standard/0 --out results/tiny"


def test_robust_texts_were_right_and_certified_ones_were_robust(finished: Path) -> None:
    for record in read_records(finished):
        robust, certified = record.share("robust", "pwws"), record.share("certified")
        clean = record.share("clean")
        assert robust and certified and clean  # noqa: PT018
        assert certified.count <= clean.count
        assert record.outcome("certified").sum() == certified.count  # type: ignore[union-attr]


class Started(BenchListener):
    def __init__(self) -> None:
        self.titles: list[str] = []

    def started(self, unit: Unit) -> None:
        self.titles.append(unit.title)


def test_figures_by_class_add_up_to_those_of_all_texts(finished: Path) -> None:
    for record in read_records(finished):
        found = record.by_class
        assert found is not None
        assert [each.name for each in found.classes] == list(toy_dataset("toy").label_names)
        for name, shares in (
            ("clean", [each.recall for each in found.classes]),
            ("certified", [each.certified for each in found.classes]),
        ):
            whole = record.share(name)
            assert whole == Share(sum(share.count for share in shares), sum(share.total for share in shares))


def test_what_is_done_is_not_done_again(finished: Path) -> None:
    before, heard = rows_of(finished), Started()
    records = (finished / "records.jsonl").read_bytes()
    assert bench(tiny(), finished, listener=heard).failed == {}
    assert heard.titles == []
    assert rows_of(finished) == before
    assert (finished / "records.jsonl").read_bytes() == records


def test_records_are_rebuilt_bit_for_bit_from_rows(finished: Path) -> None:
    records = (finished / "records.jsonl").read_bytes()
    (finished / "records.jsonl").unlink()
    gather(Store(finished))
    assert (finished / "records.jsonl").read_bytes() == records


def test_records_and_rows_name_the_trained_model(finished: Path, tmp_path: Path) -> None:
    records = read_records(finished)
    names = {record.model_hash for record in records}
    assert names == {load_classifier(path).identity for path in finished.glob("units/*/model")}
    assert len(names) == len(records)
    subprocess.run(["cp", "-r", f"{finished}/.", str(tmp_path)], check=True)
    key = records[0].units["certify"]
    rows = tmp_path / "units" / key / "rows.jsonl"
    rows.write_text(rows.read_text().replace(records[0].model_hash, records[1].model_hash, 1))
    with pytest.raises(EvaluationError, match="rows about the model with identity"):
        gather(Store(tmp_path))


def test_a_model_that_was_exchanged_is_not_measured(finished: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-r", f"{finished}/.", str(tmp_path)], check=True)
    record = read_records(tmp_path)[0]
    folder = tmp_path / "units" / record.units["train"] / "model"
    own = load_classifier(folder)
    save_classifier(replace(own, label_names=own.label_names[::-1]), folder)
    (tmp_path / "units" / record.units["certify"] / "result.json").unlink()
    outcome = bench(tiny(), tmp_path)
    assert any("the model with identity" in reason for reason in outcome.failed.values())


def test_a_record_of_an_earlier_version_stays_as_it_was_written(finished: Path) -> None:
    line = replace(read_records(finished)[0], model_hash="").to_line()
    assert "model_hash" not in line
    assert RunRecord.from_row(json.loads(line)).to_line() == line


def test_what_was_published_without_its_units_stands_beside_what_is_done_now(finished: Path, tmp_path: Path) -> None:
    for name in ("plan.json", "records.jsonl"):
        (tmp_path / name).write_bytes((finished / name).read_bytes())
    published = read_records(tmp_path / "records.jsonl")
    cell = next(iter(tiny().cells()))
    outcome = bench(tiny(), tmp_path, only=cell.name)
    assert outcome.failed == {}
    records = read_records(tmp_path / "records.jsonl")
    assert [record.units for record in records] == [record.units for record in published]
    again = [record for record in records if record.label == cell.method.label and record.model == cell.model]
    assert len(records) > len(again)
    others = [record for record in records if record not in again]
    assert all(record in published for record in others)
    changed = tiny(TINY.replace("sample = 10", "sample = 9"))
    bench(changed, tmp_path, only=cell.name)  # the plan means other units of this cell now: its old figures go
    totals = {figures["robust_total"] for each in read_records(tmp_path / "records.jsonl")
              if each.units != records[0].units for figures in each.attacks.values()}  # fmt: skip
    assert 9 in totals


def test_a_changed_configuration_reuses_nothing_stale(finished: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-r", f"{finished}/.", str(tmp_path)], check=True)
    heard = Started()
    outcome = bench(tiny(TINY.replace("sample = 10", "sample = 9")), tmp_path, listener=heard, workers=1)
    assert sorted(title.split()[0] for title in heard.titles) == ["attack"] * 4
    assert {figures["robust_total"] for record in outcome.records for figures in record.attacks.values()} == {9}


def test_one_folder_is_worked_in_by_one_benchmark_at_a_time(tmp_path: Path) -> None:
    with Store(tmp_path).driven(), pytest.raises(EvaluationError, match="no other benchmark"):
        bench(tiny(), tmp_path)


def test_a_failure_is_written_down_and_stops_only_what_needs_it(tmp_path: Path, finished: Path) -> None:
    # a learning rate of 1e30 makes the first method's loss infinite; the second one trains
    broken = TINY.replace('objective = "standard"', 'objective = "standard"\ntraining = { learning_rate = 1e30 }')
    outcome = bench(tiny(broken), tmp_path, workers=2)
    assert len(outcome.failed) == 5
    assert "a finite loss" in outcome.failed["train toy/cnn/standard/0"]
    assert "could not be trained" in outcome.failed["predict toy/cnn/standard/0"]
    assert [record.label for record in outcome.records] == ["sgbt"]
    errors = [json.loads(path.read_text())["error"] for path in tmp_path.glob("units/*/error.json")]
    assert len(errors) == 5
    again = bench(tiny(broken), tmp_path, workers=2)  # a failure is tried again, and what is done is kept
    assert len(again.failed) == 5
    theirs, ours = rows_of(finished), rows_of(tmp_path)
    assert all(theirs[name] == ours[name] for name in ours if name in theirs)


def test_a_worker_that_dies_loses_nothing(tmp_path: Path, finished: Path) -> None:
    class Killer(BenchListener):
        """Kills the worker of the first unit that it hears of."""

        killed = 0

        def started(self, unit: Unit) -> None:
            if not self.killed:
                time.sleep(0.5)
                self.killed = _children(os.getpid())[0]
                os.kill(self.killed, signal.SIGKILL)

    killer = Killer()
    assert bench(tiny(), tmp_path, workers=1, listener=killer).failed == {}
    assert killer.killed
    assert rows_of(tmp_path) == rows_of(finished)


def test_rows_that_are_missing_are_noticed(finished: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-r", f"{finished}/.", str(tmp_path)], check=True)
    rows = next(path for path in tmp_path.glob("units/*/rows.jsonl") if "swaps" in path.read_text())
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(EvaluationError, match="one row for each of 10 texts"):
        gather(Store(tmp_path))


def test_a_certified_text_that_an_attack_broke_stops_everything(finished: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-r", f"{finished}/.", str(tmp_path)], check=True)
    for path in tmp_path.glob("units/*/rows.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        if "verdict" in rows[0]:
            for row in rows:
                if row["verdict"] == "abstained":
                    row |= {"verdict": "certified", "margin": 1.0, "tier": "ibp"}
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(SgbtError, match="as certified by ibp"):
        gather(Store(tmp_path))


RUN = """
import sys
from tests.evaluate.grids import tiny
from sgbt.evaluate import bench
sys.exit(len(bench(tiny(), sys.argv[1], workers=2).failed))
"""


def killed_at_random(folder: Path, *, kills: int, seed: int, least: float, most: float) -> int:
    """Start the benchmark and kill it, workers and all, `kills` times; then let it finish. How often a kill met it."""
    chance, met = random.Random(seed), 0
    for attempt in range(kills + 1):
        process = subprocess.Popen([sys.executable, "-c", RUN, str(folder)])
        if attempt == kills:
            assert process.wait() == 0
            break
        time.sleep(chance.uniform(least, most))
        victims: Sequence[int] = [process.pid]
        if chance.random() < 0.5:  # a worker first: it may die alone, or a moment before its benchmark
            victims = [*chance.sample(_children(process.pid), k=min(1, len(_children(process.pid)))), process.pid]
        for victim in victims:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
            met += 1
        process.wait()
    return met


def test_killed_at_random_points_it_ends_with_the_same_rows(finished: Path, tmp_path: Path) -> None:
    assert killed_at_random(tmp_path, kills=3, seed=1, least=2.5, most=7.0)
    assert rows_of(tmp_path) == rows_of(finished)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_killed_often_it_ends_with_the_same_rows(finished: Path, tmp_path: Path, seed: int) -> None:
    killed_at_random(tmp_path, kills=12, seed=100 + seed, least=0.5, most=8.0)
    assert rows_of(tmp_path) == rows_of(finished)


def test_the_workers_die_with_their_benchmark(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path)])
    deadline = time.monotonic() + 60
    while not (workers := _children(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert workers
    while any(_alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(worker) for worker in workers)


def _children(parent: int) -> list[int]:
    try:
        listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [int(each) for each in listed if b"sgbt.evaluate.worker" in _command(each)]


def _command(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
