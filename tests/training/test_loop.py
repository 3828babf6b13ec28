"""The loop: the same seed gives the same weights, the best ones are kept, and nothing bad goes unsaid."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests import small
from tests.training.quick import assert_same, rows_of, run
from tests.training.runner import Options, trained

from sgbt.models import TextCNN, weights_hash
from sgbt.training import IBP, SEM, Standard
from sgbt.training.loop import trainer as loop
from sgbt.training.loop.trainer import Trainer

RUNNER = Path(__file__).parent / "runner.py"


def in_process(what: str, folder: Path, options: Options) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(RUNNER), what, str(folder), options.as_json()]
    told = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=570)
    assert told.returncode == 0, told.stderr[-2000:]
    return told.stdout.strip().splitlines()[-1]


# The same seed


@pytest.mark.parametrize(("kind", "objective"), [("cnn", "sgbt"), ("bilstm", "ascc")])
def test_the_same_seed_gives_the_same_weights_here_and_in_another_process(
    kind: str, objective: str, tmp_path: Path
) -> None:
    options = Options(model=kind, objective=objective, epochs=2)
    first, second = (weights_hash(trained(options, None).model.model) for _ in range(2))
    other = weights_hash(trained(dataclasses.replace(options, seed=1), None).model.model)
    assert first == second != other
    assert in_process("train", tmp_path / "run", options) == first


def test_the_model_that_is_given_stays_as_it_is_and_runs_share_nothing() -> None:
    model = TextCNN(small.vectors())
    before = weights_hash(model)
    first = run(SEM(), model=model)
    kept = weights_hash(first.model.model)
    second = run(Standard(), model=model)
    assert weights_hash(model) == before
    assert weights_hash(first.model.model) == kept
    assert second.model.model.embedding.codes is None


def test_training_leaves_the_global_generator_alone() -> None:
    model = TextCNN(small.vectors())
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    run(model=model)
    assert torch.equal(torch.rand(3), expected)


# Kills


@pytest.mark.parametrize(
    "options",
    [
        Options(model="cnn", objective="sgbt", kills=6),
        Options(model="bilstm", objective="ibp", kills=4),
        Options(model="cnn", objective="atfl", checkpoint_seconds=1e9, kills=4),
        Options(model="cnn", objective="certified", tied_words=(1.0, 3.0), learning_rate_decay=2.0, kills=4),
    ],
    ids=lambda options: f"{options.model}-{options.objective}",
)
def test_a_run_killed_at_random_moments_ends_as_if_nothing_had_happened(options: Options, tmp_path: Path) -> None:
    whole = trained(options, tmp_path / "whole")
    in_process("kill", tmp_path / "killed", options)
    assert_same(tmp_path / "whole", tmp_path / "killed")
    assert whole.log.rows == rows_of(tmp_path / "killed")


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_a_hundred_kills(seed: int, tmp_path: Path) -> None:
    options = Options(
        model=("cnn", "bilstm")[seed % 2],
        objective=("certified", "ascc", "sgbt", "sem")[seed],
        checkpoint_seconds=(0.0, 0.05)[seed // 2],
        epochs=40,
        texts=96,
        kills=25,
        seed=seed,
    )
    trained(options, tmp_path / "whole")
    in_process("kill", tmp_path / "killed", options)
    assert_same(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_kill_while_a_checkpoint_is_written(moment: str, tmp_path: Path) -> None:
    """The same through every write in turn: an exception that nobody catches stands for the kill."""
    options = Options(epochs=2, texts=24)
    whole = trained(options, tmp_path / "whole")

    class KilledError(BaseException):
        pass

    real = getattr(os if moment == "fsync" else Path, moment)
    for stop in range(40):
        left = [stop]

        def counted(*given: object, real=real, left=left) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise KilledError
            return real(*given)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os if moment == "fsync" else Path, moment, counted)
            try:
                trained(options, tmp_path / "killed")
                break
            except KilledError:
                pass
    else:
        pytest.fail("never finished")
    assert stop > 1
    assert_same(tmp_path / "whole", tmp_path / "killed")
    assert whole.log.rows == rows_of(tmp_path / "killed")


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first = run(out=tmp_path / "run")
    told: list[int] = []

    class Heard:
        def epoch(self, number: int, of: int, steps: int) -> None:
            told.append(number)

        step = scores = epoch

    second = run(out=tmp_path / "run", listener=Heard())
    assert told == []
    assert second.log.rows == first.log.rows
    assert second.dev == first.dev
    assert weights_hash(second.model.model) == weights_hash(first.model.model)


# Choosing


def scripted(monkeypatch: pytest.MonkeyPatch, scores: list[float]) -> None:
    given = iter(scores)
    monkeypatch.setattr(Trainer, "scores", lambda self: {"accuracy": 0.0, "score": next(given)})


def test_the_best_epoch_is_restored_and_training_stops_when_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [0.5, 0.9, 0.8, 0.9, 0.7, 0.6, 1.0])
    stopped = run(epochs=20, patience=3)
    assert [row["best"] for row in stopped.log.rows if "dev" in row] == [True, True, False, False, False]
    scripted(monkeypatch, [0.5, 0.9])
    two = run(epochs=2)
    assert weights_hash(stopped.model.model) == weights_hash(two.model.model)
    assert stopped.dev["score"] == 0.9


def test_best_weights_are_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, torch.Tensor]] = []
    real = loop.trained_tensors

    def kept(model: torch.nn.Module) -> dict[str, torch.Tensor]:
        found = real(model)
        seen.append(found)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.add_(1000.0)  # whoever aliases the weights now holds these
        return found

    scripted(monkeypatch, [0.9, 0.1])
    monkeypatch.setattr(loop, "trained_tensors", kept)
    found = run(epochs=2).model.model.state_dict()
    for name, value in seen[1].items():
        assert torch.equal(found[name], value)


def test_a_schedule_longer_than_the_run_still_ends_with_trained_weights() -> None:
    found = run(IBP(ramp_epochs=30.0), epochs=2)
    assert found.dev
    assert [row["best"] for row in found.log.rows if "dev" in row] == [False, True]
    untrained = run(IBP(ramp_epochs=30.0), epochs=1)
    assert weights_hash(found.model.model) != weights_hash(untrained.model.model)


def test_without_dev_texts_the_last_epoch_is_kept() -> None:
    data = small.dataset(dev=0)
    long, short = (run(data=data, epochs=epochs, patience=1) for epochs in (4, 1))
    assert len([row for row in long.log.rows if "dev" in row]) == 4
    assert long.dev == {}
    assert weights_hash(long.model.model) != weights_hash(short.model.model)


def test_the_rate_falls_to_zero_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    real = torch.optim.Adam.step

    def noted(self: torch.optim.Adam, *given: object) -> object:
        rates.extend(group["lr"] for group in self.param_groups)
        return real(self, *given)

    monkeypatch.setattr(torch.optim.Adam, "step", noted)
    run(learning_rate_decay=2.0)
    steps = len(rates)
    assert rates == pytest.approx([small.QUICK.learning_rate * (1 - step / steps) ** 2 for step in range(steps)])
    rates.clear()
    run()
    assert set(rates) == {small.QUICK.learning_rate}


def test_gradients_are_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = torch.optim.Adam.step

    def watched(self, *given):
        norms = [p.grad.norm() for group in self.param_groups for p in group["params"] if p.grad is not None]
        seen.append(float(torch.stack(norms).norm()))
        return real(self, *given)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    run(clip=1e-3, epochs=1)
    assert 0 < max(seen) <= 1.001e-3


def test_accuracy_and_texts_of_the_log_are_those_of_the_batches() -> None:
    found = run(epochs=1, batch_size=7)
    steps = [row for row in found.log.rows if "parts" in row]
    assert sum(row["texts"] for row in steps) == 48
    assert [row["step"] for row in steps] == list(range(7))
    assert all(0 <= row["accuracy"] <= 1 for row in steps)


def test_what_is_learnt_is_learnt() -> None:
    model = TextCNN(small.vectors(), dropout=0.0, kernel_sizes=(1,))
    assert run(epochs=10, model=model, data=small.dataset(train=200)).dev["accuracy"] > 0.9
