"""The card of a model: what it was trained on, what was measured on how many texts, and what a certificate means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sgbt.bridges.card_attacks import CardEvidence, attack_lines
from sgbt.bridges.card_figures import (
    NOTHING,
    Figures,
    Labels,
    as_code,
    as_text,
    as_yaml,
    class_lines,
    figure_lines,
    figures_of,
    meaning,
)
from sgbt.certify.rows.comparison import Sample, drawn_seed
from sgbt.data import Split
from sgbt.models import TextClassifier, covers_weights_alone, load_classifier
from sgbt.models.folder import training_note
from sgbt.threats import SubstitutionTable
from sgbt.version import __version__

PROVEN_AGAIN = 100
"""Of the certificates whose figures go on a card, so many are proven again unless more are asked for; and of each
attack, so many of the texts that it left unbroken are attacked again."""


def model_card(
    run: str | Path,
    *,
    certificates: str | Path | None = None,
    attacks: str | Path | Sequence[str | Path] | None = None,
    texts: Split | Sequence[str] | Mapping[int, str] | None = None,
    labels: Sequence[int] | Mapping[int, int] | None = None,
    table: SubstitutionTable | None = None,
    sample: Sample = PROVEN_AGAIN,
    seed: int | None = None,
    language: str = "en",
    licence: str | None = None,
) -> str:
    """The card as Markdown with the header that the Hugging Face hub reads.

    Figures come from rows that `sgbt certify --out` and `sgbt attack --out` wrote, never from hand, and rows are not
    believed. Certificates are checked, and a `sample` of them is proven again (`sgbt.certify.verify`; None: all), so
    they need their `texts`, and `labels` unless a split has them; where all are among the texts of the attack rows,
    those serve. Attack rows are replayed, must be there for all of the first texts, and a sample of those that say
    that nothing was found is made again. Samples are drawn by the system's randomness unless by `seed`, which the card
    names. `table` is the one that was certified for, by default the model's own.
    """
    folder = Path(run)
    classifier, note = load_classifier(folder), training_note(folder)
    measured = CardEvidence.of(
        classifier,
        certificates,
        attacks,
        texts=texts,
        labels=labels,
        table=classifier.table if table is None else table,
        sample=sample,
        seed=drawn_seed() if seed is None else seed,
    )
    figures = list(figures_of(measured.proofs, measured.attacks, measured.labels, measured.budget))
    lines = [*_header(note, figures, language, licence, measured.labels), *_body(classifier, note)]
    return "\n".join([*lines, "## Figures\n", *_figures(measured, figures, classifier.label_names)]) + "\n"


def _figures(measured: CardEvidence, figures: Figures, names: Sequence[str]) -> Iterator[str]:
    if not figures:
        yield "Nothing was measured: no rows were given when this card was written.\n"
        return
    proofs = measured.proofs
    yield from figure_lines(figures, measured.labels)
    if not measured.texts_compared:
        yield "The rows' texts were not compared with data: none was given."
    if measured.verified is not None:
        again, count = measured.verified.reproven, len(proofs)
        drawn = f", drawn by seed {measured.seed}" if again < count else ""
        yield meaning(proofs, measured.budget)
        yield f"All certificates were checked, and {again:,} of {count:,} were proven again{drawn}."
    if any(covers_weights_alone(proof.model_hash) for proof in proofs):
        yield "Some certificates are of an earlier version: their name of the model covers its weights alone."
    yield from attack_lines(measured.attacks, seed=measured.seed)
    yield from class_lines(proofs, measured.rows, names, measured.labels)


def _header(
    note: dict[str, Any], figures: Figures, language: str, licence: str | None, labels: Labels
) -> Iterator[str]:
    """YAML; what is no accuracy is no metric."""
    yield "---"
    fields: dict[str, Any] = {
        "library_name": "sgbt",
        "pipeline_tag": "text-classification",
        "language": language,
        "tags": ["sgbt", "certified-robustness", "word-substitution"],
    }
    if licence:
        fields["license"] = licence
    if figures and labels is not Labels.OWN:
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
        yield f"{name}: {as_yaml(value)}"
    yield "---"


def _body(classifier: TextClassifier, note: dict[str, Any]) -> Iterator[str]:
    names = ", ".join(map(as_text, classifier.label_names))
    yield f"\n# A text classifier trained with sgbt {__version__}\n"
    yield f"Labels: {names}. Texts are read up to their first {classifier.max_length:,} words.\n"
    yield "```python\nfrom sgbt.bridges import load_from_hub\n"
    yield 'classifier = load_from_hub("this/folder")'
    yield 'print(classifier.predict(["a fine film"]).labels)\n```\n'
    yield "## Training\n\n| | |\n|---|---|"
    options = json.dumps(note.get("objective_options", {}), ensure_ascii=False)
    facts = {
        "kind of model": as_text(getattr(classifier.model, "kind", type(classifier.model).__name__)),
        "dataset": f"{as_text(_dataset(note))} (hash {as_text(str(note.get('dataset_hash', 'unknown'))[:12])})",
        "objective": f"{as_text(note.get('objective', 'unknown'))} {as_code(options)}",
        "seed": as_text(note.get("seed", "unknown")),
        "identity": as_code(classifier.identity),
    }
    for name, fact in facts.items():
        yield f"| {name} | {fact} |"
    yield "\n## Substitutions\n"
    if classifier.table is None:
        yield "The model was trained without a table of substitutes.\n"
    else:
        yield f"{as_code(classifier.table.name)}, {len(classifier.table):,} words, hash `{classifier.table.hash}`.\n"
        yield f"{as_text(classifier.table.describe())}\n"


def _dataset(note: dict[str, Any]) -> str:
    """The dataset's name; of a file, only its own name, for a path is nobody's business."""
    return Path(str(note.get("dataset", "unknown"))).name
