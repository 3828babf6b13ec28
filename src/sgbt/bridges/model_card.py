"""The card of a model: what it was trained on, what was measured on how many texts, and what a certificate means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sgbt.attacks import AttackResult
from sgbt.attacks import read_rows as read_attacks
from sgbt.attacks.result import SUCCESS
from sgbt.bridges.card_figures import NOTHING, Figures, class_lines, figure_lines, figures_of
from sgbt.certify import Certificate
from sgbt.certify import read_rows as read_certificates
from sgbt.errors import ModelError
from sgbt.models import Naming, TextClassifier, covers_weights_alone, identity_of, load_classifier
from sgbt.models.note import training_note
from sgbt.version import __version__


def model_card(
    run: str | Path,
    *,
    certificates: str | Path | None = None,
    attacks: str | Path | None = None,
    language: str = "en",
    licence: str | None = None,
) -> str:
    """The card as Markdown with the header that the Hugging Face hub reads.

    Figures come from rows that `sgbt certify --out` and `sgbt attack --out` wrote, never from hand. Rows of another
    model are refused: certificates name their model, and what an attack says of its texts is asked of this one again.
    """
    folder = Path(run)
    classifier = load_classifier(folder)
    note = training_note(folder)
    proofs = read_certificates(certificates) if certificates else []
    broken = read_attacks(attacks) if attacks else []
    _check_certificates(proofs, classifier, str(certificates))
    _check_attacks(broken, classifier, str(attacks))
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


def _check_certificates(proofs: Sequence[Certificate], classifier: TextClassifier, where: str) -> None:
    own = identity_of(classifier)
    for proof in proofs:
        if own.named_by(proof.model_hash) is Naming.OTHER:
            raise ModelError(
                wanted=f"certificates of the model with identity {own.hash[:12]}",
                got=f"one of {proof.model_hash[:12]}",
                where=where,
                remedy="certify this model",
            )


def _check_attacks(results: Sequence[AttackResult], classifier: TextClassifier, where: str) -> None:
    if not results:
        return
    own = classifier.identity
    for result in results:
        if result.model_hash not in ("", own):  # rows of earlier versions do not say
            raise ModelError(
                wanted=f"attacks on the model with identity {own[:12]}",
                got=f"one on {result.model_hash[:12]}",
                where=where,
                remedy="attack this model",
            )
    before = classifier.predict([result.original for result in results]).probabilities.argmax(axis=1)
    after = classifier.predict([result.perturbed for result in results]).probabilities.argmax(axis=1)
    for result, first, last in zip(results, before.tolist(), after.tolist(), strict=True):
        if first != result.predicted or (result.status == SUCCESS and last != result.after):
            raise ModelError(
                wanted="attacks on this model",
                got=f"a row for text {result.index} that it contradicts",
                where=where,
                remedy="attack this model",
            )
