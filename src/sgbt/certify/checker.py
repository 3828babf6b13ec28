"""Recompute certificates with numpy alone and nothing of sgbt: copy this file anywhere, and run it by itself.

    python checker.py CERTIFICATES.jsonl --model FOLDER --texts TEXTS.jsonl [--table TABLE.json.gz]

TEXTS.jsonl has an index and a text a line. Exit code 0: no row is false; 1: one is; 2: unreadable; 3: none was checked.
"""

import argparse
import gzip
import hashlib
import itertools
import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np


def require(so: Any, expected: str) -> None:
    """Refuse what could be read in two ways, or not at all."""
    if not so:
        raise ValueError(f"expected {expected}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # of a key that stands twice, readers keep either value
    require(len(dict(pairs)) == len(pairs), "each key once")
    return dict(pairs)


read_json = partial(json.loads, object_pairs_hook=_once)
Array = np.ndarray[Any, Any]
Sets = list[list[int]]  # what may stand at each place, its own word first: ids, or codes; 0 is padding, 1 unknown
Data = dict[str, Any]  # an object of JSON, or the arrays of a part of a model by their names
READINGS, LEVELS, GELU_LOWEST, TOLERANCE, EDGES = 2048, 4, -0.7517915246935645, 1e-9, (5, 10, 20, 40, 80, 160, 320)
PHI: dict[str, Any] = {"tanh": np.tanh, "softplus": lambda z: np.logaddexp(0, z), "relu": lambda z: np.maximum(z, 0)}
PHI["sigmoid"] = lambda z: np.exp(-np.logaddexp(0, -z))
PHI["gelu"] = lambda z: z * (1 + np.vectorize(math.erf, otypes=[float])(z / math.sqrt(2))) / 2
RECOMPUTED, FIELDS = {"ibp", "exact"}, ("label", "predicted", "slack", "max_substitutions", "radius", "tier")
TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64"}


def read_tensors(path: Path) -> tuple[Data, str]:
    """A safetensors file: the length of a JSON header in 8 bytes, the header, raw little-endian numbers. And its hash.
    Whole numbers are codes and keys; weights become float64, and bfloat16 is the upper half of a float32."""
    content, weights, whole = path.read_bytes(), Data(), hashlib.sha256()
    raw = content[8 + int.from_bytes(content[:8], "little") :]
    header = read_json(content[8 : len(content) - len(raw)])
    for name, each in sorted(header.items()):
        kind, part = TYPES.get(each["dtype"], ""), raw[slice(*each["data_offsets"])]
        whole.update(f"{name} {tuple(each['shape'])} torch.{kind}\n".encode() + part)
        require((kind == "int64") == name.endswith(("codes", "keys")) and kind, f"no {each['dtype']} in {name}")
        if kind == "bfloat16":
            part, kind = (np.frombuffer(part, "<u2").astype("<u4") << 16).tobytes(), "float32"
        numbers = np.frombuffer(part, np.dtype(kind).newbyteorder("<")).reshape(each["shape"])
        require(np.isfinite(numbers).all(), f"finite numbers in {name}")
        weights[name.replace("embedding.", "")] = numbers if kind == "int64" else numbers.astype(float)
    require(len({each["dtype"] for each in header.values()} - {"I64"}) == 1, "weights of one precision")
    return weights, whole.hexdigest()


def require_sizes(plan: Data, w: Data, words: int, classes: int) -> None:
    """That each word has a row or a code in range, each class a bias, and each key a row: ascending, so none twice."""
    kind, rows, keys = plan["kind"], len(w["weight"]), w.get("keys", np.zeros(0))
    maps, below = np.atleast_2d(w.get("codes", np.arange(words))), {"linear": 1 << 20, "grams": 1 << 15}.get(kind, rows)
    own = {"linear": words + len(keys), "grams": len(keys)}.get(kind, rows if "codes" in w else words)
    shape = 1 + len(plan["options"].get("more_resolutions", ())), words
    require(rows == own and maps.shape == shape, f"a row or a code for each of {words} words")
    require(w["head.bias" if "head.bias" in w else "bias"].shape == (classes,), f"{classes} classes in the weights")
    require(not maps[:, 0].any() and 0 < maps[:, 1:].min() <= maps.max() < below, "code 0 for padding, others in range")
    require(np.all(keys[1:] > keys[:-1]), "keys in ascending order, each once")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def least_along(sets: Sets, span: int, score: Any, budget: int | None) -> Array:
    """The least sum of score(place, last words [choices, span]), by dynamic programming over what these words are.
    Axes are how many may be replaced so far, which of its set each of the last words is, and the rivals."""
    best, padded = np.zeros((1 + min(budget or 0, len(sets)), *[1] * span)), [[0]] * (span - 1) + sets
    for place in range(len(sets)):
        words = np.stack(np.meshgrid(*padded[place : place + span], indexing="ij"), axis=-1)
        total = best[..., None, :] + score(place, words.reshape(-1, span)).reshape(*words.shape[:-1], -1)
        if budget is not None:  # a substitute, after one replacement fewer
            total[1:, ..., 1:, :], total[0, ..., 1:, :] = total[:-1, ..., 1:, :].copy(), np.inf
        best = total.min(axis=1)
    return np.asarray(best.reshape(-1, best.shape[-1]).min(axis=0))


def _images(w: Data, sets: Sets, matrix: Array) -> Array:  # of a word: its own, the least, the greatest of its set
    return np.stack([[x[0], x.min(0), x.max(0)] for x in (w["weight"][each] @ matrix.T for each in sets)], axis=1)


def network(plan: Data, w: Data, ids: Sets, rivals: Array, budget: int | None, tier: str) -> Array:
    """A TextCNN or BiLSTM. Tier ibp carries a box of numbers through it step by step. Tier exact is a chain of averaged
    windows, or the least of all readings of a model of codes, each a box without width."""
    options, codes, length = plan["options"], w.get("codes"), len(ids)
    sizes, rows, bias = options.get("kernel_sizes", [1]), rivals @ w["head.weight"], rivals @ w["head.bias"]
    sets = ids if codes is None else [[*dict.fromkeys(codes[each].tolist())] for each in ids]
    sets, w["weight"][0] = sets + [[0]] * (max(sizes) - length), 0  # padding

    def score(place: int, words: Array) -> Array:
        found = np.zeros((len(words), len(rivals)))
        for number, (size, part) in enumerate(zip(sizes, np.split(rows, len(sizes), axis=1), strict=True)):
            if 0 <= place - size + 1 < (count := max(length - size + 1, 1)):  # a window ends here
                z = np.einsum("nsw,fws->nf", w["weight"][words[:, -size:]], w[f"convolutions.{number}.weight"])
                found += PHI[options["activation"]](z + w[f"convolutions.{number}.bias"]) @ part.T / count
        return found

    if tier == "exact" and plan["kind"] == "cnn" and options["pooling"] == "mean":
        return np.asarray(bias + least_along(sets, max(sizes), score, budget))
    readings = [sets]
    if tier == "exact":
        few = codes is not None and math.prod(map(len, sets)) <= READINGS
        every = np.array([*itertools.product(*sets)] if few else np.zeros((0, len(sets))), int)
        readings = every[(every != every[:1]).sum(axis=1) <= (len(sets) if budget is None else budget)][..., None]
    boxes = [(cnn_box if plan["kind"] == "cnn" else lstm_box)(options, w, each, length, budget) for each in readings]
    lowest = [np.maximum(rows, 0) @ low + np.minimum(rows, 0) @ high for low, high in boxes]
    return np.asarray(bias + np.min(lowest, axis=0)) if boxes else np.full(len(rivals), np.nan)


def cnn_box(options: Data, w: Data, sets: Sets, length: int, budget: int | None) -> Array:
    """The least and greatest feature. A window is a sum over its words."""
    phi, pool, found = PHI[options["activation"]], np.max if options["pooling"] == "max" else np.mean, []
    for number, size in enumerate(options["kernel_sizes"]):
        matrix, bias = (w[f"convolutions.{number}.{name}"] for name in ("weight", "bias"))
        ends = _images(w, sets, matrix.transpose(2, 0, 1).reshape(-1, matrix.shape[1])).reshape(3, len(sets), size, -1)
        own, low, high = np.stack([ends[:, at : at + max(length - size + 1, 1), at] for at in range(size)], axis=2)
        falls, rises = (np.sort(each, axis=1)[:, :budget].sum(axis=1) for each in (low - own, own - high))
        low, high = own.sum(axis=1) + falls + bias, own.sum(axis=1) - rises + bias
        values = phi(np.stack([low, high, np.clip(GELU_LOWEST, low, high)]))  # gelu alone turns, and there
        found.append([pool(values.min(axis=0), axis=0), pool(values.max(axis=0), axis=0)])
    return np.concatenate(found, axis=1)


def lstm_box(options: Data, w: Data, sets: Sets, _: int, budget: int | None) -> Array:
    """The least and greatest feature, by a box of the state for each number of words replaced so far, if it is small.
    Axes are the ends of the box, whether the word is replaced, the numbers of words replaced and the units."""
    found, levels = [], budget if budget is not None and budget <= LEVELS else 0
    for side, order in (("forwards", 1), ("backwards", -1)):
        more, bias, recurrent, entering = (w[name] for name in sorted(w) if name.startswith(side))
        words = (_images(w, sets, entering)[:, ::order, None] + bias + more)[[[0, 1], [0, 2]]]  # own or any, twice
        rise, fall, states = np.maximum(recurrent, 0).T, np.minimum(recurrent, 0).T, []
        cell = hidden = np.zeros((2, 1, 1 + levels, recurrent.shape[1]))
        for step in range(len(sets)):
            gates = hidden @ rise + hidden[::-1] @ fall + words[:, :, step]
            opened, kept, candidate, output = np.split(gates, 4, axis=-1)
            after = _gated(kept, cell) + _gated(opened, np.tanh(candidate))
            after = np.stack([after, _gated(output, np.tanh(after))])
            if levels:  # a substitute, after one replacement fewer
                after[:, :, 1] = np.concatenate([after[:, :, 0, :1], after[:, :, 1, :-1]], axis=2)
            cell, hidden = np.stack([after[:, 0].min(axis=1), after[:, 1].max(axis=1)], axis=1)[:, :, None]
            states.append(hidden[:, 0, -1])
        found.append({"last": states[-1], "mean": np.mean(states, 0), "max": np.max(states, 0)}[options["pooling"]])
    return np.concatenate(found, axis=1)


def _gated(gate: Array, ends: Array) -> Array:  # a gate is between 0 and 1: x times it is least where x is
    gate = PHI["sigmoid"](gate)
    return np.stack([(gate * ends[0]).min(axis=0), (gate * ends[1]).max(axis=0)])


def bag_of_words(plan: Data, w: Data, ids: Sets, rivals: Array, budget: int | None, _: str) -> Array:
    """A sum over words, each with a factor. A feature reads a word and the codes of its two neighbours: exact."""
    codes, margins, keys = w["codes"], w["weight"] @ rivals.T, np.append(w["keys"], 2**63 - 1)
    near = [np.searchsorted(EDGES, far, side="right") for far in (range(len(ids)), range(len(ids))[::-1])]
    factor = np.exp(w["places.start"][near[0]] + w["places.end"][near[1]]) if "places.end" in w else np.ones(len(ids))
    factor = np.append(0, factor / np.sqrt((factor**2).sum()))

    def score(place: int, words: Array) -> Array:  # of the word before, whose next word is now known
        (before, here, after), word, total = codes[words].T, words[:, 1], margins[words[:, 1]]
        parts = {"before": (word, before), "after": (word, after), "around": (word, before, after)}
        parts |= {"pair": (before, here), "triple": (before, here, after), "skip": (before, after)}
        for name in plan["options"]["features"]:  # a key is four numbers: which feature, and two or three that it reads
            key = [*parts].index(name) << 60 | parts[name][0] << 40 | parts[name][1] << 20 | (*parts[name], 0)[2]
            total = total + margins[np.where(keys[at := np.searchsorted(keys, key)] == key, at + len(codes), 0)]
        return np.asarray(total * factor[place])

    return np.asarray(rivals @ w["bias"] + least_along([*ids, [0]], 3, score, budget))


def bag_of_ngrams(plan: Data, w: Data, ids: Sets, rivals: Array, budget: int | None, _: str) -> Array:
    """A run of codes counts once, wherever it stands. Of a run that is not there whatever is replaced, m places of the
    text can hold it: with d its margin, each counts d / m where d > 0 and d where d < 0, never more than it adds."""
    maps, longest, late = np.atleast_2d(w["codes"]), plan["options"]["longest"], len(ids) - plan["options"]["ending"]
    keys, margins = np.append(w["keys"], -1), np.append(w["weight"] @ rivals.T, np.zeros((1, len(rivals))), axis=0)
    sets = [[*{maps[:, word].tobytes(): word for word in each}.values()] for each in ids]  # one of words read alike

    def rows(at: int, runs: Array) -> Array:  # by every map, and again for a run that begins among the last words
        codes = maps[:, runs] @ (1 << 15 * np.arange(runs.shape[1])[::-1]) | np.arange(len(maps))[:, None] << 61
        codes = np.concatenate([codes, codes | 1 << 60]) if at >= late else codes
        found = np.searchsorted(keys[:-1], codes)
        return np.where(keys[found] == codes, found, len(keys) - 1).T

    spans = [(at, at + size) for size in range(1, longest + 1) for at in range(len(ids) - size + 1)]
    held = [rows(at, np.array([*itertools.product(*sets[at:end])])) for at, end in spans]
    fixed = sorted({*itertools.chain(*(each[0, (each == each[0]).all(axis=0)] for each in held))})
    count = np.bincount([*itertools.chain(*map(np.unique, held))], minlength=len(keys))[:, None]
    credit = np.where(margins > 0, margins / np.maximum(count, 1), margins)
    credit[fixed] = 0

    def score(place: int, words: Array) -> Any:
        ends = range(-min(longest, place + 1), 0)
        return sum(credit[rows(place + end + 1, words[:, end:])].sum(axis=1) for end in ends)

    return np.asarray(rivals @ w["bias"] + margins[fixed].sum(axis=0) + least_along(sets, longest, score, budget))


class Checker:
    """A model folder and a table, and what rows may say of them."""

    def __init__(self, folder: Path, table: Path | None) -> None:
        config, vocabulary = (read_json((folder / f"{name}.json").read_bytes()) for name in ("config", "vocabulary"))
        packed = (table or folder / "substitutions.json.gz").read_bytes()
        stored = read_json(gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed)
        self.table = {word: others for word, others in stored.get("substitutes", stored).items() if others}
        lines = ("\t".join([word, *sorted(self.table[word])]) + "\n" for word in sorted(self.table))
        self.table_hash = _sha256("sgbt substitutions 1\n" + "".join(lines))
        self.ids = {word: number for number, word in enumerate(vocabulary["words"], start=2)}
        self.most, self.pattern, self.parts = config["max_length"], re.compile(config["tokenizer"], re.X), list[Any]()
        labels, words, self.classes = config["label_names"], len(vocabulary["words"]) + 2, len(config["label_names"])
        require(len(self.ids) == words - 2 and len({*labels}) == len(labels), "distinct words and distinct label names")
        weights, whole = read_tensors(folder / "model.safetensors")
        written = partial(json.dumps, sort_keys=True, separators=(",", ":"))
        parts = {name: _sha256(written(config[name])) for name in ("model", "tokenizer", "max_length", "label_names")}
        parts |= {"weights": whole, "vocabulary": _sha256("\n".join(("sgbt vocabulary 1", *vocabulary["words"])))}
        self.names = "id1-" + _sha256(written(parts)), parts["weights"]  # rows of early versions name the weights alone
        model = config["model"]
        named = {f"{name}.": model[name] for name in ("words", "codes") if model["kind"] == "two-channel"}
        named = named or {f"{at}.": part for at, part in enumerate(model.get("parts", ()))} or {"": model}
        for (start, plan), factor in zip(named.items(), model.get("weights", [1.0] * len(named)), strict=True):
            require(factor >= 0, "weights of at least 0")
            own = {name.removeprefix(start): each for name, each in weights.items() if name.startswith(start)}
            require_sizes(plan, own, words, self.classes)
            if "projection.weight" in own:
                own["weight"] = own["weight"] @ own["projection.weight"].T + own["projection.bias"]
            bound = {"linear": bag_of_words, "grams": bag_of_ngrams}.get(plan["kind"], network)
            self.parts += [(factor, partial(bound, plan, own))] * (factor > 0)

    def _margin(self, ids: Sets, label: int, budget: int | None, tier: str) -> float:  # bounds of parts add up
        rivals = np.delete(np.eye(self.classes)[label] - np.eye(self.classes), label, axis=0)
        ids = [each[:1] for each in ids] if budget == 0 else ids
        return float(sum(factor * part(ids, rivals, budget, tier) for factor, part in self.parts).min())

    def check(self, row: dict[str, Any], text: str) -> tuple[str, str, float]:
        """What of a row is not so, or ""; what was not checked, or ""; the margin anew. A NaN agrees with nothing."""
        small = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
        words = self.pattern.findall(small.translate(str.maketrans("’‘ʼ", "'''")))[: self.most]
        ids = [[*dict.fromkeys(self.ids.get(each, 1) for each in (word, *self.table.get(word, ())))] for word in words]
        label, predicted, slack, budget, radius, tier = (row[name] for name in FIELDS)
        limits = (label, predicted, self.classes - 1 - max(label, predicted), budget or 0, radius or 0)
        require(all(type(each) is int and each >= 0 for each in limits), "classes and limits that there are")
        require(row["scale"] == 1, f"a proof about texts, got a study of scale {row['scale']}")
        margin, right, places = row["margin"], predicted == label, sum(len(each) > 1 for each in ids)
        margin, free = -math.inf if margin is None else margin, places if budget is None else min(places, budget)
        verdict = "certified" if margin > slack else "abstained"
        verdict = "misclassified" if not right else verdict if free else "nothing-to-replace"
        own, said = (self._margin(ids, each, 0, "ibp") for each in (label, predicted))
        bounded, near = right and free, TOLERANCE * (1 + abs(own))
        found = own if not bounded else self._margin(ids, label, budget, tier) if tier in RECOMPUTED else math.nan
        held = radius is None or verdict == "certified" or math.isnan(found)
        held = held or any(self._margin(ids, label, radius, each) > slack - near for each in RECOMPUTED)
        stated = (row["text_hash"], row["read"], row["replaceable"])
        faults = {
            "another model": row["model_hash"] in self.names,
            "another table": row["table_hash"] == self.table_hash,
            "another text": stated == (_sha256(text)[:16], len(ids), places),
            f"slack {slack}": 0 <= slack < math.inf,
            f"the model does not say {predicted}": said >= -slack - TOLERANCE,
            f"verdict {row['verdict']}, not certified but {verdict}": row["verdict"] == verdict,
            f"margin {margin}, the text itself has {own}": margin <= own + slack + near,
            f"margin {margin}, recomputed {found}": math.isnan(found) or margin <= found + near + slack * (not bounded),
            f"radius {radius}": radius is None or (right and radius <= free and (held or {*row["tiers"]} - RECOMPUTED)),
        }
        skipped = f"tier {tier}" if math.isnan(found) else "" if held else f"radius {radius}"
        return next((fault for fault, so in faults.items() if not so), ""), skipped, found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("certificates", "--model", "--texts", "--table"):
        parser.add_argument(name, type=Path)
    given, checked = parser.parse_args(), 0
    try:
        rows, lines = ([read_json(line) for line in path.open("rb")] for path in (given.certificates, given.texts))
        texts, checker = {line["index"]: line["text"] for line in lines}, Checker(given.model, given.table)
        for row in rows:
            fault, skipped, _ = checker.check(row, texts[row["index"]])
            if fault:
                parser.exit(1, f"row {row['index']} is not true: {fault}\n")
            checked += not skipped
            print(f"row {row['index']}:", f"not this checker's business: {skipped}" if skipped else "checked")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
        parser.error(f"cannot be read: {problem}")
    print(f"{len(rows)} rows, {checked} checked, {len(rows) - checked} not: no checked row claims too much")
    parser.exit(0 if checked else 3)
