"""`sgbt demo`: the main job on real data, with nothing to prepare."""

from __future__ import annotations


def demo() -> None:
    """Fetch real reviews and word vectors, and show what there is to defend against."""
