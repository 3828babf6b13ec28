"""The loop: the same seed gives the same weights, the best ones are kept, and nothing bad goes unsaid."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors
import torch
from tests import small
from tests.training.runner import Options, trained

from sgbt import files
from sgbt.data import Split, TextDataset
from sgbt.embeddings import EmbeddingTable
from sgbt.errors import SgbtError, TrainingError
from sgbt.lexicon import Vocabulary
from sgbt.models import BiLSTM, TextCNN, WordEmbedding, load_classifier, weights_hash
from sgbt.training import IBP, SEM, SGBT, Objective, Standard, TrainingConfig, loop, train
from sgbt.training.checkpoint import FILE, load_checkpoint
from sgbt.training.log import read_log
from sgbt.training.loop import Trainer
from sgbt.training.objective import Parts, Reference, Step

RUNNER = Path(__file__).parent / "runner.py"


def in_process(what: str, folder: Path, options: Options) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(RUNNER), what, str(folder), options.as_json()]
    told = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=570)
    assert told.returncode == 0, told.stderr[-2000:]
    return told.stdout.strip().splitlines()[-1]


def run(objective: Objective | None = None, *, out: Path | None = None, data: TextDataset | None = None, **options):
    settings = {key: options.pop(key) for key in list(options) if key in TrainingConfig.__dataclass_fields__}
    return train(
        options.pop("model", None) or TextCNN(small.vectors()),
        data or small.dataset(),
        objective=objective,
        substitutions=small.TABLE,
        config=dataclasses.replace(small.QUICK, **settings),
        out=out,
        **options,
    )


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


def rows_of(folder: Path) -> list[dict]:
    return read_log(folder)


@pytest.mark.parametrize(
    ("kind", "objective", "seconds", "kills"),
    [("cnn", "sgbt", 0.0, 6), ("bilstm", "ibp", 0.0, 4), ("cnn", "atfl", 1e9, 4)],
)
def test_a_run_killed_at_random_moments_ends_as_if_nothing_had_happened(
    kind: str, objective: str, seconds: float, kills: int, tmp_path: Path
) -> None:
    options = Options(model=kind, objective=objective, checkpoint_seconds=seconds, kills=kills)
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


def assert_same(whole: Path, other: Path) -> None:
    assert weights_hash(load_classifier(whole).model) == weights_hash(load_classifier(other).model)
    assert rows_of(whole) == rows_of(other)
    places = [(row["epoch"], row["step"]) for row in rows_of(other)]
    assert places == sorted(set(places))


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
    assert run(epochs=40, patience=40, model=TextCNN(small.vectors(), dropout=0.0)).dev["accuracy"] > 0.9


# What can go wrong


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
    with pytest.raises(SgbtError, match="wanted to write"):
        run(out=tmp_path / "file" / "run")
    with pytest.raises(SgbtError, match="wanted to write"):
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


# What train itself checks


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(TrainingError, match="a substitution table for the objective ibp"):
        train(TextCNN(small.vectors()), small.dataset(), objective=IBP(), config=small.QUICK)
    with pytest.raises(TrainingError, match="a model with 2 classes, got 5"):
        run(model=TextCNN(small.vectors(), classes=5))
    with pytest.raises(TrainingError, match="a seed of at least 0"):
        run(seed=-1)
    bare = TextCNN(WordEmbedding(small.matrix(4)))
    with pytest.raises(TrainingError, match="pass vocabulary="):
        run(model=bare)
    with pytest.raises(TrainingError, match="a vocabulary of 4 ids"):
        run(model=bare, vocabulary=small.VOCABULARY)
    with pytest.raises(TrainingError, match="device"):
        run(device="abacus")
    if not torch.cuda.is_available():
        with pytest.raises(TrainingError, match="a GPU that torch can use"):
            run(device="cuda")


def test_a_vocabulary_may_be_given_with_a_table_of_vectors_or_with_a_matrix() -> None:
    vocabulary = Vocabulary(small.WORDS[:5])
    assert run(vocabulary=vocabulary).model.vocabulary == vocabulary
    own = TextCNN(WordEmbedding(small.matrix(len(small.VOCABULARY))))
    assert run(model=own, vocabulary=small.VOCABULARY).model.vocabulary == small.VOCABULARY


def test_a_rare_word_without_a_vector_is_read_as_unknown() -> None:
    words = EmbeddingTable(small.WORDS[:12], np.ones((12, 3), dtype=np.float32), "few")
    data = small.dataset()
    counts = data.train.tokenised().counts()
    found = run(model=TextCNN(words), rare=counts["actor"] + 1).model.vocabulary
    assert "actor" not in found
    assert "actor" in run(model=TextCNN(words), rare=counts["actor"]).model.vocabulary


def test_ten_classes_and_labels_by_name() -> None:
    random = np.random.default_rng(0)
    names = tuple(f"class {number}" for number in range(10))

    def split(name: str, count: int) -> Split:
        labels = random.integers(0, 10, count)
        return Split(name, tuple(small.WORDS[label] for label in labels), labels)

    data = TextDataset("ten", names, split("train", 100), split("dev", 30), split("test", 10))
    found = run(model=TextCNN(small.vectors(), classes=10, dropout=0.0), data=data, epochs=30)
    assert found.dev["accuracy"] > 0.9
    assert found.model.predict([small.WORDS[3]]).labels == ("class 3",)
