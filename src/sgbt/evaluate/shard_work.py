"""What is made of a shard: certificates or attacks, one row for each text, as `certify` and `attack` keep them.

A part has the rows that the same call on the texts of its shard keeps: the model, the table and the options are named
in them, they are appended as they are made, and a part that was begun goes on where it stood.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from sgbt.attacks import attack
from sgbt.attacks.search.method import method_named
from sgbt.certify import DEFAULT_TIERS, Prepared, certify
from sgbt.data.labelled import labelled_texts
from sgbt.data.shards import Shard
from sgbt.data.table_files import FileLayout
from sgbt.data.tables import Table
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionTable, Threat


class ShardWork(Protocol):
    """Shards in, files of rows out."""

    @property
    def about(self) -> list[Any]:
        """Everything of it that decides what the rows are; JSON can say it."""
        ...

    def ending(self, form: str) -> str:
        """How the name of a file of rows ends, for shards of a format."""
        ...

    def write(self, shard: Shard, layout: FileLayout, part: Path) -> Counter[str]:
        """Write the rows of a shard, and say what is counted in them."""
        ...


@dataclass(frozen=True, eq=False)
class Asked:
    """A model, the threat to it, and the columns of texts and labels; without labels its own answers are defended."""

    classifier: TextClassifier
    table: SubstitutionTable | None = None
    threat: Threat | None = None
    text: str | None = None
    label: str | None = None

    @property
    def about(self) -> list[Any]:
        """Everything of it that decides what the rows are."""
        hashes = [None if each is None else each.hash for each in (self.table, self.threat)]
        return [self.classifier.identity, *hashes, self.text, self.label]

    def read(self, shard: Shard, layout: FileLayout) -> tuple[tuple[str, ...], list[int] | None]:
        """The texts of a shard, and their labels as the model numbers them."""
        rows = Table.joined(shard.tables(layout))
        alone = self.text is None and len(rows.columns) == 1
        text = next(iter(rows.columns)) if alone else self.text
        found = labelled_texts(rows, text=text, label=self.label, unlabelled=True)
        return found.texts, self.classifier.numbers_of(found.labels) if found.labels else None


@dataclass(frozen=True, eq=False)
class Certifying:
    """`certify` on every shard."""

    asked: Asked
    tiers: Sequence[str] = DEFAULT_TIERS
    budget: int | None = None

    @property
    def about(self) -> list[Any]:
        """Everything of it that decides what the rows are."""
        return ["certify", *self.asked.about, list(self.tiers), self.budget]

    @staticmethod
    def ending(form: str) -> str:
        """Certificates are JSON lines, whatever the texts come from."""
        return "jsonl"

    @cached_property
    def prepared(self) -> Prepared:
        """What certificates need, made once; it stays in the process that made it."""
        return Prepared.of(self.asked.classifier, self.asked.table)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "prepared"}

    def write(self, shard: Shard, layout: FileLayout, part: Path) -> Counter[str]:
        """Write the certificates of a shard, and count the verdicts."""
        texts, labels = self.asked.read(shard, layout)
        rows: Sequence[Any]
        if self.asked.threat is not None:
            rows = certify(self.asked.classifier, texts, threat=self.asked.threat, labels=labels, out=part)
        else:
            limits: dict[str, Any] = {"tiers": self.tiers, "max_substitutions": self.budget}
            rows = certify(self.prepared, texts, labels=labels, out=part, **limits)
        return Counter(str(row.verdict) for row in rows)


@dataclass(frozen=True, eq=False)
class Attacking:
    """`attack` on every shard, by each method within its table or the threat."""

    asked: Asked
    methods: Mapping[str, SubstitutionTable | None]
    seed: int = 0
    max_queries: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def about(self) -> list[Any]:
        """Everything of it that decides what the rows are."""
        made = [
            [name, repr(method_named(name, **self.options)), table.hash if table else None]
            for name, table in self.methods.items()
        ]
        return ["attack", *self.asked.about, made, self.seed, self.max_queries]

    @staticmethod
    def ending(form: str) -> str:
        """Attacks are JSON lines, whatever the texts come from."""
        return "jsonl"

    def write(self, shard: Shard, layout: FileLayout, part: Path) -> Counter[str]:
        """Write the attacks on the texts of a shard, and count how each method ended."""
        texts, labels = self.asked.read(shard, layout)
        found: Counter[str] = Counter()
        for name, table in self.methods.items():
            results = attack(
                self.asked.classifier, texts, table, threat=self.asked.threat, method=name, labels=labels,
                seed=self.seed, max_queries=self.max_queries, out=part, **self.options,
            )  # fmt: skip
            found.update(f"{name} {result.status}" for result in results)
        return found
