"""Results as TextAttack's CSV columns, for tools that read those."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from sgbt.attacks.result import FAILED, SKIPPED, SUCCESS, AttackResult
from sgbt.core.files import atomic_write

COLUMNS = (
    "original_text",
    "perturbed_text",
    "original_score",
    "perturbed_score",
    "original_output",
    "perturbed_output",
    "ground_truth_output",
    "num_queries",
    "result_type",
)
_TYPES = {SUCCESS: "Successful", FAILED: "Failed", SKIPPED: "Skipped"}


def write_textattack_csv(results: Sequence[AttackResult], path: str | Path) -> None:
    """Write results with the columns of TextAttack's CSV logger; changed words stand in [[double brackets]].

    Scores are left empty: rows keep labels, not probabilities.
    """
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, COLUMNS)
    writer.writeheader()
    for result in results:
        before = result.after if result.status == SKIPPED else result.label
        writer.writerow(
            {
                "original_text": marked(result, original=True),
                "perturbed_text": marked(result, original=False),
                "original_score": "",
                "perturbed_score": "",
                "original_output": before,
                "perturbed_output": result.after,
                "ground_truth_output": result.label,
                "num_queries": result.queries,
                "result_type": _TYPES[result.status],
            }
        )
    with atomic_write(Path(path)) as file:
        file.write(stream.getvalue().encode("utf-8", "surrogatepass"))


def marked(result: AttackResult, *, original: bool) -> str:
    """The text with the words that an attack changed in [[double brackets]]."""
    from sgbt.data import Tokenizer

    text = result.original if original else result.perturbed
    tokens = Tokenizer().tokenize(text)
    pieces, position = [], 0
    for place in [swap.position for swap in result.swaps]:
        pieces += [text[position : tokens.starts[place]], f"[[{text[tokens.starts[place] : tokens.ends[place]]}]]"]
        position = tokens.ends[place]
    return "".join([*pieces, text[position:]])
