"""What rows of certificates claim to be about, beside what is at hand: one class for each kind, found by dispatch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import singledispatch
from typing import Any, ClassVar, Generic

from sgbt.attacks.result import AttackResult
from sgbt.certify.certificate import CertificateRow
from sgbt.certify.rows.attacked import CheckedAttacks
from sgbt.certify.rows.file import Row
from sgbt.certify.rows.running import Prover
from sgbt.core.errors import CertificateError


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
