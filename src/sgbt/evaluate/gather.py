"""From the rows of finished units to run records: the same rows give the same records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from sgbt.attacks import AttackResult
from sgbt.attacks import read_rows as read_attacks
from sgbt.attacks.result import FAILED
from sgbt.certify import Certificate, check_consistent
from sgbt.certify import read_rows as read_certificates
from sgbt.certify.edits import ThreatCertificate
from sgbt.core.documents import read_json_object
from sgbt.core.errors import EvaluationError
from sgbt.core.rows import read_rows
from sgbt.core.shares import ByClass, Share
from sgbt.evaluate.metrics import (
    PAIRED_BUDGETS,
    AttackFigures,
    Mean,
    certified_figures,
    certified_within,
    mean_figures,
    share_figures,
    weakest_words,
)
from sgbt.evaluate.plan import Plan, PlannedRun
from sgbt.evaluate.record import RunRecord, read_records, write_records
from sgbt.evaluate.significance import packed, within
from sgbt.evaluate.store import MODEL, PREDICTIONS, RECORDS, ROWS, TIMES, Store, read_times
from sgbt.evaluate.unit import ATTACK, CERTIFY, PREDICT, THREAT, TRAIN
from sgbt.models.folder import CONFIG
from sgbt.training.loop.log import read_log

Row = TypeVar("Row", Certificate, AttackResult, ThreatCertificate)


def gather(store: Store) -> list[RunRecord]:
    """The records of all runs whose model is trained, written to `records.jsonl` as well.

    A certified text that an attack broke stops everything: it is a contradiction, not a figure. Where a folder was
    published without its units, the record of a run stands as it was written, as long as the plan means the same units.
    """
    plan, path = Plan.load(store.folder), store.folder / RECORDS
    kept = {tuple(sorted(each.units.items())): each for each in read_records(path)} if path.is_file() else {}
    found = [record_of(run, store) or kept.get(tuple(sorted(run.units.items()))) for run in plan.runs]
    records = [record for record in found if record is not None]
    if plan.runs:
        write_records(records, path)
    return records


def record_of(run: PlannedRun, store: Store) -> RunRecord | None:
    """The record of a run from what of it is finished; None while its model is not trained."""
    done = {role: key for role, key in run.units.items() if store.finished(key)}
    if TRAIN not in done:
        return None
    trained = store.result(done[TRAIN]) or {}
    model_hash = str(trained.get("model_hash", ""))
    metrics: dict[str, Any] = _training_figures(store.place(done[TRAIN]), trained)
    outcomes: dict[str, Any] = {}
    if PREDICT in done:
        _about(model_hash, [(store.result(done[PREDICT]) or {}).get("model_hash", "")], store, done[PREDICT])
        answers = [
            (row["label"], row["predicted"]) for row in read_rows(store.place(done[PREDICT]) / ROWS, PREDICTIONS)
        ]
        right = [label == predicted for label, predicted in answers]
        metrics |= share_figures("clean", Share(sum(right), len(right)))
        outcomes["clean"] = packed(right)
    certificates: list[Certificate] = []
    if CERTIFY in done:
        certificates = certificates_of(store, done[CERTIFY])
        _about(model_hash, (row.model_hash for row in certificates), store, done[CERTIFY])
        _of_table(run, (row.table_hash for row in certificates), store, done[CERTIFY])
        metrics |= certified_figures(certificates)
        outcomes["certified"] = packed([row.certified for row in certificates])
        outcomes |= {within(budget): packed(certified_within(certificates, budget)) for budget in PAIRED_BUDGETS}
    for role, key in done.items():
        kind, _, threat = role.partition(" ")
        if kind == THREAT:
            rows = _numbered(read_certificates(store.place(key) / ROWS, ThreatCertificate), store, key)
            _about(model_hash, (row.model_hash for row in rows), store, key)
            stays = [row.stays for row in rows]
            metrics.setdefault("threats", {})[threat] = share_figures("certified", Share(sum(stays), len(stays)))
            outcomes[role] = packed(stays)
    if PREDICT in done:
        proven = [(row.label, row.certified) for row in certificates] if CERTIFY in done else None
        metrics["by_class"] = ByClass.of(label_names_of(store, done[TRAIN]), answers, proven=proven).to_json()
    attacked: list[AttackResult] = []
    for role, key in done.items():
        kind, _, method = role.partition(" ")
        if kind == ATTACK:
            results = attacks_of(store, key)
            _about(model_hash, (row.model_hash for row in results), store, key)
            _of_table(run, (row.table_hash for row in results), store, key)
            compared = check_consistent(certificates, results)
            figures = AttackFigures.of(results).to_json() | {"certified_texts_attacked": compared}
            metrics.setdefault("attacks", {})[method] = figures
            outcomes[method] = packed([result.status == FAILED for result in results])
            attacked += results
    return RunRecord(
        **vars(run),
        commit=str(trained.get("commit", "")),
        metrics=metrics,
        outcomes=outcomes,
        curve=tuple(curve_of(read_log(store.place(done[TRAIN]) / MODEL))),
        weakest=tuple(weakest_words(attacked)),
        model_hash=model_hash,
    )


def certificates_of(store: Store, key: str) -> list[Certificate]:
    """The certificates of a finished unit, numbered as test numbers its texts."""
    return _numbered(read_certificates(store.place(key) / ROWS), store, key)


def attacks_of(store: Store, key: str) -> list[AttackResult]:
    """The attack results of a finished unit in the order of test, numbered as test numbers its texts."""
    return _numbered(sorted(read_attacks(store.place(key) / ROWS), key=lambda row: row.index), store, key)


def label_names_of(store: Store, key: str) -> list[str]:
    """The names of the classes of a finished training's model."""
    expected, path = "a config.json that sgbt wrote", store.place(key) / MODEL / CONFIG
    names = read_json_object(path, kind=EvaluationError, expected=expected, finite=False).get("label_names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise EvaluationError(expected=f"{expected}, with label_names", got="something else", where=str(path))
    return names


def curve_of(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The log of a run by epochs: the mean of every loss part, train accuracy, and the scores on dev."""
    curve = []
    for epoch in sorted({row["epoch"] for row in rows}):
        steps = [row for row in rows if row["epoch"] == epoch and "parts" in row]
        names = dict.fromkeys(name for row in steps for name in row["parts"])
        texts = sum(row["texts"] for row in steps)
        right = sum(row["accuracy"] * row["texts"] for row in steps)
        ends = [row for row in rows if row["epoch"] == epoch and "dev" in row]
        curve.append(
            {
                "epoch": epoch + 1,
                "parts": {
                    name: Mean.of([row["parts"][name] for row in steps if name in row["parts"]]).value for name in names
                },
                "accuracy": right / texts if texts and right == right else None,
                "dev": ends[-1]["dev"] if ends else {},
                "best": bool(ends and ends[-1]["best"]),
            }
        )
    return curve


def _training_figures(folder: Path, result: dict[str, Any]) -> dict[str, Any]:
    times = read_times(folder / TIMES)
    return {
        "epochs": result["epochs"],
        "dev": result["dev"],
        **mean_figures("seconds_per_epoch", Mean.of(list(times.values()))),
    }


def _about(model_hash: str, named: Iterable[str], store: Store, key: str) -> None:
    """That the rows of a unit are about the model that was trained; what earlier versions wrote does not say."""
    for name in named if model_hash else ():
        if name != model_hash:
            about = name[:12] or "a model without a name"
            _refuse(f"rows about the model with identity {model_hash[:12]}", f"one about {about}", store, key)


def _of_table(run: PlannedRun, named: Iterable[str], store: Store, key: str) -> None:
    """That the rows of a unit are about the run's table, so that certificates and attacks are about one threat."""
    own = run.substitutions["hash"]
    for name in named:
        if name not in ("", own):
            _refuse(f"rows about the substitution table with hash {own[:12]}", f"one about {name[:12]}", store, key)


def _numbered(rows: list[Row], store: Store, key: str) -> list[Row]:
    """The rows of a finished unit, one for each of its texts, with the numbers that test gives them."""
    result = store.result(key) or {}
    texts, sample = int(result["texts"]), result.get("sample")
    if [row.index for row in rows] != list(range(texts)):
        _refuse(f"one row for each of {texts:,} texts", f"{len(rows):,} rows", store, key)
    return rows if sample is None else [replace(row, index=sample[row.index]) for row in rows]


def _refuse(expected: str, got: str, store: Store, key: str) -> NoReturn:
    remedy = "delete that folder; sgbt bench then does the work again"
    raise EvaluationError(expected=expected, got=got, where=str(store.place(key) / ROWS), remedy=remedy)
