"""One way to make rows of certificates, and to find out what they claim.

Those of an interrupted run are checked, and the others are added (`Prover`). What rows claim to be about is compared
with what is at hand (`Claims`): one class for each kind, found by dispatch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial, singledispatch
from pathlib import Path
from typing import Any, ClassVar, Generic

from sgbt.attacks.result import AttackResult
from sgbt.certify.certificate import CertificateRow
from sgbt.certify.rows.attacked import CheckedAttacks
from sgbt.certify.rows.comparison import RowComparison, compared, drawn_seed, forged, sampled
from sgbt.certify.rows.file import Row, rows_of
from sgbt.core.errors import CertificateError
from sgbt.core.rows import RowFile

SYNC_SECONDS = 1.0
RECHECKED = 20
"""Of the rows that a file has already, so many are proven again before any is taken over."""
Listener = Callable[[int, int], None]


class Prover(ABC, Generic[Row]):
    """Texts, and how certificates of one kind are made of them.

    Texts are named by their places, and rows by their `hashes`. `shared` is what all rows say: the model, what they are
    certificates against, and settings. Without `labels` the model's own answers are defended.
    """

    rechecked: ClassVar[int] = RECHECKED
    kind: type[Row]
    hashes: Sequence[str]
    shared: Mapping[str, Any]

    @abstractmethod
    def proven(self, places: Sequence[int]) -> Iterator[Sequence[Row]]:
        """Certificates of some texts, as they are made: several at once, in any order."""

    @abstractmethod
    def label(self, row: Row) -> int:
        """The label that a row of this text has to have."""

    def fault(self, row: Row) -> str:
        """What needs no proof and is not so in a row, if anything."""
        return ""

    def by_tier(self, place: int, tier: str) -> Row:
        """The certificate that one tier alone gives, where there are several."""
        return self.again([place])[0]

    def again(self, places: Sequence[int]) -> list[Row]:
        """Certificates of some texts in the order of their places given."""
        found = {row.index: row for rows in self.proven(places) for row in rows}
        return [found[place] for place in places]

    def compared(self, rows: Mapping[int, Row], where: str) -> list[RowComparison]:
        """Rows of texts beside fresh proofs; the first that claims too much is an error."""
        found = []
        for (place, row), fresh in zip(rows.items(), self.again(list(rows)), strict=True):
            found.append(compared(row, fresh, partial(self.by_tier, place)))
            if found[-1].fault:
                raise forged(row.index, found[-1].fault, where)
        return found

    def rows(self, out: str | Path | None, listener: Listener | None = None) -> list[Row]:
        """The certificates of all texts: those that the file `out` has, of which some are proven again, and the others,
        which are added to it as they are made."""
        with RowFile(out, rows_of(self.kind), sync_seconds=SYNC_SECONDS) as file:
            file.require(self.shared)
            file.require_texts(self._is_about_its_text)
            done = {row.index: row for row in file.rows.values() if row.index < len(self.hashes)}
            for row in done.values():
                if fault := self.fault(row):
                    raise forged(row.index, fault, str(out))
            chosen = sampled(list(done.values()), self.rechecked, drawn_seed()) if done and self.rechecked else []
            self.compared({row.index: row for row in chosen}, str(out))
            for fresh in self.proven([place for place in range(len(self.hashes)) if place not in done]):
                file.append(*fresh)
                done |= {row.index: row for row in fresh}
                if listener:
                    listener(len(done), len(self.hashes))
        return [done[place] for place in sorted(done)]

    def _is_about_its_text(self, row: Row) -> bool:
        """Whether a row has the text and the label of its place here; rows of further texts are left alone."""
        if row.index >= len(self.hashes):
            return True
        return row.text_hash == self.hashes[row.index] and row.label == self.label(row)


class Claims(ABC, Generic[Row]):
    """A model, and what rows of one kind are certificates against: what they say is compared, and proven again.

    `subject` names in words what is compared of every row, beside its text and label.
    """

    subject: ClassVar[str] = "model, table"

    @abstractmethod
    def fault(self, row: Row) -> str:
        """What needs no proof: whether a row names another model, or something else that it is against."""

    @abstractmethod
    def prover(self, like: Row, texts: Sequence[str], labels: Sequence[int]) -> Prover[Row]:
        """What proves texts with the settings of a row."""

    def weights_alone(self, row: Row) -> bool:
        """Whether a row is of an earlier version, and names the weights of its model alone."""
        return False

    def settings(self, row: Row) -> Hashable:
        """Rows with equal settings are proven again together."""
        return ()

    def attacks(
        self,
        rows: Sequence[Row],
        attacks: Sequence[AttackResult],
        texts: Mapping[int, str],
        labels: Mapping[int, int] | None,
    ) -> CheckedAttacks:
        """What rows of attacks come to beside these."""
        if attacks:
            got = f"some of kind {rows[0].kind}"
            raise CertificateError(expected="certificates of substitutions or against a threat beside attacks", got=got)
        return CheckedAttacks()


@singledispatch
def claims_of(row: CertificateRow, model: Any, against: Any, threads: int | None) -> Claims[Any]:
    """The claims of rows like this one about `model`, `against` a table, a threat or an encoder."""
    raise CertificateError(
        expected="certificates that can be proven again",
        got=f"one of kind {getattr(row, 'kind', type(row).__name__)!r}",
        remedy="rows of samples are drawn again by certify_smoothed with out=, which goes on with true ones alone",
    )


def other_model(row: CertificateRow, own: str) -> str:
    """That a row names another model than the one of this name."""
    return "" if row.model_hash == own else f"the model {row.model_hash[:12]}, where it is {own[:12]}"
