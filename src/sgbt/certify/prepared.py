"""Prepared: what all certificates of one classifier under one table share, found once."""

from __future__ import annotations

from dataclasses import dataclass

from sgbt.certify.rounding import rounding_slack
from sgbt.certify.verifier import in_float64, lowest_margin, require_finite
from sgbt.certify.word_tables import WordTables
from sgbt.core.errors import CertificateError
from sgbt.models import AnyModel, TextClassifier
from sgbt.models.deciding import ModelState
from sgbt.threats import SubstitutionIndex, SubstitutionTable


@dataclass(frozen=True, eq=False)
class Prepared:
    """A classifier and a table made ready for proofs: `certify` and `explain` take it in place of the classifier.

    One call of `certify` prepares for all its texts; whoever asks about one text after another, as a server does,
    prepares once. Once the classifier's model is another than `state` says, it is refused: `model` is a copy of it in
    float64, `slack` its rounding allowance, `floor` the margin that every text has at least, and `model_hash` the
    identity of the classifier, its name in every certificate. `reference` is the index of the table that the model was
    trained for, where that is another one: tiers fit their slopes to it (`Specification.reference`).
    """

    classifier: TextClassifier
    index: SubstitutionIndex
    model: AnyModel
    slack: float
    floor: float
    model_hash: str
    tables: WordTables
    state: ModelState
    reference: SubstitutionIndex | None = None

    @property
    def table(self) -> SubstitutionTable:
        """The substitutions that are allowed."""
        return self.index.table

    @staticmethod
    def of(classifier: TextClassifier, table: SubstitutionTable | None = None) -> Prepared:
        """Prepare for `table` (by default the model's own)."""
        allowed = table if table is not None else classifier.table
        if allowed is None:
            raise CertificateError(
                expected="a substitution table", got="none, and the model has none", where="certify", remedy="pass one"
            )
        allowed.require_read_by(classifier.tokenizer)
        require_finite(classifier.model)
        model, index = in_float64(classifier.model), SubstitutionIndex.build(allowed, classifier.vocabulary)
        own = classifier.table
        return Prepared(
            classifier,
            index,
            model,
            rounding_slack(classifier),
            lowest_margin(model, longest=classifier.max_length),
            classifier.identity,
            WordTables(index),
            ModelState.of(classifier.model),
            None if own is None or own.hash == allowed.hash else SubstitutionIndex.build(own, classifier.vocabulary),
        )


def prepared_of(given: TextClassifier | Prepared, table: SubstitutionTable | None) -> Prepared:
    """What was given, made ready if it is not yet."""
    if isinstance(given, TextClassifier):
        return Prepared.of(given, table)
    if table is not None and table.hash != given.table.hash:
        raise CertificateError(
            expected="the table that was prepared for", got="another", where="certify", remedy="leave the table out"
        )
    if not given.state.still_of(given.classifier.model):
        raise CertificateError(
            expected="the model that was prepared for",
            got="one whose weights or options changed since",
            where="certify",
            remedy="prepare again",
        )
    return given
