"""attack: many texts, one method, one row each."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sgbt.attacks.edits.reach import AttackReach, TableReach, ThreatReach
from sgbt.attacks.lockstep import Attacking, OngoingAttack, Shown, in_step
from sgbt.attacks.queries.engine import Classify, TextEngine
from sgbt.attacks.result import FAILED, SKIPPED, SUCCESS, AttackResult, Swap
from sgbt.attacks.rows import ATTACKS, AttackRow, AttackSettings
from sgbt.attacks.search.method import Attack, full_name, method_named, options_of, within_threat
from sgbt.attacks.search.scorer import OutOfQueries, Scorer
from sgbt.attacks.space import SearchSpace, State
from sgbt.attacks.victim import ClassifierVictim, Victim, victim_of
from sgbt.attacks.workers import in_processes
from sgbt.core.errors import AttackError, check_seed
from sgbt.core.rows import RowFile
from sgbt.data import Split
from sgbt.data.tokenizer import Tokens
from sgbt.models import TextClassifier
from sgbt.threats import SubstitutionIndex, SubstitutionTable, Threat

Listener = Callable[[AttackResult], None]
TOGETHER = 32
"""Texts that are attacked side by side."""
BLOCK = 32
"""Texts whose own labels are asked for at once."""
REJECTED = 20
"""How many texts that a search takes for broken and its victim does not end the attack."""


def attack(
    model: TextClassifier | Classify | Victim,
    texts: Split | Sequence[str],
    table: SubstitutionTable | SubstitutionIndex | None = None,
    *,
    threat: Threat | None = None,
    method: str | Attack | None = None,
    labels: Sequence[int] | None = None,
    seed: int = 0,
    stop_words: Collection[str] = (),
    max_queries: int | None = None,
    out: str | Path | None = None,
    fingerprint: str | None = None,
    listener: Listener | None = None,
    workers: int = 1,
    together: int = TOGETHER,
    **options: Any,
) -> list[AttackResult]:
    """Attack every text within the substitutions of `table`: one result per text, in their order.

    Input: a `TextClassifier` or any callable from texts to label probabilities; a split, or texts with their `labels`
    (without any, the label to break is the one the model gives); the table that a certificate names, by default the one
    that a classifier was trained for, or a `threat`, whose every edit is then made. `method` is a name (`pwws`,
    `genetic`, `pso`, `greedy`, `beam`, `gradient`, `ensemble`, `charmer`, `leave-out`; a preset after a colon, as in
    `pso:openattack`) or an attack, by default `pwws`, and `greedy` within a threat; `options` change its own options.
    Words in `stop_words` are never replaced.

    A text that the model gets wrong is skipped. The random numbers of a text depend on `seed` and the text alone, so
    its row is the same in any company and any order. With `out`, rows are appended to a file of JSON lines as they are
    made; the same call after an interruption makes only those that are missing. Rows name their model: a classifier by
    its identity, a callable by its `fingerprint`, which is given here or as an attribute of that name (a text, or a
    method that gives one). With several `workers`, that many processes share the texts; in each, `together` texts are
    attacked side by side; the rows are the same.
    """
    words = list(texts.texts if isinstance(texts, Split) else texts)
    if isinstance(texts, Split) and labels is None:
        labels = texts.labels.tolist()
    if labels is not None and len(labels) != len(words):
        raise AttackError(expected="one label for each text", got=f"{len(words)} texts and {len(labels)} labels")
    if together < 1:
        raise AttackError(expected="one text or more at once", got=str(together), where="together")
    victim = victim_of(model, fingerprint=fingerprint)
    name, chosen, reach = _within(victim, table, threat, method, stop_words, options)
    check_seed(seed, AttackError)
    campaign = Campaign(victim, words, labels, reach, chosen, name, seed, max_queries, together)
    return campaign.kept(out, listener or (lambda result: None), workers=workers)


def _within(
    victim: Victim,
    table: SubstitutionTable | SubstitutionIndex | None,
    threat: Threat | None,
    method: str | Attack | None,
    stop_words: Collection[str],
    options: dict[str, Any],
) -> tuple[str, Attack, AttackReach]:
    """The attack by its name, and what it may make of texts."""
    if threat is not None and (table is not None or stop_words):
        raise AttackError(expected="a threat alone", got="a table or stop words as well", where="attack")
    if threat is not None and threat.only_substitutions and threat.total is None and threat.edits[0].at_most is None:
        table, threat = threat.edits[0].table, None  # any number of words: as rows of tables always were
    method = method or ("pwws" if threat is None else "greedy")
    name, chosen = (
        (full_name(method), method_named(method, **options)) if isinstance(method, str) else (method.name, method)
    )
    known = victim.classifier if isinstance(victim, ClassifierVictim) else None
    if threat is not None:
        chosen = within_threat(chosen, options)
        return name, chosen, ThreatReach(threat, victim.tokenizer, known.vocabulary if known else None, name)
    found = table.table if isinstance(table, SubstitutionIndex) else table
    if found is None and known is not None:
        found = known.table
    if found is None:
        raise AttackError(expected="a substitution table or a threat", got="none", where="attack")
    used = found.without(stop_words) if stop_words else found
    used.require_read_by(victim.tokenizer)
    return name, chosen, TableReach(used, name)


@dataclass(frozen=True)
class Campaign:
    """Everything that determines the rows of some texts."""

    victim: Victim
    texts: Sequence[str]
    labels: Sequence[int] | None
    reach: AttackReach
    method: Attack
    name: str
    seed: int
    max_queries: int | None
    together: int

    def kept(self, out: str | Path | None, listener: Listener, *, workers: int) -> list[AttackResult]:
        """The rows of all texts: those that the file `out` has, and the others, which are added to it."""
        model_hash = "" if out is None else self.victim.fingerprint
        named: dict[str, Any] = dict(self.reach.names)
        hashes = {"table_hash": ""} | {name: named[name] for name in named if name.endswith("hash")}
        settings = AttackSettings(
            model_hash=model_hash,
            method=self.name,
            options=repr(self.method),
            seed=self.seed,
            max_queries=self.max_queries,
            **hashes,
        )
        results: dict[int, AttackResult] = {}
        with RowFile(out, ATTACKS) as file:
            file.require(settings.identity, among=lambda row: row.result.method == self.name)
            file.require_texts(lambda row: self._is_about_its_text(row.result))
            for index in range(len(self.texts)):
                if known := file.rows.get((self.name, index)):
                    results[index] = known.result
                    listener(known.result)
            missing = [index for index in range(len(self.texts)) if index not in results]
            for found in in_processes(self.results, missing, workers=workers):
                result = replace(
                    found,
                    model_hash=model_hash,
                    **named,
                    options=options_of(self.name, self.method),
                    max_queries=self.max_queries,
                    labelled=self.labels is not None,
                )
                file.append(AttackRow(settings.hash, result))
                results[result.index] = result
                listener(result)
        return [results[index] for index in range(len(self.texts))]

    def _is_about_its_text(self, row: AttackResult) -> bool:
        """Whether a row of this method has the text and the label of its number here."""
        if row.method != self.name or row.index >= len(self.texts):
            return True
        return row.original == self.texts[row.index] and (self.labels is None or row.label == self.labels[row.index])

    def results(self, indices: Sequence[int]) -> Iterator[AttackResult]:
        """The rows of the given texts, in the order in which they are done."""
        for search in in_step(self.victim, self._searches(indices), together=self.together):
            assert search.result is not None
            yield replace(search.result, seconds=search.seconds)

    def _searches(self, indices: Sequence[int]) -> Iterator[OngoingAttack]:
        for start in range(0, len(indices), BLOCK):
            block = indices[start : start + BLOCK]
            began = time.perf_counter()
            predicted = self.victim.probabilities([self.texts[index] for index in block]).argmax(axis=1)
            each = (time.perf_counter() - began) / len(block)
            for index, before in zip(block, predicted.tolist(), strict=True):
                yield self._search(index, before, each)

    def _search(self, index: int, before: int, seconds: float) -> OngoingAttack:
        """The attack on one text, ready to ask its first query; `before` is the label that the victim gives it."""
        began = time.perf_counter()
        tokens = self.victim.tokenizer.tokenize(self.texts[index])
        label = before if self.labels is None else int(self.labels[index])
        space = self.reach.space(tokens, length=self.victim.max_length)
        engine = self.victim.open(tokens, space) if before == label and len(space.replaceable) else None
        asking = self._attacked(index, label, before, tokens, space, engine)
        return OngoingAttack(asking, engine, seconds + time.perf_counter() - began)

    def _attacked(
        self, index: int, label: int, before: int, tokens: Tokens, space: SearchSpace, engine: TextEngine | None
    ) -> Attacking:
        text = self.texts[index]

        def result(status: str, after: int, perturbed: str, swaps: tuple[Swap, ...], queries: int) -> AttackResult:
            about = (index, self.name, status, label, after, text, perturbed, swaps)
            return AttackResult(*about, len(tokens), queries, 0.0, self.seed)

        if before != label:
            return result(SKIPPED, before, text, (), 0)
        if engine is None:  # nothing can be replaced
            return result(FAILED, label, text, (), 0)
        scorer = Scorer(engine, space, label, limit=self.max_queries)
        for _ in range(REJECTED):
            try:
                found = yield from self.method.search(scorer, generator_for(text, self.seed))
            except OutOfQueries:
                break
            if found is None:
                break
            swaps = self.reach.swaps(space, found)
            adversarial = yield from checked(self.reach, space, tokens, swaps, found, label)
            if adversarial is not None:
                perturbed, after = adversarial
                return result(SUCCESS, after, perturbed, swaps, scorer.queries)
            scorer.reject(found)
        return result(FAILED, label, text, (), scorer.queries)


def generator_for(text: str, seed: int) -> np.random.Generator:
    """The random numbers of one text: they depend on the seed and its letters, and on nothing else."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest[:16], np.uint32).tolist()])


def checked(
    reach: AttackReach, space: SearchSpace, tokens: Tokens, swaps: tuple[Swap, ...], state: State, label: int
) -> Generator[Shown, int, tuple[str, int] | None]:
    """The adversarial text and its new label, after all that makes it one was seen to hold.

    The text is written back, read afresh, found to be allowed (`Reach.text`), and shown to the victim itself, not to
    the engine that found it; texts of several attacks are shown together. None if no text can be written of the swaps,
    or if the victim keeps its label: an engine may round otherwise than the victim decides.
    """
    text = reach.text(space, tokens, swaps, state)
    if text is None:
        return None
    after = yield Shown(text)
    return None if after == label else (text, after)
