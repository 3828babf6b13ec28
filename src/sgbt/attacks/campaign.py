"""attack: many texts, one method, one row each."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.attacks.check import checked
from sgbt.attacks.engine import Classify
from sgbt.attacks.method import Attack
from sgbt.attacks.methods import full_name, method_named
from sgbt.attacks.result import FAILED, SKIPPED, SUCCESS, AttackResult, Swap
from sgbt.attacks.rows import Rows
from sgbt.attacks.scorer import OutOfQueries, Scorer
from sgbt.attacks.space import SearchSpace
from sgbt.attacks.victim import Victim, victim_of
from sgbt.attacks.workers import in_processes
from sgbt.data import Split
from sgbt.errors import AttackError
from sgbt.lexicon import SubstitutionIndex, SubstitutionTable
from sgbt.models import TextClassifier

Listener = Callable[[AttackResult], None]


def attack(
    model: TextClassifier | Classify | Victim,
    texts: Split | Sequence[str],
    table: SubstitutionTable | SubstitutionIndex,
    *,
    method: str | Attack = "pwws",
    labels: Sequence[int] | None = None,
    seed: int = 0,
    stop_words: Collection[str] = (),
    max_queries: int | None = None,
    out: str | Path | None = None,
    listener: Listener | None = None,
    workers: int = 1,
    **options: Any,
) -> list[AttackResult]:
    """Attack every text within the substitutions of `table`, and say what came of it, in the order of the texts.

    Input: a `TextClassifier` or any callable from texts to label probabilities; a split, or texts with their `labels`
    (without any, the label to break is the one the model gives); the table that a certificate names. `method` is
    a name (`pwws`, `genetic`, `pso`, `greedy`, `beam`, `gradient`, `ensemble`; a preset after a colon, as in
    `pso:openattack`) or an attack; `options` change its own options. Words in `stop_words` are never replaced.

    A text that the model gets wrong is skipped. The random numbers of a text depend on `seed` and the text alone, so
    its row is the same in any company and any order. With `out`, rows are appended to a file of JSON lines as they are
    made; the same call after an interruption makes only those that are missing. With several `workers`, that many
    processes share the texts; the rows are the same.
    """
    words = list(texts.texts if isinstance(texts, Split) else texts)
    if isinstance(texts, Split) and labels is None:
        labels = texts.labels.tolist()
    if labels is not None and len(labels) != len(words):
        raise AttackError(wanted="one label for each text", got=f"{len(words)} texts and {len(labels)} labels")
    if isinstance(method, str):
        name, chosen = full_name(method), method_named(method, **options)
    else:
        name, chosen = method.name, method
    used = table.table if isinstance(table, SubstitutionIndex) else table
    used = used.without(stop_words) if stop_words else used
    victim = victim_of(model)
    used.require_read_by(victim.tokenizer)
    settings = "" if out is None else _settings(victim, used, chosen, name, seed, max_queries)

    def task(index: int) -> AttackResult:
        label = None if labels is None else int(labels[index])
        return _attack_one(victim, words[index], label, used, chosen, index, name, seed, max_queries)

    results: dict[int, AttackResult] = {}
    with Rows(out) as rows:
        for index, text in enumerate(words):
            if (known := rows.find(settings, name, index, text)) is not None:
                results[index] = known
                if listener is not None:
                    listener(known)
        missing = [index for index in range(len(words)) if index not in results]
        for result in in_processes(task, missing, workers=workers):
            rows.add(settings, result)
            results[result.index] = result
            if listener is not None:
                listener(result)
    return [results[index] for index in range(len(words))]


def _attack_one(
    victim: Victim,
    text: str,
    label: int | None,
    table: SubstitutionTable,
    method: Attack,
    index: int,
    name: str,
    seed: int,
    max_queries: int | None,
) -> AttackResult:
    began = time.perf_counter()
    tokens = victim.tokenizer.tokenize(text)
    before = int(np.argmax(victim.probabilities([text])[0]))
    label = before if label is None else label

    def result(status: str, after: int, perturbed: str, swaps: tuple[Swap, ...], queries: int) -> AttackResult:
        took = time.perf_counter() - began
        return AttackResult(index, name, status, label, after, text, perturbed, swaps, len(tokens), queries, took, seed)

    if before != label:
        return result(SKIPPED, before, text, (), 0)
    space = SearchSpace.of(tokens.words, table, length=victim.max_length)
    if not len(space.replaceable):
        return result(FAILED, label, text, (), 0)
    scorer = Scorer(victim.open(tokens, space), space, label, limit=max_queries)
    try:
        found = method.search(scorer, generator_for(text, seed))
    except OutOfQueries:
        found = None
    if found is None:
        return result(FAILED, label, text, (), scorer.queries)
    swaps = tuple(Swap(place, tokens.words[place], word) for place, word in sorted(space.changes(found).items()))
    perturbed, after = checked(victim, tokens, swaps, label, table, name)
    return result(SUCCESS, after, perturbed, swaps, scorer.queries)


def generator_for(text: str, seed: int) -> np.random.Generator:
    """The random numbers of one text: they depend on the seed and its letters, and on nothing else."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest[:16], np.uint32).tolist()])


def _settings(
    victim: Victim, table: SubstitutionTable, method: Attack, name: str, seed: int, max_queries: int | None
) -> str:
    parts = (victim.fingerprint, table.hash, name, repr(method), str(seed), str(max_queries))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
