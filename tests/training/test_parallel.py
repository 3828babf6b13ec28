"""Two processes that train one model, as torchrun launches them, against one process with the same batches."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
import torch
from tests import small
from tests.training.runner import Options, trained

from sgbt.core.errors import SgbtError, TrainingError
from sgbt.models import load_classifier, weights_hash
from sgbt.training.loop.log import read_log
from sgbt.training.loop.parallel import Processes, device_named
from sgbt.training.loop.steps import Examples, ProcessShare, steps_of

RUNNER = Path(__file__).parent / "runner.py"
TOLERANCE = 2e-5
"""Sums over a batch are taken in another order; Adam divides by their size, so that rounding grows with the steps."""


RUNS = [
    Options(model="cnn", objective="sgbt", dropout=0.0, epochs=2, texts=47),
    Options(model="bilstm", objective="certified", dropout=0.0, epochs=2, texts=47),
    Options(dropout=0.0, epochs=3),
    Options(dropout=0.5, objective="ascc", epochs=2),
    Options(epochs=2),
    Options(model="cnn", objective="sgbt", dropout=0.0, epochs=2, texts=47),
    Options(
        model="cnn", objective="certified", tied_words=(1.0,), learning_rate_decay=2.0, dropout=0.0, epochs=2, texts=47
    ),
]
"""Two plain ones whose last batch (7 of 47 texts) is shared unevenly; one that a single process has begun; one in which
every process draws its own randomness; one in a folder of another configuration; one that is finished already; one
whose words are tied."""


@dataclass(frozen=True)
class Launched:
    """What two processes printed, run by run, and where they wrote."""

    folder: Path
    answers: dict[int, list[str]]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Launched:
    """All of `RUNS`, one after the other, in two processes that torchrun launched once."""
    folder = tmp_path_factory.mktemp("two")
    begin_and_stop(RUNS[2], folder / "2")
    trained(Options(epochs=1), folder / "4")
    trained(RUNS[5], folder / "5")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += [str(RUNNER), "several", str(folder), json.dumps([asdict(each) for each in RUNS])]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "SGBT_CACHE": str(folder / "cache")}
    told = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert told.returncode == 0, told.stderr[-3000:]
    answers: dict[int, list[str]] = {}
    for line in told.stdout.splitlines():
        number, _, answer = json.loads(line)
        answers.setdefault(number, []).append(answer)
    return Launched(folder, answers)


def begin_and_stop(options: Options, folder: Path) -> None:
    """A run of one process that ends in the middle of its second epoch."""

    class StoppedError(Exception):
        pass

    class Stop:
        def epoch(self, number: int, of: int, steps: int) -> None:
            self.now = number

        def step(self, number: int, *_: object) -> None:
            if (self.now, number) == (1, 3):
                raise StoppedError

        def scores(self, *_: object) -> None:
            pass

    with pytest.raises(StoppedError):
        trained(options, folder, listener=Stop())


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


@pytest.mark.parametrize("number", [0, 1])
def test_two_processes_train_what_one_does(two: Launched, number: int, tmp_path: Path) -> None:
    trained(RUNS[number], tmp_path / "one")
    first, second = two.answers[number]
    assert first == second  # both processes end with the same weights, bit for bit
    assert_close(tmp_path / "one", two.folder / str(number))
    start = read_log(two.folder / str(number))[0]["parts"]
    assert start["growth"] == pytest.approx((0.1, 0.01)[number])  # counted once


def test_two_processes_agree_on_words_that_are_tied(two: Launched, tmp_path: Path) -> None:
    """Substitutes start at one point, so that rounding decides which of them is the worst: weights are not compared.

    Nor is the part compactness, a mean over distinct sets, of which each process has its own.
    """
    trained(RUNS[6], tmp_path / "one")
    first, second = two.answers[6]
    assert first == second
    one, other = (read_log(folder) for folder in (tmp_path / "one", two.folder / "6"))
    for part in ("cross_entropy", "growth", "curvature"):
        assert one[0]["parts"][part] == pytest.approx(other[0]["parts"][part], abs=1e-5)
        assert one[-2]["parts"][part] == pytest.approx(other[-2]["parts"][part], abs=0.02)


def test_a_run_begun_by_one_process_is_finished_by_two(two: Launched, tmp_path: Path) -> None:
    trained(RUNS[2], tmp_path / "one")
    assert len(set(two.answers[2])) == 1
    assert_close(tmp_path / "one", two.folder / "2")


def test_processes_that_draw_their_own_randomness_still_agree(two: Launched) -> None:
    first, second = two.answers[3]
    assert first == second


def test_an_error_of_the_first_process_is_raised_by_all_of_them(two: Launched) -> None:
    for answer in two.answers[4]:
        assert "expected the checkpoint of this configuration" in answer


def test_a_finished_run_is_not_trained_again(two: Launched, tmp_path: Path) -> None:
    again = trained(RUNS[5], tmp_path / "one")
    assert two.answers[5] == [weights_hash(again.model.model)] * 2
    assert read_log(two.folder / "5") == again.log.rows


def test_shares_of_a_batch_make_up_the_batch() -> None:
    index = small.index()
    tokens = small.dataset(train=11).train.tokenised()
    rows = tokens.as_ids_of(index.rows_of(tokens.types))
    examples = Examples(rows, small.dataset(train=11).train.labels, len(small.VOCABULARY), index)

    def steps(share: ProcessShare, size: int):
        return list(
            steps_of(examples, size=size, device=torch.device("cpu"), substitutes=True, seed=3, share=share, epoch=2)
        )

    for size in (4, 5):
        whole = steps(ProcessShare(), size)
        parts = [steps(ProcessShare(part, 3), size) for part in range(3)]
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
        assert [len(step.labels) for step in steps(ProcessShare(), size)[1:]] == [
            len(step.labels)
            for step in steps_of(
                examples, size=size, device=torch.device("cpu"), substitutes=True, seed=3, skipped=1, epoch=2
            )
        ]


def test_a_share_of_nothing_weighs_nothing() -> None:
    tokens = small.dataset(train=2).train.tokenised()
    rows = tokens.as_ids_of(small.index().rows_of(tokens.types))
    examples = Examples(rows, small.dataset(train=2).train.labels, len(small.VOCABULARY), None)
    (step,) = steps_of(
        examples, size=2, device=torch.device("cpu"), substitutes=False, seed=0, share=ProcessShare(2, 3)
    )
    assert step.weight == 0
    assert len(step.labels) == 1


def test_one_process_alone_does_its_own_work() -> None:
    alone = Processes()
    assert alone.first
    assert alone.from_first(lambda: 7) == 7
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
    given = TrainingError(expected="this", got="that", where="here", remedy="do so")
    found = pickle.loads(pickle.dumps(given))
    assert (type(found), str(found), found.remedy) == (TrainingError, str(given), "do so")
    assert isinstance(found, SgbtError)
