"""Results of attacks on disk: one for each text and method, with the hash of the settings that made it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sgbt.attacks.result import FAILED, SKIPPED, SUCCESS, AttackResult, Swap
from sgbt.core import rows
from sgbt.core.errors import AttackError
from sgbt.core.fields import refuse_odd_fields
from sgbt.core.files import atomic_write

SETTINGS = "options or limit of queries, by their hash,"


@dataclass(frozen=True)
class AttackSettings:
    """What rows of one call of `attack` have in common; `model_hash` is the fingerprint of the victim."""

    model_hash: str
    table_hash: str
    method: str
    options: str
    seed: int
    max_queries: int | None
    threat_hash: str = ""

    @cached_property
    def hash(self) -> str:
        """What a row carries: rows with another hash answer another question."""
        parts = (
            self.model_hash,
            self.threat_hash or self.table_hash,
            self.method,
            self.options,
            str(self.seed),
            str(self.max_queries),
        )
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def reach(self) -> str:
        """The field that names what was allowed."""
        return "threat_hash" if self.threat_hash else "table_hash"

    @property
    def identity(self) -> dict[str, object]:
        """What rows of these settings say of themselves, the hash of all of them last."""
        named = {name: getattr(self, name) for name in ("model_hash", self.reach, "seed")}
        return named | {SETTINGS: self.hash}


@dataclass(frozen=True, slots=True)
class AttackRow:
    """A result, and the hash of the settings that it was made with."""

    settings: str
    result: AttackResult


def read_rows(path: str | Path) -> list[AttackResult]:
    """All results of a file, in the order in which they were made; an unfinished last line is left out."""
    return [row.result for row in rows.read_rows(path, ATTACKS)]


def _read(fields: dict[str, Any]) -> AttackRow:
    refuse_odd_fields(AttackResult, fields, kind=AttackError, where="")
    for swap in fields["swaps"]:
        refuse_odd_fields(Swap, swap, kind=AttackError, where="")
    if not isinstance(fields["settings"], str):
        raise AttackError(expected="a text as settings", got=repr(fields["settings"])[:80])
    return AttackRow(fields["settings"], AttackResult.from_row(fields))


ATTACKS = rows.RowKind(
    name="attack result",
    error=AttackError,
    write=lambda row: json.dumps({"settings": row.settings, **row.result.to_row()}, ensure_ascii=False),
    read=_read,
    key=lambda row: (row.result.method, row.result.index),
    title=lambda row: f"text {row.result.index} by {row.result.method}",
    begin=b'{"settings": "',
    value=lambda row, name: row.settings if name == SETTINGS else getattr(row.result, name),
    earlier=lambda row: "" if row.result.model_hash else "no name of its model, as earlier versions wrote them",
    surrogates=True,
)


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
    """The text with the words that an attack changed in [[double brackets]]; as it is within a threat."""
    from sgbt.data import Tokenizer

    text = result.original if original else result.perturbed
    if result.threat_hash:
        return text
    tokens = Tokenizer().tokenize(text)
    pieces, position = [], 0
    for place in [swap.position for swap in result.swaps]:
        pieces += [text[position : tokens.starts[place]], f"[[{text[tokens.starts[place] : tokens.ends[place]]}]]"]
        position = tokens.ends[place]
    return "".join([*pieces, text[position:]])
