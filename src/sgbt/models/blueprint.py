"""A model as plain data: what to write into a folder so that the same model can be built again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import torch

from sgbt.core.errors import ModelError
from sgbt.core.option_kinds import kind_of_option
from sgbt.core.registry import MODELS
from sgbt.models.bag_of_ngrams import BagOfNgrams, BagOfNgramsConfig
from sgbt.models.bag_of_words import BagOfWords, BagOfWordsConfig
from sgbt.models.bilstm import BiLSTM
from sgbt.models.cnn import TextCNN
from sgbt.models.embedding import WordEmbedding
from sgbt.models.sum import Sum

Network = TextCNN | BiLSTM
"""The networks over word vectors, which every objective can train."""

Bag = BagOfWords | BagOfNgrams
"""The linear models, which need no word vectors and have a worst case of their own."""

AnyModel = Network | Sum | Bag
"""Whatever a folder can hold, and predict and certify with."""


def parts_of(model: AnyModel) -> tuple[Network | Bag, ...]:
    """The models whose logits are added: those of a sum, or the one that there is."""
    return model.parts if isinstance(model, Sum) else (model,)


def words_read_by(part: Network | Bag) -> int:
    """How many ids the model knows: as many as its vocabulary must have, padding and the unknown word included."""
    if isinstance(part, Bag):
        return int(part.codes.shape[-1])
    return len(part.embedding.weight if part.embedding.codes is None else part.embedding.codes)


PAST_OPTIONS = frozenset({"hops"})
"""Options of training that models saved by earlier versions name; the models are the same without them."""


def blueprint(model: AnyModel) -> dict[str, Any]:
    """The kind of a model, its options and the sizes of its embedding, as JSON values."""
    if isinstance(model, Sum):
        plans = [blueprint(part) for part in model.parts]
        if model.kind != Sum.kind:
            return {"kind": model.kind, **dict(zip(model.names, plans, strict=True))}
        return {"kind": model.kind, "weights": list(model.weights), "parts": plans}
    if isinstance(model, Bag):
        sizes = {"words": model.codes.shape[-1], "keys": len(model.keys)}
        return {"kind": model.kind, **sizes, "options": asdict(model.config)}
    rows, width = model.embedding.weight.shape
    encoded = None if model.embedding.codes is None else len(model.embedding.codes)
    return {"kind": model.kind, "rows": rows, "width": width, "encoded": encoded, "options": asdict(model.config)}


def build(plan: dict[str, Any]) -> AnyModel:
    """A model of that blueprint, with weights still to be filled in."""
    try:
        if plan["kind"] in ("sum", "two-channel"):
            return _sum(plan)
        if plan["kind"] in (BagOfWords.kind, BagOfNgrams.kind):
            return empty_bag(plan)
        make = MODELS[plan["kind"]]
        options = options_of(make.Options, plan["options"])
        network: Network = make(embedding_of(plan, options), options)
        return network
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, OverflowError) as problem:
        fault = (str(problem).splitlines() or ["?"])[0][:200]
        raise ModelError(
            expected="a model description that sgbt wrote", got=f"one with a fault at {fault}", where="config.json"
        ) from problem


def _sum(plan: dict[str, Any]) -> Sum:
    if plan["kind"] == "two-channel":
        plans, weights = [plan["words"], plan["codes"]], [1.0, 1.0]
    else:
        plans, weights = plan["parts"], plan["weights"]
    if type(weights) is not list or type(plans) is not list:
        raise TypeError("weights or parts that are no list")
    if any(each["kind"] in ("sum", "two-channel") for each in plans):
        raise TypeError("a sum among the parts of a sum")
    made = Sum(map(build, plans), weights)
    if made.kind != plan["kind"]:
        raise TypeError("two parts of weight one that are not written as two-channel")
    return made


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


def empty_bag(plan: dict[str, Any]) -> Bag:
    """A linear model with room for the planned words and keys."""
    linear = plan["kind"] == BagOfWords.kind
    options = {name: option for name, option in plan["options"].items() if name not in PAST_OPTIONS}
    model: Bag = (
        BagOfWords(options_of(BagOfWordsConfig, options))
        if linear
        else BagOfNgrams(options_of(BagOfNgramsConfig, options))
    )
    maps = 1 if isinstance(model, BagOfWords) else len(model.config.resolutions)
    words, keys = sizes_of(plan, "words", "keys")
    codes = torch.zeros(*([maps] if maps > 1 else []), words, dtype=torch.int64)
    model.adopt(codes=codes, keys=torch.zeros(keys, dtype=torch.int64))
    return model
