"""Recompute certificates with numpy alone and nothing of sgbt: copy this file anywhere, and run it by itself.

    python checker.py CERTIFICATES.jsonl --model FOLDER --texts TEXTS.jsonl [--table TABLE.json.gz]

TEXTS.jsonl has {"index": ..., "text": ...} per line. A row is "checked" if margin, radius and verdict are found again
in float64 with the slack as stated (tiers ibp, exact, clean); another is compared with the text's own margin. Exit code
0: no row claims too much; 1: one does; 2: a file cannot be read, or a row is a study; 3: none was checked (docs/howto).
"""

import argparse
import gzip
import hashlib
import itertools
import json
import math
import re
from collections import Counter, namedtuple
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Sets = list[list[int]]  # what may stand at each place, its own word first: ids, or codes; 0 is padding, 1 unknown
Weights = dict[str, Array]
READINGS, LEVELS, GELU_LOWEST, TOLERANCE, EDGES = 2048, 4, -0.7517915246935645, 1e-9, (5, 10, 20, 40, 80, 160, 320)
PHI: dict[str, Any] = {"tanh": np.tanh, "softplus": lambda z: np.logaddexp(0, z), "relu": lambda z: np.maximum(z, 0)}
PHI["sigmoid"] = lambda z: np.exp(-np.logaddexp(0, -z))
PHI["gelu"] = lambda z: z * (1 + np.vectorize(math.erf, otypes=[float])(z / math.sqrt(2))) / 2
RECOMPUTED, FIELDS = {"ibp", "exact"}, ("label", "predicted", "slack", "max_substitutions", "radius", "tier")
TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64"}
Found = namedtuple("Found", "fault skipped margin")  # what is not so, or ""; what was not checked, or ""; margin anew


def require(so: Any, expected: str) -> None:
    """Refuse what could be read in two ways, or not at all."""
    if not so:
        raise ValueError(f"expected {expected}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # of a key that stands twice, readers keep either value
    require(len(dict(pairs)) == len(pairs), "each key once")
    return dict(pairs)


read_json = partial(json.loads, object_pairs_hook=_once)


def read_tensors(path: Path) -> tuple[Weights, str]:
    """A safetensors file: the length of a JSON header in 8 bytes, the header, raw little-endian numbers. And its hash.
    Whole numbers are codes and keys; weights become float64, and bfloat16 is the upper half of a float32."""
    content, weights, whole = path.read_bytes(), Weights(), hashlib.sha256()
    raw = content[8 + int.from_bytes(content[:8], "little") :]
    header = read_json(content[8 : len(content) - len(raw)])
    header.pop("__metadata__", None)
    ends = np.array(sorted(each["data_offsets"] for each in header.values())).T
    require([0, *ends[1]] == [*ends[0], len(raw)], "arrays one behind the other, and nothing else")
    for name, each in sorted(header.items()):
        kind, part = TYPES.get(each["dtype"], ""), raw[slice(*each["data_offsets"])]
        whole.update(f"{name} {tuple(each['shape'])} torch.{kind}\n".encode() + part)
        require((kind == "int64") == name.endswith(("codes", "keys")) and kind, f"no {each['dtype']} in {name}")
        if kind == "bfloat16":
            part, kind = (np.frombuffer(part, "<u2").astype("<u4") << 16).tobytes(), "float32"
        numbers = np.frombuffer(part, np.dtype(kind).newbyteorder("<")).reshape(each["shape"])
        weights[name] = numbers if kind == "int64" else numbers.astype(float)
        require(np.isfinite(weights[name]).all(), f"finite numbers in {name}")
    require(len({each["dtype"] for each in header.values()} - {"I64"}) == 1, "weights of one precision")
    return weights, whole.hexdigest()


def terms_of(plan: dict[str, Any]) -> list[tuple[str, dict[str, Any], float]]:
    """The parts of a sum, or the model itself: how the names of its arrays begin, its blueprint and its weight."""
    if plan["kind"] in ("sum", "two-channel"):
        named = enumerate(plan["parts"]) if "parts" in plan else [(name, plan[name]) for name in ("words", "codes")]
        weights = plan.get("weights", (1.0, 1.0))
        require(all(weight >= 0 for weight in weights), "weights of at least 0")
        return [(f"{name}.", part, weight) for (name, part), weight in zip(named, weights, strict=True)]
    return [("", plan, 1.0)]


def require_sizes(plan: dict[str, Any], w: Weights, words: int, classes: int) -> None:
    """That each word has a row or a code in range, each class a bias, and each key a row: ascending, so none twice."""
    kind, at = plan["kind"], "embedding." if "head.bias" in w else ""
    rows, keys, codes = len(w[f"{at}weight"]), w.get("keys", np.zeros(0)), w.get(f"{at}codes", np.arange(words))
    below, maps = {"linear": 1 << 20, "grams": 1 << 15}.get(kind, rows), np.atleast_2d(codes)
    own = {"linear": words + len(keys), "grams": len(keys)}.get(kind, rows if "embedding.codes" in w else words)
    shape = 1 + len(plan["options"].get("more_resolutions", ())), words
    require(rows == own and maps.shape == shape, f"a row or a code for each of {words} words")
    require(w["head.bias" if at else "bias"].shape == (classes,), f"{classes} classes in the weights")
    require(not maps[:, 0].any() and 0 < maps[:, 1:].min() <= maps.max() < below, "code 0 for padding, others in range")
    require(np.all(keys[1:] > keys[:-1]), "keys in ascending order, each once")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _against_rivals(rows: Array, label: int) -> Array:  # the label's row minus each other row
    return np.asarray(rows[label] - np.delete(rows, label, axis=0))


def least_along(sets: Sets, span: int, score: Any, rivals: int, budget: int | None) -> Array:
    """The least sum of score(place, last words [choices, span]), by dynamic programming over what these words are."""
    span, best = max(span, 2), np.concatenate([np.zeros((1, 1, rivals)), np.full((budget or 0, 1, rivals), np.inf)])
    for place in range(len(sets)):
        near = [np.array(sets[at] if at >= 0 else [0]) for at in range(place - span + 1, place + 1)]
        counts = [len(each) for each in near]
        grid = np.indices(counts).reshape(span, -1)
        scores = score(place, np.stack([each[chosen] for each, chosen in zip(near, grid, strict=True)], axis=1))
        before = np.asarray(np.ravel_multi_index(tuple(grid[:-1]), counts[:-1]))
        after = np.asarray(np.ravel_multi_index(tuple(grid[1:]), counts[1:]))
        reached = np.full((len(best), math.prod(counts[1:]), rivals), np.inf)
        for level, own in itertools.product(range(len(best)), (True, False)):
            into, taken = level + (budget is not None and not own), (grid[-1] == 0) == own
            if into < len(best):
                np.minimum.at(reached[into], after[taken], best[level][before[taken]] + scores[taken])
        best = reached
    return np.asarray(best.min(axis=(0, 1)))


class Network:
    """A TextCNN or BiLSTM. Its interval bounds are boxes of numbers, carried through it step by step."""

    def __init__(self, plan: dict[str, Any], weights: Weights) -> None:
        self.w, self.cnn, self.pooling = weights, plan["kind"] == "cnn", plan["options"]["pooling"]
        self.sizes, self.name = plan["options"].get("kernel_sizes", [1]), plan["options"].get("activation")
        vectors = weights["embedding.weight"]
        if "embedding.projection.weight" in weights:
            vectors = vectors @ weights["embedding.projection.weight"].T + weights["embedding.projection.bias"]
        self.vectors = vectors * (np.arange(len(vectors)) != 0)[:, None]  # padding is zero

    def bounds(self, ids: Sets, label: int, budget: int | None, tier: str) -> list[Array]:
        """Tier ibp, or tier exact: every reading of a model of codes, or the chain of averaged windows."""
        found, codes = [], self.w.get("embedding.codes")
        sets = ids if codes is None else [codes[each].tolist() for each in ids]
        sets = sets + [[0]] * (max(self.sizes) - len(ids))
        if tier == "ibp":
            found.append(self._interval(sets, len(ids), label, budget))
        elif codes is not None and math.prod(len(set(each)) for each in sets) <= READINGS:
            every = np.array(list(itertools.product(*([*dict.fromkeys(each)] for each in sets))))
            few = every if budget is None else every[(every != every[0]).sum(axis=1) <= budget]
            found.append(np.min([self._interval([[at] for at in each], len(ids), label, None) for each in few], axis=0))
        if tier == "exact" and self.cnn and self.pooling == "mean":
            found.append(self._chain(sets, len(ids), label, budget))
        return found

    def _interval(self, sets: Sets, length: int, label: int, budget: int | None) -> Array:
        low, high = (self._cnn_box if self.cnn else self._lstm_box)(sets, length, budget)
        rows, bias = (_against_rivals(self.w[f"head.{name}"], label) for name in ("weight", "bias"))
        return np.asarray(np.maximum(rows, 0) @ low + np.minimum(rows, 0) @ high + bias)

    def _images(self, sets: Sets, matrix: Array) -> Array:  # of each word: its own, the least, the greatest of its set
        images = [self.vectors[each] @ matrix.T for each in sets]
        return np.stack([[each[0], each.min(axis=0), each.max(axis=0)] for each in images], axis=1)

    def _cnn_box(self, sets: Sets, length: int, budget: int | None) -> Array:  # a window is a sum over its words
        phi, pool, found = PHI[self.name], np.max if self.pooling == "max" else np.mean, []
        for number, size in enumerate(self.sizes):
            matrix, bias = (self.w[f"convolutions.{number}.{name}"] for name in ("weight", "bias"))
            ends = self._images(sets, matrix.transpose(2, 0, 1).reshape(-1, matrix.shape[1]))
            ends, count = ends.reshape(3, len(sets), size, -1), max(length - size + 1, 1)
            own, low, high = np.stack([ends[:, at : at + count, at] for at in range(size)], axis=2)
            falls, rises = (np.sort(each, axis=1)[:, :budget].sum(axis=1) for each in (low - own, own - high))
            low, high = own.sum(axis=1) + falls + bias, own.sum(axis=1) - rises + bias
            values = phi(np.stack([low, high, np.clip(GELU_LOWEST, low, high)]))  # gelu alone turns, and there
            found.append([pool(values.min(axis=0), axis=0), pool(values.max(axis=0), axis=0)])
        return np.concatenate(found, axis=1)

    def _lstm_box(self, sets: Sets, length: int, budget: int | None) -> Array:  # a box for each number of swaps
        names, found = ("weight_ih", "weight_hh", "bias_ih", "bias_hh"), []
        counted = budget is not None and budget <= LEVELS
        for side, order in (("forwards", 1), ("backwards", -1)):
            entering, recurrent, bias, more = (self.w[f"{side}.{name}_l0"] for name in names)
            words = self._images(sets, entering)[:, ::order, None] + bias + more
            rise, fall, states = np.maximum(recurrent, 0).T, np.minimum(recurrent, 0).T, []
            cell = hidden = np.zeros((2, 1 + (budget or 0) * counted, recurrent.shape[1]))  # least and greatest
            for step in range(len(sets)):
                back = hidden @ rise + hidden[::-1] @ fall
                after = lstm_step(back + words[[0, 0] if counted else [1, 2], step], cell)
                if cell.shape[1] > 1:  # or a substitute stood here, after one replacement fewer
                    other = lstm_step(back[:, :-1] + words[1:, step], cell[:, :-1])
                    after[:, 0, 1:] = np.minimum(after[:, 0, 1:], other[:, 0])
                    after[:, 1, 1:] = np.maximum(after[:, 1, 1:], other[:, 1])
                cell, hidden = after
                states.append(hidden[:, -1])
            found.append({"last": states[-1], "mean": np.mean(states, 0), "max": np.max(states, 0)}[self.pooling])
        return np.concatenate(found, axis=1)

    def _chain(self, sets: Sets, length: int, label: int, budget: int | None) -> Array:  # a sum over windows: exact
        rows, base = (_against_rivals(self.w[f"head.{name}"], label) for name in ("weight", "bias"))

        def score(place: int, words: Array) -> Array:
            vectors, total = self.vectors[words], np.zeros((len(words), len(base)))
            for number, size in enumerate(self.sizes):
                matrix, bias = (self.w[f"convolutions.{number}.{name}"] for name in ("weight", "bias"))
                if 0 <= place - size + 1 < (count := max(length - size + 1, 1)):  # a window ends here
                    z = np.einsum("nsw,fws->nf", vectors[:, -size:], matrix) + bias
                    total += PHI[self.name](z) @ np.split(rows, len(self.sizes), axis=1)[number].T / count
            return total

        return np.asarray(base + least_along(sets, max(self.sizes), score, len(base), budget))


def lstm_step(gates: Array, cell: Array) -> Array:
    """Boxes of cell and hidden state after a step, ends along the first axis: [2 states, 2 ends, levels, hidden]."""

    def passed(gate: Array, ends: Array) -> Array:  # a gate is between 0 and 1: g x grows with g where x > 0
        gate = PHI["sigmoid"](gate)
        return np.stack([np.where(ends[0] >= 0, *gate), np.where(ends[1] >= 0, *gate[::-1])]) * ends

    opened, kept, candidate, output = np.split(gates, 4, axis=-1)
    after = passed(kept, cell) + passed(opened, np.tanh(candidate))
    return np.stack([after, passed(output, np.tanh(after))])


def bag_of_words(plan: dict[str, Any], w: Weights, ids: Sets, label: int, budget: int | None, _: str) -> list[Array]:
    """A sum over words, each with a factor. A feature reads a word and the codes of its two neighbours: exact."""
    codes, margins, bias = w["codes"], _against_rivals(w["weight"].T, label).T, _against_rivals(w["bias"], label)
    near = [np.searchsorted(EDGES, far, side="right") for far in (range(len(ids)), range(len(ids))[::-1])]
    factor = np.exp(w["places.start"][near[0]] + w["places.end"][near[1]]) if "places.end" in w else np.ones(len(ids))
    factor, keys = np.append(0, factor / np.sqrt((factor**2).sum())), np.append(w["keys"], 2**63 - 1)

    def score(place: int, words: Array) -> Array:  # of the word before, whose next word is now known
        (before, here, after), word = codes[words].T, words[:, 1]
        parts = {"before": (word, before), "after": (word, after), "around": (word, before, after)}
        parts |= {"pair": (before, here), "triple": (before, here, after), "skip": (before, after)}
        total = margins[word]
        for name in plan["options"]["features"]:  # a key is four numbers: which feature, and two or three that it reads
            key = [*parts].index(name) << 60 | parts[name][0] << 40 | parts[name][1] << 20 | (*parts[name], 0)[2]
            at = np.searchsorted(keys, key)
            total = total + margins[np.where(keys[at] == key, at + len(codes), 0)]
        return np.asarray(total * factor[place])

    return [bias + least_along([*ids, [0]], 3, score, len(bias), budget)]


def bag_of_ngrams(plan: dict[str, Any], w: Weights, ids: Sets, label: int, budget: int | None, _: str) -> list[Array]:
    """A run of codes counts once, wherever it stands. Of a run that is not there whatever is replaced, m places of the
    text can hold it: with d its margin, each counts d / m where d > 0 and d where d < 0, never more than it adds."""
    maps, longest, late = np.atleast_2d(w["codes"]), plan["options"]["longest"], len(ids) - plan["options"]["ending"]
    margins = dict(zip(w["keys"].tolist(), _against_rivals(w["weight"].T, label).T, strict=True))
    alike = [{maps[:, word].tobytes(): word for word in each[::-1]}.values() for each in ids]  # one of words read alike
    sets = [sorted(each, key=own[0].__ne__) for each, own in zip(alike, ids, strict=True)]

    def keys(at: int, run: Any) -> list[int]:  # by every map, and again for a run that begins among the last words
        codes = maps[:, np.array(run)] @ (1 << 15 * np.arange(len(run))[::-1]) | np.arange(len(maps)) << 61
        return [*codes.tolist(), *((codes | 1 << 60).tolist() if at >= late else [])]

    spans = [(at, at + size) for size in range(1, longest + 1) for at in range(len(ids) - size + 1)]
    runs = ([keys(at, run) for run in itertools.product(*sets[at:end])] for at, end in spans)
    places = [set(each) for every in runs for each in zip(*every, strict=True)]
    fixed = {key for each in places if len(each) == 1 for key in each if key in margins}
    holders = Counter(key for each in places for key in each if key in margins and key not in fixed)
    credit = {key: np.where(margins[key] > 0, margins[key] / count, margins[key]) for key, count in holders.items()}
    constant = sum((margins[key] for key in fixed), start=_against_rivals(w["bias"], label))

    def score(place: int, words: Array) -> Array:
        ends = range(-min(longest, place + 1), 0)
        held = ([key for at in ends for key in keys(place + at + 1, run[at:]) if key in credit] for run in words)
        return np.array([sum((credit[key] for key in each), start=0 * constant) for each in held])

    return [constant + least_along(sets, longest, score, len(constant), budget)]


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
        for name, plan, factor in terms_of(config["model"]):
            own = {key[len(name) :]: each for key, each in weights.items() if key.startswith(name)}
            require_sizes(plan, own, words, self.classes)
            bag = {"linear": bag_of_words, "grams": bag_of_ngrams}.get(plan["kind"])
            self.parts += [(factor, partial(bag, plan, own) if bag else Network(plan, own).bounds)] * (factor > 0)

    def _sets(self, text: str) -> Sets:  # letters in lower case one by one, one kind of apostrophe, the token pattern
        small = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
        words = self.pattern.findall(small.translate(str.maketrans("’‘ʼ", "'''")))[: self.most]
        return [[*dict.fromkeys(self.ids.get(each, 1) for each in (word, *self.table.get(word, ())))] for word in words]

    def _margin(self, ids: Sets, label: int, budget: int | None, tier: str) -> float:  # bounds of parts add up
        ids = [each[:1] for each in ids] if budget == 0 else ids
        found = [[factor * each for each in bounds(ids, label, budget, tier)] for factor, bounds in self.parts]
        sums = [np.sum(each, axis=0) for each in itertools.product(*found)]
        return float(np.max(sums, axis=0).min()) if sums else math.nan

    def check(self, row: dict[str, Any], text: str) -> Found:
        """A row beside what is so; all is compared in such a way that a NaN agrees with nothing."""
        ids, (label, predicted, slack, budget, radius, tier) = self._sets(text), (row[name] for name in FIELDS)
        limits = (label, predicted, self.classes - 1 - max(label, predicted), budget or 0, radius or 0)
        require(all(type(each) is int and each >= 0 for each in limits), "classes and limits that there are")
        require(row["scale"] == 1, f"a proof about texts, got a study of scale {row['scale']}")
        margin, right, places = row["margin"], predicted == label, sum(len(each) > 1 for each in ids)
        margin, free = -math.inf if margin is None else margin, places if budget is None else min(places, budget)
        verdict = "certified" if margin > slack else "abstained"
        verdict = "misclassified" if not right else verdict if free else "nothing-to-replace"
        own, said = (self._margin(ids, each, 0, "ibp") for each in (label, predicted))
        found, bounded, near = own, right and free, TOLERANCE * (1 + abs(own))
        if bounded:
            found = self._margin(ids, label, budget, tier) if tier in RECOMPUTED else math.nan
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
        return Found(next((fault for fault, so in faults.items() if not so), ""), skipped, found)


def main() -> None:
    """Say of each row of a file whether it was checked; the first that claims too much ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("certificates", "--model", "--texts", "--table"):
        parser.add_argument(name, type=Path)
    given, checked = parser.parse_args(), 0
    try:
        rows, lines = ([read_json(line) for line in path.open("rb")] for path in (given.certificates, given.texts))
        texts, checker = {line["index"]: line["text"] for line in lines}, Checker(given.model, given.table)
        for row in rows:
            found = checker.check(row, texts[row["index"]])
            if found.fault:
                parser.exit(1, f"row {row['index']} is not true: {found.fault}\n")
            said = f"not this checker's business: {found.skipped}" if found.skipped else "checked"
            checked += not found.skipped
            print(f"row {row['index']}: {said}")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
        parser.error(f"cannot be read: {problem}")
    print(f"{len(rows)} rows, {checked} checked, {len(rows) - checked} not: no checked row claims too much")
    parser.exit(0 if checked else 3)


if __name__ == "__main__":
    main()
