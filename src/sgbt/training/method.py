"""TrainingMethod: what makes up a training, and the options by which grids, configuration files and commands name it.

The options of a method are those of its objective and, beside them:

- `initialiser`: `vectors`, `cluster_means` or `scaled_cluster_means` (`sgbt.training.initialisers`);
- `tied_words`: resolutions of the clusters whose words are tied (`sgbt.training.sharing`);
- `recipe`: `alone`, `warm_start`, `residual` or `late_fusion` (`sgbt.training.recipes`), with `part`, `part_options`
  and `choose_weight`.

Until version 0.2 all of these were options of the objective `certified`, under other names; those are still read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from sgbt.core.errors import TrainingError
from sgbt.core.fields import kind_of_option
from sgbt.core.registry import OBJECTIVES
from sgbt.core.renamed import one_warning, tell_of_old_names
from sgbt.training.config import chosen, with_options
from sgbt.training.initialisers import INITIALISERS, Initialiser
from sgbt.training.objectives.objective import Objective, Standard
from sgbt.training.recipes import RECIPES, LateFusion, Recipe
from sgbt.training.sharing import TiedWords

DEFAULTS: dict[str, Any] = {
    "initialiser": Initialiser.name,
    "tied_words": (),
    "recipe": Recipe.name,
    "part": LateFusion.part,
    "part_options": {},
    "choose_weight": LateFusion.choose_weight,
}
"""The options beside those of the objective."""

MOVED = {
    "from_communities": "initialiser = 'cluster_means'",
    "ties": "tied_words, with initialiser = 'scaled_cluster_means'",
    "from_bag": "recipe = 'warm_start'",
    "code_channel": "recipe = 'residual' with part = 'grams'",
    "channel_ending": "ending of part_options",
    "channel_resolutions": "more_resolutions of part_options",
    "bag_channel": "recipe = 'residual' with part = 'linear'",
    "apart": "recipe = 'late_fusion'",
    "weighed": "choose_weight",
}
"""Options that `certified` had, and what stands for each now."""


@dataclass(frozen=True)
class TrainingMethod:
    """An objective, where the weights start, which words share parameters, and what a network is combined with."""

    objective: Objective = field(default_factory=Standard)
    initialiser: Initialiser = field(default_factory=Initialiser)
    sharing: TiedWords = field(default_factory=TiedWords)
    recipe: Recipe = field(default_factory=Recipe)

    def __str__(self) -> str:
        more = {name: value for name, value in self.options.items() if name in DEFAULTS}
        return ", ".join([str(self.objective), *(f"{name} {value}" for name, value in more.items())])

    @property
    def name(self) -> str:
        """The name of the objective."""
        return self.objective.name

    @property
    def options(self) -> dict[str, Any]:
        """All options of the objective, and those beside them that are not as by default: `method_of` reads them."""
        recipe = {own.name: getattr(self.recipe, own.name) for own in fields(self.recipe)}
        more = {
            "initialiser": self.initialiser.name,
            "tied_words": self.sharing.resolutions,
            "recipe": self.recipe.name,
        }
        changed = {name: value for name, value in (more | recipe).items() if value != DEFAULTS[name]}
        return asdict(self.objective) | changed

    def for_linear_model(self) -> TrainingMethod:
        """The same for a linear model, which starts at zero and is trained alone."""
        plain = TrainingMethod(self.objective.for_linear_model())
        if replace(plain, objective=self.objective) != self:
            changed = [name for name in self.options if name in DEFAULTS]
            raise TrainingError(
                expected="a method without initialiser, tied_words or recipe for a linear model",
                got=f"{changed[0]} = {self.options[changed[0]]}",
                remedy="leave it out",
            )
        return plain


def method_of(objective: str, options: Mapping[str, Any], where: str = "the objective") -> TrainingMethod:
    """The method that an objective's name and the options of a method describe."""
    with one_warning():
        given = _current(objective, options)
        own = {name: value for name, value in given.items() if name not in DEFAULTS}
        made: Objective = with_options(chosen(OBJECTIVES, objective, where)(), own, where)
    beside = DEFAULTS | {name: value for name, value in given.items() if name in DEFAULTS}
    for name, value in beside.items():
        if name != "part_options" and not (kind := kind_of_option(DEFAULTS[name])).fits(value):
            raise TrainingError(expected=f"{kind.name} for {name}", got=repr(value), where=where)
    recipe = chosen(RECIPES, beside["recipe"], f"{where}, recipe")
    known = {each.name for each in fields(recipe)}
    for name in ("part", "part_options", "choose_weight"):
        if name not in known and beside[name] != DEFAULTS[name]:
            raise TrainingError(
                expected=f"a recipe that has {name}", got=f"the recipe {recipe.name}", where=where,
                remedy=f"recipe = 'late_fusion', or leave {name} out",
            )  # fmt: skip
    return TrainingMethod(
        made,
        chosen(INITIALISERS, beside["initialiser"], f"{where}, initialiser")(),
        TiedWords(beside["tied_words"]),
        recipe(**{name: beside[name] for name in known}),
    )


def _current(objective: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with what `certified` once had under its own names."""
    old = {name: options[name] for name in MOVED if name in options} if objective == "certified" else {}
    if not old:
        return dict(options)
    tell_of_old_names({name: MOVED[name] for name in old})
    found = {name: value for name, value in options.items() if name not in old}
    return _replaced(old) | found


def _replaced(old: Mapping[str, Any]) -> dict[str, Any]:
    """What stands for the old options; those that contradict each other are refused."""
    on = {name: old.get(name) for name in MOVED}
    first = [name for name in ("from_bag", "code_channel", "bag_channel") if on[name]]
    rules = {
        "one of from_bag, code_channel, bag_channel": len(first) > 1,
        "code_channel with channel_ending or channel_resolutions": not on["code_channel"]
        and (on["channel_ending"] or on["channel_resolutions"]),
        "code_channel or bag_channel with apart": on["apart"] and not (on["code_channel"] or on["bag_channel"]),
        "apart with weighed": on["weighed"] and not on["apart"],
    }
    for expected, broken in rules.items():
        if broken:
            raise TrainingError(expected=expected, got=" and ".join(first) or "neither", where="the objective")
    found: dict[str, Any] = {}
    if on["ties"]:
        found |= {"tied_words": on["ties"], "initialiser": "scaled_cluster_means"}
    elif on["code_channel"] or on["from_communities"]:
        found["initialiser"] = "cluster_means"
    if on["from_bag"]:
        found["recipe"] = "warm_start"
    if on["code_channel"] or on["bag_channel"]:
        channel = {"ending": on["channel_ending"], "more_resolutions": on["channel_resolutions"]}
        found |= {"recipe": "late_fusion" if on["apart"] else "residual"}
        found |= (
            {"part": "grams", "part_options": {name: value for name, value in channel.items() if value}}
            if on["code_channel"]
            else {"part": "linear", "part_options": {"features": (), "places": True}}
        )
    return found | ({"choose_weight": True} if on["weighed"] else {})
