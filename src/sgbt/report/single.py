"""The report of one training run with its proofs and attacks, for which no benchmark is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sgbt.attacks import AttackResult
from sgbt.attacks.result import FAILED
from sgbt.attacks.result import by_class as answers_by_class
from sgbt.certify import Certificate, check_consistent
from sgbt.certify.certificate import Verdict
from sgbt.certify.rows.summary import by_class as proofs_by_class
from sgbt.core.errors import EvaluationError
from sgbt.core.shares import Share
from sgbt.evaluate import AttackFigures, RunRecord, certified_figures
from sgbt.evaluate.gather import curve_of
from sgbt.evaluate.metrics import share_figures, weakest_words
from sgbt.evaluate.significance import packed
from sgbt.models import Naming, identity_of, load_classifier
from sgbt.models.folder import training_note
from sgbt.report.build import Report, report_of_records
from sgbt.report.sections import examples_of
from sgbt.training import Run
from sgbt.training.loop.log import RunLog, read_log


def report_of_run(run: Run, proofs: Sequence[Certificate], attacks: Sequence[AttackResult]) -> Report:
    """A report of one run. Attacks may be of several methods; a certified text that one of them broke is an error.
    Rows of another model are refused.

    Clean accuracy is that of the texts in `proofs`, or else of the attacked ones: a run alone knows only train and dev.
    """
    own = _own_identity(run, proofs, attacks)
    metrics: dict[str, Any] = {"dev": run.dev}
    outcomes: dict[str, Any] = {}
    if proofs:
        right = [row.verdict is not Verdict.MISCLASSIFIED for row in proofs]
        metrics |= certified_figures(proofs) | share_figures("clean", Share(sum(right), len(right)))
        metrics["by_class"] = proofs_by_class(proofs, run.model.label_names).to_json()
        outcomes["certified"] = packed([row.certified for row in proofs])
    for method in dict.fromkeys(result.method for result in attacks):
        results = [result for result in attacks if result.method == method]
        check_consistent(proofs, results)
        figures = AttackFigures.of(results)
        if not proofs:
            metrics |= share_figures("clean", Share(figures.aua.total, figures.robust.total))
            metrics["by_class"] = answers_by_class(results, run.model.label_names).to_json()
        metrics.setdefault("attacks", {})[method] = figures.to_json()
        outcomes[method] = packed([result.status == FAILED for result in results])
    about, table = run.about, run.model.table
    record = RunRecord(
        grid="run",
        dataset=str(about["dataset"]),
        model=run.model.model.kind,
        objective=str(about["objective"]),
        label=str(about["objective"]),
        seed=int(about["seed"]),
        config={"training": about["config"], "objective_options": about["objective_options"]},
        substitutions={"name": table.name if table else "none", "hash": table.hash if table else ""},
        data_hash=str(about["dataset_hash"]),
        commit="",
        command="sgbt.train, sgbt.certify and sgbt.attack, as called",
        units={},
        metrics=metrics,
        outcomes=outcomes,
        curve=tuple(curve_of(run.log.rows)),
        weakest=tuple(weakest_words(attacks)),
        model_hash=own,
    )
    examples = examples_of(list(attacks), record.name, run.model.label_names, most=5)
    title = f"{record.dataset}: {record.model} trained with {record.objective}, seed {record.seed}"
    return report_of_records([record], title=title, examples=examples)


def report_of_run_folder(
    folder: str | Path, proofs: Sequence[Certificate] = (), attacks: Sequence[AttackResult] = ()
) -> Report:
    """The report of a run from the folder that `sgbt train` wrote, with rows that were made of its model."""
    folder = Path(folder)
    about = training_note(folder)
    if not about.keys() >= {"dataset", "dataset_hash", "objective", "objective_options", "seed", "config"}:
        raise EvaluationError(
            expected="the folder of a model that sgbt train wrote",
            got="one that does not say how it was trained",
            where=str(folder),
        )
    run = Run(load_classifier(folder), RunLog(folder, read_log(folder)), folder, about, about.get("dev") or {})
    return report_of_run(run, proofs, attacks)


def _own_identity(run: Run, proofs: Sequence[Certificate], attacks: Sequence[AttackResult]) -> str:
    """The identity of the run's model, after a look at whether all rows are about it."""
    own = identity_of(run.model)
    named = [(row.index, row.model_hash) for row in proofs]
    named += [(row.index, row.model_hash) for row in attacks if row.model_hash]  # else it was not kept
    for index, name in named:
        if own.named_by(name) is Naming.OTHER:
            raise EvaluationError(
                expected=f"rows about the model with identity {own.hash[:12]}",
                got=f"one about {name[:12]} for text {index}",
                where="report",
                remedy="certify and attack this model",
            )
    return own.hash
