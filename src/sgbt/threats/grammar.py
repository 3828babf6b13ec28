"""Threats as the command line writes them: "counter_fitted | wordnet + typos:1 + delete:2:any + within:3".

Parts are joined by + or |. A part is a substitution table by its name (`sgbt.threats.named`; the option at_most limits
how many words are replaced), or an edit with its budget: typos:K, delete:K, delete:K:any, delete:K:the,a,
duplicate:K, insert:K:very,quite, swap:K; a kind that another package registered, by its name: NAME:K or
NAME:K:some,words. within:K limits all edits together. A name or word that would be misread stands in quotes, as a JSON
string: "my table, a+b" or delete:1:"+","stop" (the words, where stop alone means stop words).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sgbt.core.errors import LexiconError, did_you_mean
from sgbt.core.registry import EDITS
from sgbt.threats.edit_kinds import ANY
from sgbt.threats.quoting import split, unquoted
from sgbt.threats.table import SubstitutionTable
from sgbt.threats.threat import STOP, STOP_WORDS, WITHIN, Threat, joined

Tables = Callable[[str], SubstitutionTable | None]
"""Finds a table by its name."""
WHERE = "--threat"
EXAMPLE = "for example counter_fitted + typos:1 + delete:2"


def _words(written: str) -> tuple[str, ...]:
    """The words of a list; "any" and "stop" alone mean what they say where they are not quoted."""
    if written == STOP:
        return STOP_WORDS
    return tuple(unquoted(each) for each in split(written, ",")) if written else ()


def _delete(budget: int, words: str) -> Threat:
    return Threat.deletions(_words(words or STOP), at_most=budget)


def _insert(budget: int, words: str) -> Threat:
    if not words:
        raise LexiconError(expected="words to insert", got="none", where=WHERE, remedy="write insert:1:very,quite")
    return Threat.insertions(ANY if words == ANY else _words(words), at_most=budget)


OWN: dict[str, Callable[[int, str], Threat]] = {
    "typos": lambda budget, words: Threat.typos(budget),
    "delete": _delete,
    "duplicate": lambda budget, words: Threat.duplications(at_most=budget),
    "insert": _insert,
    "swap": lambda budget, words: Threat.adjacent_swaps(at_most=budget),
}
TAKES_WORDS = ("delete", "insert")


def parse_threat(written: str, tables: Tables) -> Threat:
    """The threat that a line names; `tables` finds substitution tables by name."""
    parts = [part.strip() for part in split(written, "+|")]
    if not all(parts):
        raise LexiconError(expected="threats joined by + or |", got=repr(written), where=WHERE, remedy=EXAMPLE)
    totals = [part for part in parts if part.partition(":")[0] == WITHIN]
    found = [_part(part, tables) for part in parts if part not in totals]
    if not found or len(totals) > 1:
        raise LexiconError(
            expected="at least one edit and at most one total", got=repr(written), where=WHERE, remedy=EXAMPLE
        )
    threat = joined(found)
    return threat.within(total=_budget(totals[0].partition(":")[2], totals[0])) if totals else threat


def _part(part: str, tables: Tables) -> Threat:
    head, *rest = split(part, ":")
    if head in OWN or (head in EDITS and head not in EDITS.own):
        budget, words = (rest[0] if rest else ""), ":".join(rest[1:])
        if head not in OWN:
            return Threat.edit(head, at_most=_budget(budget, part), words=_words(words))
        if words and head not in TAKES_WORDS:
            raise LexiconError(expected=f"{head} with a number alone", got=repr(part), where=WHERE)
        return OWN[head](_budget(budget, part), words)
    options = [each for each in ":".join(rest).split(",") if each]
    limits = [each for each in options if each.startswith("at_most=")]
    kept = ",".join(each for each in options if each not in limits)
    name, near = unquoted(head), did_you_mean(head, [*OWN, *EDITS])
    try:
        table = tables(f"{name}:{kept}" if kept else name)
    except LexiconError as problem:
        if not near:
            raise
        raise LexiconError(expected=problem.expected, got=problem.got, where=WHERE, remedy=near) from problem
    if table is None:
        raise LexiconError(expected="a substitution table", got=repr(part), where=WHERE, remedy=EXAMPLE)
    at_most = _budget(limits[-1].partition("=")[2], part) if limits else None
    return Threat.substitutions(table, at_most=at_most)


def _budget(written: str, part: str) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", written):
        raise LexiconError(expected="a whole number as the budget", got=repr(part), where=WHERE, remedy=EXAMPLE)
    return int(written)
