"""Settings: everything that determines a row of an attack, but for its text."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from sgbt.attacks.result import AttackResult
from sgbt.errors import AttackError


@dataclass(frozen=True)
class Settings:
    """What rows of one call of `attack` have in common; `model_hash` is the fingerprint of the victim."""

    model_hash: str
    table_hash: str
    method: str
    options: str
    seed: int
    max_queries: int | None

    @cached_property
    def hash(self) -> str:
        """What a row carries: rows with another hash answer another question."""
        parts = (self.model_hash, self.table_hash, self.method, self.options, str(self.seed), str(self.max_queries))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def refusal(self, row: AttackResult, where: str) -> AttackError:
        """Why a row of other settings cannot be gone on with: the first thing in which it differs."""
        remedy = "choose another --out, or delete that file"
        if not row.model_hash:
            return AttackError(
                wanted=f"rows of {self.method} that name their model",
                got="rows of an earlier version, which do not",
                where=where,
                remedy=remedy,
            )
        for name in ("model_hash", "table_hash", "seed"):
            own, other = getattr(self, name), getattr(row, name)
            if own != other:
                return AttackError(
                    wanted=f"rows of {self.method} with {name.replace('_', ' ')} {str(own)[:12]}",
                    got=f"text {row.index} with {str(other)[:12]}",
                    where=where,
                    remedy=remedy,
                )
        return AttackError(
            wanted=f"rows of {self.method} with the options and the limit of queries now asked for",
            got=f"text {row.index} with others",
            where=where,
            remedy=remedy,
        )
