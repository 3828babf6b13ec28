"""How long work tells a person that it goes on, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A listener to one long piece of work at a time."""

    def start(self, task: str, total: int | None) -> None:
        """A task begins; `total` is its size in bytes when that is known."""

    def advance(self, amount: int) -> None:
        """`amount` more bytes are done."""

    def finish(self) -> None:
        """The task ended, well or badly."""


class Silent:
    """The listener that says nothing."""

    def start(self, task: str, total: int | None) -> None:
        """Say nothing."""

    def advance(self, amount: int) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """Say nothing."""
