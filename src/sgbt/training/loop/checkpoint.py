"""Everything a run needs to go on exactly where it stood, written so that a kill at any moment loses little.

A checkpoint is one safetensors file: weights, the best weights so far, and the optimiser's state by name, with the
counters as JSON in its header. It replaces its predecessor by renaming, so there is always one whole checkpoint.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from sgbt.core.documents import json_object
from sgbt.core.errors import TrainingError
from sgbt.core.fields import refuse_odd_fields
from sgbt.core.files import atomic_write

FILE = "checkpoint.safetensors"


@dataclass(slots=True)
class TrainingState:
    """Where a run stands. Epochs count from zero; `step` batches of the running epoch are done."""

    settings: str
    epoch: int = 0
    step: int = 0
    best_score: float = -1.0
    best_epoch: int = -1
    reference: dict[str, float] = field(default_factory=dict)
    finished: bool = False


def save_checkpoint(
    folder: Path, progress: TrainingState, model: nn.Module, optimiser: torch.optim.Optimizer, best: dict[str, Tensor]
) -> None:
    """Write the state of the run; the earlier checkpoint stays until the new one is whole."""
    tensors = {f"model/{name}": value for name, value in trained_tensors(model).items()}
    tensors |= {f"best/{name}": value for name, value in best.items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser/{number}/{name}": torch.as_tensor(value) for name, value in state.items()}
    tensors = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    with atomic_write(folder / FILE) as stream:
        stream.write(safetensors.torch.save(tensors, metadata={"progress": json.dumps(asdict(progress))}))


def load_checkpoint(
    folder: Path, settings: str, model: nn.Module, optimiser: torch.optim.Optimizer
) -> tuple[TrainingState, dict[str, Tensor]] | None:
    """Restore the run that was left in `folder`; None when there is none.

    A checkpoint of another configuration is never continued silently: that is an error that says what to do.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        with safetensors.safe_open(path, framework="pt") as stream:
            stored = json_object(stream.metadata()["progress"], kind=TrainingError, where=str(path), finite=False)
            refuse_odd_fields(TrainingState, stored, kind=TrainingError, where=str(path))
            progress = TrainingState(**stored)
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimiser": {}}
        for name, tensor in tensors.items():
            kind, rest = name.split("/", 1)
            parts[kind][rest] = tensor
    except (safetensors.SafetensorError, TrainingError, OSError, KeyError, TypeError, ValueError) as problem:
        raise TrainingError(
            expected="a checkpoint that sgbt wrote",
            got=f"a damaged one ({problem})",
            where=str(path),
            remedy="delete it to start anew",
        ) from problem
    if progress.settings != settings:
        raise TrainingError(
            expected="the checkpoint of this configuration",
            got="one of another model, dataset, objective, seed or setting",
            where=str(path),
            remedy="choose another --out, or delete that folder",
        )
    model.load_state_dict(parts["model"], strict=False)  # frozen weights are not in a checkpoint
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in parts["optimiser"].items():
        number, key = name.split("/", 1)
        state.setdefault(int(number), {})[key] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    return progress, parts["best"]


def trained_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Copies of the weights that training changes; frozen ones are where they came from."""
    return {name: value.detach().clone() for name, value in model.named_parameters() if value.requires_grad}
