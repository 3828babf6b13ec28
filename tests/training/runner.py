"""A training run in a process of its own: to be killed, to be launched twice, or to be launched by torchrun.

    python runner.py train FOLDER OPTIONS      train, and print the hash of the weights
    python runner.py kill FOLDER OPTIONS       train in children that are killed at random moments until one finishes
    python runner.py several FOLDER OPTIONS    train one run after the other, in folders 0, 1, ..., and print each hash
                                               or the error

OPTIONS is a JSON object, or a list of them for `several`; see `Options`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    os.environ["OMP_NUM_THREADS"] = "1"

import torch
from tests import small

from sgbt.core.errors import SgbtError
from sgbt.models import BiLSTM, TextCNN, weights_hash
from sgbt.training import Run, TrainingConfig, method_of, train

TIED = {"initialiser": "scaled_cluster_means"}


@dataclass(frozen=True)
class Options:
    """What to train, and how often to kill it."""

    model: str = "cnn"
    objective: str = "standard"
    dropout: float = 0.5
    tied_words: tuple[float, ...] = ()
    learning_rate_decay: float = 0.0
    epochs: int = 4
    batch_size: int = 8
    checkpoint_seconds: float = 0.0
    texts: int = 48
    kills: int = 5
    seed: int = 0

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def trained(options: Options, folder: Path | None, listener: object = None) -> Run:
    model = {"cnn": TextCNN, "bilstm": BiLSTM}[options.model](
        small.vectors(), dropout=options.dropout, trainable_embedding=bool(options.tied_words)
    )
    config = TrainingConfig(
        epochs=options.epochs,
        batch_size=options.batch_size,
        learning_rate=0.01,
        learning_rate_decay=options.learning_rate_decay,
        max_length=16,
        minimum_count=1,
        patience=99,
        checkpoint_seconds=options.checkpoint_seconds,
    )
    return train(
        model,
        small.dataset(train=options.texts),
        objective=method_of(options.objective, TIED | {"tied_words": options.tied_words} if options.tied_words else {}),
        substitutions=small.TABLE,
        config=config,
        out=folder,
        seed=options.seed,
        listener=listener,
        device="cpu",
    )


def kill_until_done(options: Options, folder: Path) -> int:
    """Train in children that are killed after random times, mid-step, mid-write or between epochs; count the kills."""
    chance, killed = random.Random(options.seed), 0
    while True:
        child = os.fork()
        if not child:
            trained(options, folder)
            os._exit(0)
        if killed < options.kills:
            time.sleep(chance.uniform(0.0, 0.35))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            return killed
        killed += 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    what, out, given = sys.argv[1:]
    where, listed = Path(out), json.loads(given)
    if what == "kill":
        print("killed", kill_until_done(Options(**listed), where))
    elif what == "train":
        print(weights_hash(trained(Options(**listed), where).model.model))
    for number, each in enumerate(listed if what == "several" else ()):
        try:
            answer = weights_hash(trained(Options(**each), where / str(number)).model.model)
        except SgbtError as problem:
            answer = str(problem)
        line = json.dumps([number, os.environ.get("RANK"), answer]) + "\n"
        os.write(1, line.encode())  # in one piece, because two processes write to one pipe
    if what == "several":  # all is printed; torch's threads may abort a process that tears them down at its end
        os._exit(0)
