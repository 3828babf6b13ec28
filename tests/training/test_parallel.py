"""Two processes that train one model, as torchrun launches them, against one process with the same batches."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sgbt.errors import SgbtError, TrainingError
from sgbt.models import load_classifier
from sgbt.training.log import read_log
from sgbt.training.parallel import Processes, device_named
from sgbt.training.steps import Examples, Share, steps_of
from tests import small
from tests.training.runner import Options, trained

RUNNER = Path(__file__).parent / "runner.py"
TOLERANCE = 2e-5
"""Sums over a batch are taken in another order; Adam divides by their size, so that rounding grows with the steps."""


def launched(folder: Path, options: Options, *, processes: int = 2) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command += [str(RUNNER), "train", str(folder), options.as_json()]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=300
    )


def assert_close(one: Path, other: Path) -> None:
    first, second = (load_classifier(folder).model.state_dict() for folder in (one, other))
    for name, value in first.items():
        assert torch.allclose(value, second[name], atol=TOLERANCE), name
    rows, others = read_log(one), read_log(other)
    assert len(rows) == len(others)
    for row, same in zip(rows, others, strict=True):
        assert {key: row[key] for key in ("epoch", "step")} == {key: same[key] for key in ("epoch", "step")}
        if "parts" in row:
            assert row["texts"] == same["texts"]
            assert row["parts"] == pytest.approx(same["parts"], abs=1e-4)


@pytest.mark.parametrize(("kind", "objective"), [("cnn", "sgbt"), ("bilstm", "certified")])
def test_two_processes_train_what_one_does_and_resume(kind: str, objective: str, tmp_path: Path) -> None:
    """47 texts in batches of 8: the last batch has 7, which two processes share unevenly."""
    options = Options(model=kind, objective=objective, dropout=0.0, epochs=2, texts=47)
    trained(options, tmp_path / "one")
    told = launched(tmp_path / "two", options)
    assert told.returncode == 0, told.stderr[-3000:]
    first, second = told.stdout.split()[-2:]
    assert first == second  # both processes ended with the same weights, bit for bit
    assert_close(tmp_path / "one", tmp_path / "two")
    rows = read_log(tmp_path / "two")
    assert rows[0]["parts"].get("growth", 0.1) in (pytest.approx(0.1), pytest.approx(0.01))  # counted once
    if kind == "cnn":
        again = launched(tmp_path / "two", options)  # a finished run is not trained again
        assert again.returncode == 0, again.stderr[-3000:]
        assert read_log(tmp_path / "two") == rows


def test_a_run_begun_by_one_process_is_finished_by_two(tmp_path: Path) -> None:
    options = Options(dropout=0.0, epochs=3)
    trained(options, tmp_path / "one")

    class Stopped(Exception):
        pass

    class Stop:
        def epoch(self, number: int, of: int, steps: int) -> None:
            self.now = number

        def step(self, number: int, *_: object) -> None:
            if (self.now, number) == (1, 3):
                raise Stopped

        def scores(self, *_: object) -> None:
            pass

    with pytest.raises(Stopped):
        trained(options, tmp_path / "two", listener=Stop())
    told = launched(tmp_path / "two", options)
    assert told.returncode == 0, told.stderr[-3000:]
    assert_close(tmp_path / "one", tmp_path / "two")


def test_an_error_of_the_first_process_stops_all_of_them(tmp_path: Path) -> None:
    trained(Options(epochs=1), tmp_path / "run")
    told = launched(tmp_path / "run", Options(epochs=2))
    assert told.returncode != 0
    assert told.stderr.count("wanted the checkpoint of this configuration") >= 2


def test_shares_of_a_batch_make_up_the_batch() -> None:
    index = small.index()
    tokens = small.dataset(train=11).train.tokenised()
    rows = tokens.as_ids_of(index.rows_of(tokens.types))
    examples = Examples(rows, small.dataset(train=11).train.labels, len(small.VOCABULARY), index)

    def steps(share: Share, size: int):
        return list(
            steps_of(examples, size=size, device=torch.device("cpu"), substitutes=True, seed=3, share=share, epoch=2)
        )

    for size in (4, 5):
        whole = steps(Share(), size)
        parts = [steps(Share(part, 3), size) for part in range(3)]
        for number, step in enumerate(whole):
            shares = [part[number] for part in parts]
            assert sum(share.weight for share in shares) == pytest.approx(3)
            real = [share for share in shares if share.weight]
            assert sum(len(share.labels) for share in real) == len(step.labels)
            seen = sorted(tuple(row[row > 0].tolist()) for share in real for row in share.ids)
            assert seen == sorted(tuple(row[row > 0].tolist()) for row in step.ids)
            assert all(share.epoch == step.epoch for share in shares)
            for share in shares:
                assert torch.equal(share.choices.original, share.ids)
        assert [len(step.labels) for step in steps(Share(), size)[1:]] == [
            len(step.labels)
            for step in steps_of(
                examples, size=size, device=torch.device("cpu"), substitutes=True, seed=3, skipped=1, epoch=2
            )
        ]


def test_a_share_of_nothing_weighs_nothing() -> None:
    tokens = small.dataset(train=2).train.tokenised()
    rows = tokens.as_ids_of(small.index().rows_of(tokens.types))
    examples = Examples(rows, small.dataset(train=2).train.labels, len(small.VOCABULARY), None)
    (step,) = steps_of(examples, size=2, device=torch.device("cpu"), substitutes=False, seed=0, share=Share(2, 3))
    assert step.weight == 0
    assert len(step.labels) == 1


def test_one_process_alone_does_its_own_work() -> None:
    alone = Processes()
    assert alone.first
    assert alone.told(lambda: 7) == 7
    assert alone.sum(torch.tensor([1.0])).tolist() == [1.0]
    module = torch.nn.Linear(1, 1)
    assert alone.wrapped(module) is module


def test_devices_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_named("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_named("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_named("auto") == torch.device("cuda")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert device_named("cuda") == torch.device("cuda", 1)
    with pytest.raises(TrainingError, match="one of auto, cpu, cuda"):
        device_named("tpu")


def test_an_error_survives_the_way_to_another_process() -> None:
    given = TrainingError(wanted="this", got="that", where="here", remedy="do so")
    found = pickle.loads(pickle.dumps(given))
    assert (type(found), str(found), found.remedy) == (TrainingError, str(given), "do so")
    assert isinstance(found, SgbtError)
