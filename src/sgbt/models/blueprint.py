"""A model as plain data: what to write into a folder so that the same model can be built again.

Each kind registers how it is written (`blueprint`) and read (`read_blueprint`) beside its implementation; the default
is that of a network over a `WordEmbedding`, whoever made it. Names of kinds are found in `sgbt.core.registry`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import torch

from sgbt.core.errors import ModelError
from sgbt.core.fields import kind_of_option
from sgbt.core.registry import COMBINATIONS, MODELS
from sgbt.models.embedding import WordEmbedding

if TYPE_CHECKING:
    from sgbt.models import AnyModel, Bag

PAST_OPTIONS = frozenset({"hops"})
"""Options of training that models saved by earlier versions name; the models are the same without them."""
LATER_OPTIONS = {"label_weight": 0.0, "distinction": 0.0}
"""Options that came later, not written while they are as here: models that do not use them keep their identity."""


@singledispatch
def parts_of(model: Any) -> tuple[Any, ...]:
    """The models whose logits are added: those of a sum, or the one that there is."""
    return (model,)


@singledispatch
def words_read_by(part: Any) -> int:
    """How many ids the model knows: as many as its vocabulary must have, padding and the unknown word included."""
    return len(part.embedding.weight if part.embedding.codes is None else part.embedding.codes)


@singledispatch
def blueprint(model: Any) -> dict[str, Any]:
    """The kind of a model, its options and the sizes of its embedding, as JSON values."""
    rows, width = model.embedding.weight.shape
    encoded = None if model.embedding.codes is None else len(model.embedding.codes)
    return {"kind": model.kind, "rows": rows, "width": width, "encoded": encoded, "options": asdict(model.config)}


@singledispatch
def read_blueprint(kind: Any, plan: dict[str, Any]) -> Any:
    """An empty model of a class by its plan; registered by class, and found by `read_blueprint.dispatch(kind)`."""
    options = options_of(kind.Options, plan["options"])
    return kind(embedding_of(plan, options), options)


def build(plan: dict[str, Any]) -> AnyModel:
    """A model of that blueprint, with weights still to be filled in."""
    try:
        kind = (COMBINATIONS if plan["kind"] in COMBINATIONS else MODELS)[plan["kind"]]
        model: AnyModel = read_blueprint.dispatch(kind)(kind, plan)
        return model
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, OverflowError) as problem:
        fault = (str(problem).splitlines() or ["?"])[0][:200]
        raise ModelError(
            expected="a model description that sgbt wrote", got=f"one with a fault at {fault}", where="config.json"
        ) from problem


def options_of(kind: type[Any], given: Mapping[str, Any]) -> Any:
    """The options of a model from JSON, each of the kind that its default has."""
    for field in fields(kind):
        expected = kind_of_option(field.default)
        value = given.get(field.name, field.default)
        if not expected.fits(value) and not (value is None and field.default is None):
            raise ModelError(expected=f"{expected.name} for {field.name}", got=repr(value)[:60], where="config.json")
    return kind(**given)


def sizes_of(plan: Mapping[str, Any], *names: str) -> tuple[int, ...]:
    """Sizes that a plan states: whole numbers of at least 0."""
    for name in names:
        if type(plan[name]) is not int or plan[name] < 0:
            raise ModelError(expected=f"a size for {name}", got=repr(plan[name])[:60], where="config.json")
    return tuple(plan[name] for name in names)


def embedding_of(plan: dict[str, Any], options: Any) -> WordEmbedding:
    """An empty embedding of the planned size."""
    return WordEmbedding(
        torch.zeros(*sizes_of(plan, "rows", "width")),
        trainable=getattr(options, "trainable_embedding", False),
        projection=getattr(options, "projection", None),
        codes=None if plan["encoded"] is None else torch.zeros(*sizes_of(plan, "encoded"), dtype=torch.int64),
    )


def bag_blueprint(model: Bag) -> dict[str, Any]:
    """Of a linear model: its options, and how many words and keys it has."""
    sizes = {"words": model.codes.shape[-1], "keys": len(model.keys)}
    options = {
        name: value for name, value in asdict(model.config).items() if (name, value) not in LATER_OPTIONS.items()
    }
    return {"kind": model.kind, **sizes, "options": options}


def empty_bag(kind: type[Any], plan: dict[str, Any]) -> Any:
    """A linear model with room for the planned words and keys."""
    options = {name: option for name, option in plan["options"].items() if name not in PAST_OPTIONS}
    model = kind(options_of(kind.Options, options))
    words, keys = sizes_of(plan, "words", "keys")
    maps = len(getattr(model.config, "resolutions", (1,)))  # from words to codes
    codes = torch.zeros(*([maps] if maps > 1 else []), words, dtype=torch.int64)
    model.adopt(codes=codes, keys=torch.zeros(keys, dtype=torch.int64))
    return model
