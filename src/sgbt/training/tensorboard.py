"""A listener that writes loss parts and dev scores for TensorBoard, where that is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sgbt.core.errors import TrainingError


class TensorBoardListener:
    """Scalars `loss/<part>`, `train/accuracy` and `dev/<score>` by step, in the folder's `tensorboard` folder.

    A resumed run tells TensorBoard to drop what the interrupted one wrote beyond the checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as problem:
            raise TrainingError(
                expected="the package tensorboard",
                got="none installed",
                where="--tensorboard",
                remedy="install it (pip install tensorboard), or leave that option out: log.jsonl has the same figures",
            ) from problem
        self._make, self._folder = SummaryWriter, folder / "tensorboard"
        self._writer: Any = None
        self._before = self._steps = 0

    def epoch(self, number: int, of: int, steps: int) -> None:
        """An epoch begins."""
        self._before, self._steps = number * steps, steps

    def step(self, number: int, parts: dict[str, float], accuracy: float, examples: int) -> None:
        """A step was taken."""
        place = self._before + number
        writer = self._at(place)
        for name, figure in parts.items():
            writer.add_scalar(f"loss/{name}", figure, place)
        writer.add_scalar("train/accuracy", accuracy, place)

    def scores(self, number: int, scores: dict[str, float], best: bool) -> None:
        """An epoch ended with these scores on dev."""
        place = self._before + self._steps
        writer = self._at(place)
        for name, figure in scores.items():
            writer.add_scalar(f"dev/{name}", figure, place)
        writer.flush()

    def _at(self, place: int) -> Any:
        if self._writer is None:
            self._writer = self._make(str(self._folder), purge_step=place)
        return self._writer
