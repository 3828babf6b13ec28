"""AttackResult: what one attack did to one text; and what many say together, with denominators and uncertainty."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from sgbt.core.errors import AttackError
from sgbt.core.shares import ByClass, Share

SUCCESS, FAILED, SKIPPED = "success", "failed", "skipped"
STATUSES = (SUCCESS, FAILED, SKIPPED)


@dataclass(frozen=True, slots=True)
class Swap:
    """One replaced word: the word at `position` (counted in words from 0) was `old` and is `new`."""

    position: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class AttackResult:
    """The outcome of one attack on one text.

    `success`: `perturbed` is another text of the allowed set, and the victim gives it the label `after` instead of
    `label`. `failed`: none was found, and `perturbed` is the original. `skipped`: the victim was wrong from the start
    (`after` is what it said), so there is nothing to break. Labels are numbers of the dataset's label names; `words` is
    the length of the text in words, of which an attack may change those that the victim reads. In rows that are kept,
    `model_hash` is the victim's identity or fingerprint and `table_hash` names the substitutions; otherwise, and in
    rows of earlier versions, they are empty.

    With `seed`, `options` (those that differ from what the method's name stands for) and `max_queries` the attack can
    be made again; options are None where they are not known: rows of earlier versions, attacks of somebody's own.
    Within a threat beyond substitutions, `threat` is its name and `threat_hash` its hash; a swap is then any edit: what
    stood from the word `position` on, and what is written there, each of which may be several words, or nothing.
    `labelled` says whether the label came with the text rather than from the victim (None: not known).
    """

    index: int
    method: str
    status: str
    label: int
    after: int
    original: str
    perturbed: str
    swaps: tuple[Swap, ...]
    words: int
    queries: int
    seconds: float
    seed: int
    model_hash: str = field(default="", compare=False)
    table_hash: str = field(default="", compare=False)
    options: Mapping[str, Any] | None = field(default=None, compare=False)
    max_queries: int | None = field(default=None, compare=False)
    labelled: bool | None = field(default=None, compare=False)
    threat: str = ""
    threat_hash: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise AttackError(expected=f"one of {', '.join(STATUSES)}", got=repr(self.status), where="AttackResult")
        changed = self.after != self.label
        if changed != (self.status in (SUCCESS, SKIPPED)) or bool(self.swaps) != (self.status == SUCCESS):
            raise AttackError(
                expected="swaps and another label for a success, and neither for a failure",
                got=f"status {self.status}, label {self.label} -> {self.after}, {len(self.swaps)} swaps",
                where="AttackResult",
            )

    @property
    def predicted(self) -> int:
        """The label that the victim gives the text as it stands."""
        return self.after if self.status == SKIPPED else self.label

    @property
    def title(self) -> str:
        """The method and what of its settings is not usual; rows with another title are of another attack."""
        unusual = dict(sorted((self.options or {}).items()))
        unusual |= {} if self.max_queries is None else {"max_queries": self.max_queries}
        unusual |= {"seed": self.seed} if self.seed else {}
        shown = ", ".join(f"{name} {_shown(value)}" for name, value in unusual.items())
        return f"{self.method} ({shown})" if shown else self.method

    @property
    def series(self) -> tuple[str, ...]:
        """What rows have in common that are counted together: title, table, and whether the options are known."""
        return self.title, self.threat_hash or self.table_hash, str(self.options is None)

    @property
    def share_changed(self) -> float:
        """The share of the text's words that were replaced."""
        return len(self.swaps) / self.words if self.words else 0.0

    def to_row(self) -> dict[str, Any]:
        """The result as a JSON object; a threat is named where there is one."""
        row = asdict(self)
        return row if self.threat_hash else {name: row[name] for name in row if not name.startswith("threat")}

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> AttackResult:
        """The result that `to_row` wrote."""
        known = fields(AttackResult)
        given = {each.name: row[each.name] for each in known if each.name in row or each.default is MISSING}
        given["swaps"] = tuple(Swap(**swap) for swap in given["swaps"])
        return AttackResult(**given)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True, slots=True)
class AttackSummary:
    """One method over many texts.

    `robust` counts correct and unbroken texts among all; `unbroken` counts them among the correctly classified, which
    is what the paper calls accuracy under attack (AUA). A text that is right and has nothing to
    replace counts as unbroken in both. Queries, changes and seconds are means over attacked texts, changes over broken
    ones.
    """

    method: str
    clean: Share
    robust: Share
    unbroken: Share
    queries: float
    share_changed: float
    seconds: float


def summarise(results: Sequence[AttackResult]) -> list[AttackSummary]:
    """One summary per method, in the order in which methods first occur."""
    return [_summary(method, results) for method in dict.fromkeys(result.method for result in results)]


def in_series(results: Iterable[AttackResult]) -> list[list[AttackResult]]:
    """Results that are counted together, in the order in which they first occur: one attack within one table.

    A text that has two in one of them is refused: it would be counted twice.
    """
    found: dict[tuple[str, ...], dict[int, AttackResult]] = {}
    for result in results:
        own = found.setdefault(result.series, {})
        if result.index in own:
            raise AttackError(
                expected=f"one row of {result.title} for each text",
                got=f"a second for text {result.index}",
                where="the attack rows",
                remedy="give each file once",
            )
        own[result.index] = result
    return [list(own.values()) for own in found.values()]


def by_class(results: Sequence[AttackResult], names: Sequence[str], *, labelled: bool = True) -> ByClass:
    """What the victim answers for each class, each text counted once whatever number of methods attacked it.

    Not `labelled` are texts whose labels are the victim's own answers.
    """
    texts = {result.index: result for result in results}.values()
    return ByClass.of(names, [(result.label, result.predicted) for result in texts], labelled=labelled)


def _summary(method: str, results: Sequence[AttackResult]) -> AttackSummary:
    own = [result for result in results if result.method == method]
    attacked = [result for result in own if result.status != SKIPPED]
    broken = [result for result in own if result.status == SUCCESS]
    robust = sum(result.status == FAILED for result in own)
    return AttackSummary(
        method=method,
        clean=Share(len(attacked), len(own)),
        robust=Share(robust, len(own)),
        unbroken=Share(robust, len(attacked)),
        queries=_mean([result.queries for result in attacked]),
        share_changed=_mean([result.share_changed for result in broken]),
        seconds=_mean([result.seconds for result in attacked]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
