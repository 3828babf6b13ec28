"""The card of a model: what it was trained on, what was measured on how many texts, and what a certificate means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sgbt.attacks import AttackResult
from sgbt.attacks import read_rows as read_attacks
from sgbt.bridges.card_figures import NOTHING, Figures, class_lines, figure_lines, figures_of
from sgbt.certify import Certificate, verify
from sgbt.certify import read_rows as read_certificates
from sgbt.certify.attacked import check_true
from sgbt.certify.comparison import Sample
from sgbt.data import Split
from sgbt.lexicon import SubstitutionTable
from sgbt.models import TextClassifier, covers_weights_alone, load_classifier
from sgbt.models.note import training_note
from sgbt.version import __version__

PROVEN_AGAIN = 100
"""Of the certificates whose figures go on a card, so many are proven again unless more are asked for."""


def model_card(
    run: str | Path,
    *,
    certificates: str | Path | None = None,
    attacks: str | Path | None = None,
    texts: Split | Sequence[str] | Mapping[int, str] | None = None,
    labels: Sequence[int] | Mapping[int, int] | None = None,
    table: SubstitutionTable | None = None,
    sample: Sample = PROVEN_AGAIN,
    language: str = "en",
    licence: str | None = None,
) -> str:
    """The card as Markdown with the header that the Hugging Face hub reads.

    Figures come from rows that `sgbt certify --out` and `sgbt attack --out` wrote, never from hand, and rows are not
    believed: all are checked and a `sample` of them is proven again (`sgbt.certify.verify`; None: all). So certificates
    need their `texts`, and `labels` unless a split has them; where all are among the texts of the attack rows, those
    serve. `table` is the one that was certified for, by default the model's own.
    """
    folder = Path(run)
    classifier = load_classifier(folder)
    note = training_note(folder)
    proofs = read_certificates(certificates) if certificates else []
    broken = read_attacks(attacks) if attacks else []
    check_true(classifier, broken, where=str(attacks))
    if proofs:
        known = {row.index: row.original for row in broken} if texts is None else texts
        options: dict[str, Any] = {"labels": labels, "attacks": broken, "sample": sample, "where": str(certificates)}
        verify(classifier, proofs, known, table, **options)
    figures = list(figures_of(proofs, broken))
    lines = [*_header(note, figures, language, licence), *_body(classifier, note, figures, proofs, broken)]
    return "\n".join(lines) + "\n"


def _header(note: dict[str, Any], figures: Figures, language: str, licence: str | None) -> Iterator[str]:
    """YAML, written as JSON values, which are YAML too."""
    yield "---"
    fields: dict[str, Any] = {
        "library_name": "sgbt",
        "pipeline_tag": "text-classification",
        "language": language,
        "tags": ["sgbt", "certified-robustness", "word-substitution"],
    }
    if licence:
        fields["license"] = licence
    if figures:
        metrics = [
            {
                "type": "accuracy",
                "name": f"{name}, {share.count} of {share.total} texts",
                "value": round(share.value, 6),
            }
            for name, share in figures
            if name != NOTHING
        ]
        dataset = {"type": "text", "name": _dataset(note)}
        task = {"type": "text-classification"}
        results = [{"task": task, "dataset": dataset, "metrics": metrics}]
        fields["model-index"] = [{"name": f"sgbt {note.get('objective', 'model')}", "results": results}]
    for name, value in fields.items():
        yield f"{name}: {json.dumps(value, ensure_ascii=False)}"
    yield "---"


def _body(
    classifier: TextClassifier,
    note: dict[str, Any],
    figures: Figures,
    proofs: Sequence[Certificate],
    attacks: Sequence[AttackResult],
) -> Iterator[str]:
    names = ", ".join(classifier.label_names)
    yield f"\n# A text classifier trained with sgbt {__version__}\n"
    yield f"Labels: {names}. Texts are read up to their first {classifier.max_length:,} words.\n"
    yield "```python\nfrom sgbt.bridges import load_from_hub\n"
    yield 'classifier = load_from_hub("this/folder")'
    yield 'print(classifier.predict(["a fine film"]).labels)\n```\n'
    yield "## Training\n\n| | |\n|---|---|"
    options = json.dumps(note.get("objective_options", {}), ensure_ascii=False)
    facts = {
        "kind of model": getattr(classifier.model, "kind", type(classifier.model).__name__),
        "dataset": f"{_dataset(note)} (hash {str(note.get('dataset_hash', 'unknown'))[:12]})",
        "objective": f"{note.get('objective', 'unknown')} `{options}`",
        "seed": note.get("seed", "unknown"),
        "identity": f"`{classifier.identity}`",
    }
    for name, fact in facts.items():
        yield f"| {name} | {str(fact).replace('|', chr(92) + '|')} |"
    yield "\n## Substitutions\n"
    if classifier.table is None:
        yield "The model was trained without a table of substitutes.\n"
    else:
        yield f"`{classifier.table.name}`, {len(classifier.table):,} words, hash `{classifier.table.hash}`.\n"
        yield f"{classifier.table.describe()}\n"
    yield "## Figures\n"
    if not figures:
        yield "Nothing was measured: no rows were given when this card was written.\n"
        return
    yield from figure_lines(figures)
    if proofs:
        tables = ", ".join(sorted({f"`{proof.table_hash[:12]}`" for proof in proofs}))
        yield (
            f"A certified text keeps its label under every combination of substitutes of the table with hash {tables};"
            f" margins count above a rounding slack of {max(proof.slack for proof in proofs):.2g}."
        )
        if any(covers_weights_alone(proof.model_hash) for proof in proofs):
            yield "Some certificates are of an earlier version: their name of the model covers its weights alone."
    yield from class_lines(proofs, attacks, classifier.label_names)


def _dataset(note: dict[str, Any]) -> str:
    """The dataset's name; of a file, only its own name, for a path is nobody's business."""
    return Path(str(note.get("dataset", "unknown"))).name
