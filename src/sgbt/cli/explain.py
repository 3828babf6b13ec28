"""`sgbt explain`: one text with its weak words marked, what each may become, and how far the label is safe."""

from __future__ import annotations

from typing import Annotated

import typer

from sgbt.cli import options as opt
from sgbt.cli.certify import Budget, Run, Table_
from sgbt.cli.screen import Screen

console = Screen()


def explain_(
    run: Run,
    text: Annotated[str, typer.Argument(help="The text to explain.")],
    label: Annotated[str | None, typer.Option(help="The label to defend; otherwise the predicted one.")] = None,
    max_substitutions: Budget = None,
    substitutions: Table_ = "model",
    vectors: opt.Vectors = "glove",
    data_home: opt.DataHome = None,
) -> None:
    """Show what an adversary would replace in a text, and whether the label is proven to stay.

    Words are replaced one by one: edits that join or split words are not covered.
    """
    from sgbt.certify import explain
    from sgbt.cli import explain_view as view
    from sgbt.cli.certify_parts import table_for
    from sgbt.models import load_classifier

    classifier = load_classifier(run)
    table = table_for(classifier, substitutions, vectors=vectors, data_home=data_home)
    told = explain(
        classifier, text, table, label=view.number_of(classifier, label), max_substitutions=max_substitutions
    )
    view.show(told, classifier, console)
