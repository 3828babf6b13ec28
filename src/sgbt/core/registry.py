"""What there is by name: models, objectives, attacks, edits, tiers and grids, listed without importing any of them.

A package of somebody else's adds to a registry by `REGISTRY.add(name, thing)`, or by an entry point of the group that
the registry names, which makes the thing known to the command line as soon as its package is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module, metadata, resources
from typing import Any, Generic, TypeVar

from sgbt.core.errors import RegistryError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Things by name. A value given as "module:attribute" is imported when it is first asked for."""

    def __init__(self, kind: str, known: Mapping[str, str]) -> None:
        self.kind = kind
        self._places = dict(known)
        self._loaded: dict[str, T] = {}

    @property
    def group(self) -> str:
        """The group of entry points that belongs to this registry."""
        return f"sgbt.{self.kind}s"

    def add(self, name: str, value: T) -> T:
        """Make one more thing known; a name that another thing has is refused."""
        if name in self and self._loaded.get(name) is not value:
            raise RegistryError(
                expected=f"a new name for a {self.kind}", got=f"{name!r}, which there is", remedy="choose another name"
            )
        self._loaded[name] = value
        return value

    @property
    def own(self) -> tuple[str, ...]:
        """The names that sgbt itself has, in their order: what is installed beside it does not change them."""
        return tuple(self._places)

    def remove(self, name: str) -> None:
        """Forget what was added under a name."""
        del self._loaded[name]

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = _imported(self._places[name] if name in self._places else self._installed[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places or name in self._loaded or name in self._installed

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._places, *self._loaded, *self._installed]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def _installed(self) -> dict[str, str]:
        """Entry points of installed packages; none replaces what sgbt itself has."""
        found = metadata.entry_points(group=self.group)
        return {point.name: point.value for point in found if point.name not in self._places}


def _imported(place: str) -> Any:
    """What "module:name" is; "module:name/key" is an entry of a mapping."""
    module, _, path = place.partition(":")
    name, _, key = path.partition("/")
    value = getattr(import_module(module), name)
    return value[key] if key else value


MODELS: Registry[Any] = Registry(
    "model",
    {
        "cnn": "sgbt.models.cnn:TextCNN",
        "bilstm": "sgbt.models.bilstm:BiLSTM",
        "linear": "sgbt.models.bag_of_words:BagOfWords",
        "grams": "sgbt.models.bag_of_ngrams:BagOfNgrams",
    },
)
"""Kinds of models: classes of torch modules."""

COMBINATIONS: Registry[Any] = Registry(
    "combination", {"sum": "sgbt.models.sum:Sum", "two-channel": "sgbt.models.sum:Sum"}
)
"""Kinds of models that are made of others: a folder may hold one, but none is trained by its name."""

OBJECTIVES: Registry[Any] = Registry(
    "objective",
    {
        "standard": "sgbt.training.objectives.objective:Standard",
        "gbm": "sgbt.training.objectives.growth:GBM",
        "sgbt": "sgbt.training.objectives.growth:SGBT",
        "ibp": "sgbt.training.objectives.ibp:IBP",
        "ascc": "sgbt.training.objectives.ascc:ASCC",
        "atfl": "sgbt.training.objectives.atfl:ATFL",
        "sem": "sgbt.training.objectives.sem:SEM",
        "certified": "sgbt.training.objectives.certified:Certified",
        "worst-edits": "sgbt.training.objectives.worst_edits:WorstEdits",
    },
)
"""Objectives of training: dataclasses of their options."""

ATTACKS: Registry[Any] = Registry(
    "attack",
    {
        "pwws": "sgbt.attacks.search.pwws:PWWS",
        "genetic": "sgbt.attacks.search.genetic:GENETIC_PRESETS/alzantot",
        "genetic:alzantot": "sgbt.attacks.search.genetic:GENETIC_PRESETS/alzantot",
        "genetic:fast": "sgbt.attacks.search.genetic:GENETIC_PRESETS/fast",
        "genetic:openattack": "sgbt.attacks.search.genetic:GENETIC_PRESETS/openattack",
        "pso": "sgbt.attacks.search.pso:PSO_PRESETS/zang",
        "pso:zang": "sgbt.attacks.search.pso:PSO_PRESETS/zang",
        "pso:quick": "sgbt.attacks.search.pso:PSO_PRESETS/quick",
        "pso:openattack": "sgbt.attacks.search.pso:PSO_PRESETS/openattack",
        "pso:openattack-compat": "sgbt.attacks.search.pso:PSO_PRESETS/openattack-compat",
        "greedy": "sgbt.attacks.search.greedy:Greedy",
        "beam": "sgbt.attacks.search.beam:Beam",
        "gradient": "sgbt.attacks.search.gradient:Gradient",
        "ensemble": "sgbt.attacks.search.ensemble:Ensemble",
        "charmer": "sgbt.attacks.search.charmer:Charmer",
        "leave-out": "sgbt.attacks.search.leave_out:LeaveOut",
    },
)
"""Attacks, or presets of them: a class whose options all have defaults, or a value of one."""

EDITS: Registry[Any] = Registry(
    "edit",
    {
        kind: f"sgbt.threats.edit_kinds:{kind}" if kind != "typos" else "sgbt.threats.typos:TypoReader"
        for kind in ("substitutions", "typos", "deletions", "duplications", "insertions", "adjacent_swaps")
    },
)
"""Kinds of edits that threats are made of: functions that say what is written in the place of which words."""

TIERS: Registry[Any] = Registry(
    "tier",
    {
        name: f"sgbt.certify.tiers:OWN_TIERS/{name}"
        for name in ("ibp", "gbm", "sgbt-core", "sgbt-taylor", "crown", "full", "exact")
    },
)
"""Tiers of certificates in the order in which they are tried, those of other packages last: values of `Tier`.

Two exist only where they add something: `full` for BiLSTMs (the boxes of a TextCNN's windows are exact already), and
`exact` for mean-pooled TextCNNs and for whatever reads synonym clusters. Where a tier does not exist it is not tried.
"""

DEVICES = ("auto", "cpu", "cuda")
"""Where a model may be trained."""


def shipped_grids() -> tuple[str, ...]:
    """The grids of benchmarks that come with the package."""
    folder = resources.files("sgbt") / "evaluate" / "grids"
    return tuple(sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")))
