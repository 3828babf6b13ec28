"""Who held, text by text, in a form small enough to commit: one bit per text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgbt.core.errors import EvaluationError
from sgbt.evaluate.significance import Held


def packed(held: Sequence[bool] | Held) -> dict[str, object]:
    """Bits as hexadecimal digits, first text first, with their number."""
    bits = np.asarray(held, dtype=bool)
    return {"texts": len(bits), "held": np.packbits(bits).tobytes().hex()}


def unpacked(outcome: dict[str, object]) -> Held:
    """What `packed` packed."""
    try:
        texts, digits = int(str(outcome["texts"])), bytes.fromhex(str(outcome["held"]))
        if len(digits) != (texts + 7) // 8:
            raise ValueError("another number of texts than bits")
    except (KeyError, ValueError) as problem:
        raise EvaluationError(
            expected="outcomes that sgbt wrote", got=f"a fault: {problem}", where="outcomes"
        ) from None
    return np.unpackbits(np.frombuffer(digits, np.uint8), count=texts).astype(bool)


def within(budget: int) -> str:
    """What the outcome is called that a text was right and proven to stay so for a number of replaced words."""
    return f"certified, {budget} word" + "s" * (budget != 1)
