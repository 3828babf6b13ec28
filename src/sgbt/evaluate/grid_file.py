"""Grids as TOML: the shipped ones by name, your own by path; whatever is misspelt is refused by name."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from sgbt.attacks import method_named
from sgbt.attacks.search.method import full_name
from sgbt.certify import DEFAULT_TIERS
from sgbt.certify.tiers import check_tiers
from sgbt.core.documents import parse_toml, read_toml
from sgbt.core.errors import EvaluationError, SgbtError
from sgbt.core.registry import MODELS, OBJECTIVES, shipped_grids
from sgbt.core.renamed import one_warning
from sgbt.evaluate.grid import DEV, TEST, DataSource, Grid, Method, Rule
from sgbt.evaluate.materials import TOY, check_threat
from sgbt.evaluate.table_reader import TableReader
from sgbt.models import Bag
from sgbt.threats import EmbeddingStart
from sgbt.threats.named import check_table_name
from sgbt.training import TrainingConfig, method_of
from sgbt.training.config import with_options

GRIDS = resources.files("sgbt.evaluate") / "grids"
SHIPPED = shipped_grids()


def load_grid(name_or_path: str | Path) -> Grid:
    """The shipped grid of that name, or the grid in a TOML file."""
    if str(name_or_path) in SHIPPED:
        text = (GRIDS / f"{name_or_path}.toml").read_text(encoding="utf-8")
        return parse_grid(text, name=str(name_or_path), where=f"the grid {name_or_path}")
    path = Path(name_or_path).expanduser()
    if path.suffix != ".toml":
        near = difflib.get_close_matches(str(name_or_path), SHIPPED, n=1)
        raise EvaluationError(
            expected=f"one of the grids {', '.join(SHIPPED)}, or a .toml file",
            got=repr(str(name_or_path)),
            remedy=f"did you mean {near[0]}?" if near else "choose one of them",
        )
    tables = read_toml(path, kind=EvaluationError, expected="a grid in a TOML file")
    return _grid_of(tables, name=path.stem, where=str(path), beside=path.parent)


def parse_grid(text: str, *, name: str, where: str, beside: Path | None = None) -> Grid:
    """A grid from TOML. Files that it names are looked for `beside` it; every option is tried before anything runs."""
    return _grid_of(parse_toml(text, kind=EvaluationError, where=where), name=name, where=where, beside=beside)


def _grid_of(tables: dict[str, Any], *, name: str, where: str, beside: Path | None) -> Grid:
    reader = TableReader(tables, where)
    split = _split(reader)
    grid = Grid(
        name=name,
        title=reader.text("title", name),
        datasets=tuple(_dataset(each, beside, split) for each in reader.tables("datasets")),
        models=_models(reader),
        methods=tuple(method for each in reader.tables("methods") for method in _methods(each, beside)),
        seeds=tuple(reader.numbers("seeds", (0,))),
        objectives=_named_options(reader, "objectives", OBJECTIVES),
        vectors=_located(reader.text("vectors", "glove"), beside),
        start=_start(reader),
        substitutions=_located(reader.text("substitutions", "counter_fitted"), beside),
        against=tuple(_located(each, beside) for each in reader.texts("against", None) or ()),
        threats=_threats(reader),
        attacks=_attacks(reader, ()) or (),
        attack_tables=_attack_tables(reader, beside),
        attack_options=_attack_options(reader),
        sample=reader.number("sample", 1000, least=1),
        sample_seed=reader.number("sample_seed", 0),
        sample_correct=reader.flag("sample_correct"),
        max_queries=reader.maybe_number("max_queries"),
        tiers=_tiers(reader, DEFAULT_TIERS) or (),
        certify=reader.maybe_number("certify"),
        last_words=reader.maybe_number("last_words", least=1),
        training=reader.table("training"),
        keep=reader.texts("keep", None) or ("*",),
        rules=tuple(_rule(each) for each in reader.tables("rules", needed=False)),
        pairs=tuple(_pair(each) for each in reader.tables("pairs", needed=False)),
    )
    reader.finish()
    with one_warning():
        _try_options(grid, where)
    return grid


def _split(reader: TableReader) -> str:
    split = reader.text("split", TEST)
    if split not in (DEV, TEST):
        raise EvaluationError(expected=f"{DEV} or {TEST}", got=repr(split), where=f"{reader.where}, split")
    return split


def _start(reader: TableReader) -> EmbeddingStart:
    try:
        start: EmbeddingStart = with_options(EmbeddingStart(), reader.table("start"), f"{reader.where}, start")
    except SgbtError as problem:
        raise EvaluationError(expected=problem.expected, got=problem.got, where=problem.where) from problem
    return start


def _dataset(reader: TableReader, beside: Path | None, split: str) -> DataSource:
    source = reader.text("source")
    found = DataSource(
        source=_located(source, beside),
        name=reader.text("name", Path(source).name.split(".")[0]),
        text=reader.maybe_text("text"),
        label=reader.maybe_text("label"),
        train=reader.maybe_number("train", least=1),
        dev=reader.maybe_number("dev", least=0),
        test=reader.maybe_number("test", least=1),
        split=split,
    )
    reader.finish()
    _plain_name(found.name, reader.where)
    if split == DEV and found.dev == 0:
        raise EvaluationError(expected="texts of dev to measure on", got="dev = 0", where=reader.where)
    return found


def _models(reader: TableReader) -> dict[str, dict[str, Any]]:
    models = _named_options(reader, "models", MODELS)
    if not models:
        raise EvaluationError(expected="one model or more", got="none", where=f"{reader.where}, models")
    return models


def _named_options(reader: TableReader, what: str, known: Collection[str]) -> dict[str, dict[str, Any]]:
    """Tables of options, each under one of the known names."""
    found = reader.table(what)
    for name, options in found.items():
        if name not in known or not isinstance(options, dict):
            raise EvaluationError(
                expected=f"{what} among {', '.join(known)}, each a table of options",
                got=repr(name),
                where=f"{reader.where}, {what}",
            )
    return found


def _methods(reader: TableReader, beside: Path | None) -> list[Method]:
    """A method, or one for each combination of the values that `sweep` lists for some options."""
    objective = reader.text("objective")
    if objective not in OBJECTIVES:
        raise EvaluationError(
            expected=f"one of {', '.join(OBJECTIVES)}", got=repr(objective), where=f"{reader.where}, objective"
        )
    label, options, sweep = reader.text("label", objective), reader.table("options"), reader.table("sweep")
    training, model = reader.table("training"), reader.table("model")
    table = reader.maybe_text("substitutions")
    substitutions = None if table is None else _located(table, beside)
    reader.finish()
    _plain_name(label, reader.where)
    for name, values in sweep.items():
        if not isinstance(values, list) or not values:
            raise EvaluationError(
                expected=f"a list of values for {name}", got=repr(values), where=f"{reader.where}, sweep"
            )
    found = []
    for chosen in product(*sweep.values()):
        point = dict(zip(sweep, chosen, strict=True))
        name = "-".join([label, *(f"{option}{value}" for option, value in point.items())])
        found.append(Method(objective, name, options | point, training, model, substitutions))
    return found


def _rule(reader: TableReader) -> Rule:
    rule = Rule(
        cells=reader.text("cells"),
        training=reader.table("training"),
        model=reader.table("model"),
        objective=reader.table("objective"),
        attacks=_attacks(reader, None),
        tiers=_tiers(reader, None),
        certify=reader.maybe_number("certify"),
        last_words=reader.maybe_number("last_words", least=1),
    )
    reader.finish()
    return rule


def _pair(reader: TableReader) -> tuple[str, str]:
    pair = reader.text("method"), reader.text("against")
    reader.finish()
    return pair


def _attacks(reader: TableReader, default: tuple[str, ...] | None) -> tuple[str, ...] | None:
    names = reader.texts("attacks", default)
    if names is None:
        return None
    for name in names:
        method_named(name)  # refuses an unknown one
    return tuple(dict.fromkeys(full_name(name) for name in names))


def _threats(reader: TableReader) -> tuple[str, ...]:
    """Threats as the command line writes them; tables are made when they are needed, but their names are read now."""
    names = reader.texts("threats", None) or ()
    for name in names:
        check_threat(name)
    return names


def _attack_options(reader: TableReader) -> dict[str, dict[str, Any]]:
    found = {}
    for name, options in reader.table("attack_options").items():
        if not isinstance(options, dict):
            raise EvaluationError(expected="a table of options", got=repr(options), where=f"attack_options of {name}")
        method_named(name, **options)  # refuses an unknown one
        found[full_name(name)] = options
    return found


def _attack_tables(reader: TableReader, beside: Path | None) -> dict[str, str]:
    found = {}
    for name, table in reader.table("attack_substitutions").items():
        if not isinstance(table, str):
            raise EvaluationError(
                expected="the name of a table", got=repr(table), where=f"{reader.where}, attack_substitutions of {name}"
            )
        method_named(name)  # refuses an unknown one
        found[full_name(name)] = _located(table, beside)
    return found


def _tiers(reader: TableReader, default: tuple[str, ...] | None) -> tuple[str, ...] | None:
    names = reader.texts("tiers", default)
    return None if names is None else check_tiers(names)


def _located(name: str, beside: Path | None) -> str:
    """A file that lies beside the grid, by its full path; every other name as it is."""
    if beside is not None and not Path(name).is_absolute() and (beside / name).is_file():
        return str(beside / name)
    return name


def _plain_name(name: str, where: str) -> None:
    if not name or any(sign in name for sign in "/*?[]\n\t "):
        raise EvaluationError(
            expected="a name without blanks and without any of / * ? [ ]", got=repr(name), where=where
        )


def _try_options(grid: Grid, where: str) -> None:
    """Build every option once, so that a misspelt one stops the benchmark before it begins and not after a day."""
    names = [each.name for each in grid.datasets], [method.label for method in grid.methods]
    for kind, listed in zip(("dataset", "method"), names, strict=True):
        if twice := [name for name in listed if listed.count(name) > 1]:
            raise EvaluationError(
                expected=f"{kind}s with different names",
                got=f"{twice[0]!r} twice",
                where=where,
                remedy="give one of them another " + ("name" if kind == "dataset" else "label"),
            )
    for name in grid.objectives:
        if name not in {method.objective for method in grid.methods}:
            raise EvaluationError(
                expected="options of an objective that some method has", got=repr(name), where=f"{where}, objectives"
            )
    for attack, table in grid.attack_tables.items():
        if table not in (grid.against or (grid.substitutions,)):
            raise EvaluationError(
                expected="a table of `against`, so that it is certified as well", got=repr(table),
                where=f"{where}, attack_substitutions of {attack}",
            )  # fmt: skip
    _check_tables(grid, where)
    for cell in grid.cells():
        try:
            with_options(TrainingConfig(), dict(cell.training), "training")
            with_options(MODELS[cell.model].Options(), dict(cell.model_options), "model")
            method = method_of(cell.method.objective, cell.objective_options)
            if issubclass(MODELS[cell.model], Bag):
                method.for_linear_model()  # refuses what a linear model cannot be trained with
        except SgbtError as problem:
            raise EvaluationError(
                expected=problem.expected, got=problem.got, where=f"{where}, {problem.where} of {cell.name}"
            ) from problem


def _check_tables(grid: Grid, where: str) -> None:
    """That every table has a name that is known."""
    trained_for = [each.substitutions for each in grid.methods if each.substitutions]
    for name in (grid.substitutions, *grid.against, *trained_for):
        if name == TOY:
            continue
        try:
            check_table_name(name)
        except SgbtError as problem:
            raise EvaluationError(
                expected=problem.expected, got=problem.got, where=f"{where}, substitutions", remedy=problem.remedy
            ) from problem
