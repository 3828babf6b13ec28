"""What can go wrong while training: one sentence each, and nothing finished is lost."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
from pathlib import Path

import pytest
import safetensors
import torch
from tests import small
from tests.training.quick import assert_same, run
from tests.training.runner import Options, trained

from sgbt.core import files
from sgbt.core.errors import SgbtError, TrainingError
from sgbt.models import BiLSTM, TextCNN
from sgbt.threats import Vocabulary
from sgbt.training import SGBT, Standard
from sgbt.training.loop.checkpoint import FILE, load_checkpoint
from sgbt.training.loop.log import read_log
from sgbt.training.loop.steps import Step
from sgbt.training.objectives.objective import Parts, Reference


@dataclasses.dataclass(frozen=True)
class Breaking(Standard):
    """Standard training with a part that breaks in the fifth step."""

    gradient_only: bool = False

    def parts(self, model, step: Step, reference: Reference) -> Parts:
        parts = super().parts(model, step, reference)
        late = step.epoch > 0.6
        weight = model.head.weight.sum()
        zero = (weight - weight.detach()).abs().sqrt() if self.gradient_only else weight * math.inf
        return parts | {"odd": zero if late else weight * 0}


@pytest.mark.parametrize("gradient_only", [False, True])
def test_a_loss_that_is_not_finite_stops_names_the_part_and_keeps_the_last_good_weights(
    gradient_only: bool, tmp_path: Path
) -> None:
    objective = Breaking(gradient_only=gradient_only)
    for _ in range(2):  # the same command meets the same fault
        with pytest.raises(TrainingError, match="in the part odd in epoch 1, step 5") as caught:
            run(objective, out=tmp_path / "run")
        assert "last good weights are kept" in str(caught.value)
    assert not (tmp_path / "run" / "config.json").exists()
    assert [row["step"] for row in read_log(tmp_path / "run")] == [0, 1, 2, 3]
    model = TextCNN(small.vectors())
    model.embedding.adopt(Vocabulary(small.WORDS))
    optimiser = torch.optim.Adam([value for value in model.parameters() if value.requires_grad])
    with safetensors.safe_open(tmp_path / "run" / FILE, framework="pt") as stream:
        settings = json.loads(stream.metadata()["progress"])["settings"]
    progress, _ = load_checkpoint(tmp_path / "run", settings, model, optimiser)
    assert (progress.epoch, progress.step) == (0, 4)
    assert all(value.isfinite().all() for value in model.parameters())


@pytest.mark.parametrize("what", ["write", "fsync", "log"])
def test_a_full_disk_is_one_sentence_and_the_earlier_checkpoint_goes_on(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = Options(epochs=3)
    whole = trained(options, tmp_path / "whole")
    left = [7]

    def full(real):
        def counted(*given, **named):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*given, **named)

        return counted

    with monkeypatch.context() as patched:
        if what == "fsync":
            patched.setattr(files.os, "fsync", full(os.fsync))
        elif what == "write":
            real = os.fdopen

            def opened(*given, **named):
                stream = real(*given, **named)
                writing = full(stream.write)

                class Stream:
                    def __enter__(self):
                        return self

                    def __exit__(self, *_):
                        stream.close()

                    def write(self, data):
                        return writing(data)

                    def __getattr__(self, name):
                        return getattr(stream, name)

                return Stream()

            patched.setattr(files.os, "fdopen", opened)
        else:
            patched.setattr(Path, "open", full(Path.open))
        with pytest.raises(SgbtError, match="no space left on device") as caught:
            trained(options, tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "run").glob(".partial*"))
    assert trained(options, tmp_path / "run").log.rows == whole.log.rows
    assert_same(tmp_path / "whole", tmp_path / "run")


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(SgbtError, match="expected to write"):
        run(out=tmp_path / "file" / "run")
    with pytest.raises(SgbtError, match="expected to write"):
        run(out=tmp_path / "file")


def test_another_configuration_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    run(out=tmp_path / "run")
    others = [
        lambda: run(SGBT(), out=tmp_path / "run"),
        lambda: run(out=tmp_path / "run", seed=1),
        lambda: run(out=tmp_path / "run", epochs=3),
        lambda: run(out=tmp_path / "run", data=small.dataset(seed=1)),
        lambda: run(out=tmp_path / "run", model=BiLSTM(small.vectors())),
        lambda: run(out=tmp_path / "run", model=TextCNN(small.vectors(), filters=7)),
        lambda: run(out=tmp_path / "run", model=TextCNN(small.vectors(seed=1))),  # same words, other vectors
    ]
    for other in others:
        with pytest.raises(TrainingError, match=r"checkpoint of this configuration.*choose another --out"):
            other()
    run(out=tmp_path / "run", data=small.dataset(name="the same texts from elsewhere"), checkpoint_seconds=3.0)


@pytest.mark.parametrize("content", [b"", b"rubbish", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ", None])
def test_a_damaged_checkpoint_is_one_sentence(content: bytes | None, tmp_path: Path) -> None:
    run(out=tmp_path / "run")
    path = tmp_path / "run" / FILE
    path.write_bytes(path.read_bytes()[:-9] if content is None else content)
    with pytest.raises(TrainingError, match=r"a checkpoint that sgbt wrote.*delete it to start anew") as caught:
        run(out=tmp_path / "run")
    assert "\n" not in str(caught.value)


def test_a_log_whose_last_line_was_cut_short(tmp_path: Path) -> None:
    options = Options(epochs=2)
    whole = trained(options, tmp_path / "run")
    log = tmp_path / "run" / "log.jsonl"
    log.write_text(log.read_text() + '{"epoch": 9, "st')
    assert read_log(tmp_path / "run") == whole.log.rows
    assert trained(options, tmp_path / "run").log.rows == whole.log.rows
    assert read_log(tmp_path / "run") == whole.log.rows
