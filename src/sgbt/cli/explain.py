"""`sgbt explain`: one text with its weak words marked, what each may become, and how far the label is safe."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.screen import Screen
from sgbt.core.errors import CertificateError, SgbtWarning

console = Screen()


def explain_(
    run: opt.Run,
    text: Annotated[str, typer.Argument(help="The text to explain.")],
    defend: Annotated[str | None, typer.Option(help="The label to defend; otherwise the predicted one.")] = None,
    label: Annotated[str | None, typer.Option(hidden=True, help="The name of --defend before version 0.2.")] = None,
    max_substitutions: opt.Budget = None,
    substitutions: opt.Substitutions = opt.MODEL,
    vectors: opt.Vectors = "glove",
    threat: opt.ThreatName = None,
    data_home: opt.DataHome = None,
) -> None:
    """Show what an adversary would replace in a text, and whether the label is proven to stay.

    Words are replaced one by one; with --threat, whatever it allows is tried and proven: typing errors that join or
    split words, words left out, put in or swapped.
    """
    from sgbt.certify import explain
    from sgbt.cli import explain_view as view
    from sgbt.models import load_classifier

    classifier = load_classifier(run)
    if label is not None:
        warnings.warn("--label is called --defend in sgbt explain now.", SgbtWarning, stacklevel=1)
    if threat is not None:
        asked = opt.threat_for(classifier, threat, vectors=vectors, data_home=data_home)
        if not asked.only_substitutions:
            from sgbt.certify.edits import explain_against

            if max_substitutions is not None:
                raise CertificateError(
                    expected="budgets within the threat", got="--max-substitutions as well", where="--threat"
                )
            defended = view.number_of(classifier, defend or label)
            view.show_threat(explain_against(classifier, text, asked, label=defended), asked, classifier, console)
            return
        table, max_substitutions = opt.as_table(asked, max_substitutions)
    else:
        table = opt.table_for(classifier, substitutions, vectors=vectors, data_home=data_home)
    explanation = explain(
        classifier, text, table, label=view.number_of(classifier, defend or label), max_substitutions=max_substitutions
    )
    view.show(explanation, classifier, console)
