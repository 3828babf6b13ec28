"""Attacks by their names on the command line."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from sgbt.attacks.method import Attack
from sgbt.core.errors import AttackError, did_you_mean
from sgbt.core.registry import ATTACKS

ALIASES = {"ga": "genetic"}


def method_named(name: str, **options: Any) -> Attack:
    """The attack of a name, with some of its options changed."""
    head, colon, preset = name.strip().lower().partition(":")
    full = ALIASES.get(head, head) + colon + preset
    if full not in ATTACKS:
        raise AttackError(
            expected=f"one of {', '.join(ATTACKS)}",
            got=repr(name),
            where="method",
            remedy=did_you_mean(full, ATTACKS) or "choose one of them",
        )
    attack: Attack = ATTACKS[full]() if isinstance(ATTACKS[full], type) else ATTACKS[full]
    known = {field.name for field in fields(attack)}  # type: ignore[arg-type]
    if unknown := sorted(set(options) - known):
        raise AttackError(
            expected=f"options of {full} ({', '.join(sorted(known))})", got=unknown[0], where="the options of an attack"
        )
    return replace(attack, **options)  # type: ignore[type-var]


def options_of(name: str, attack: Attack) -> dict[str, Any] | None:
    """The options that `method_named` needs to give this attack; None if no plain values do."""
    base = method_named(name) if name in ATTACKS else None
    if type(base) is not type(attack):
        return None
    names = [field.name for field in fields(attack)]  # type: ignore[arg-type]
    changed = {each: getattr(attack, each) for each in names if getattr(attack, each) != getattr(base, each)}
    plain = all(value is None or isinstance(value, bool | int | float | str) for value in changed.values())
    return changed if plain else None


def full_name(method: str) -> str:
    """The name under which rows are kept: `ga` is `genetic`."""
    head, colon, preset = method.strip().lower().partition(":")
    return ALIASES.get(head, head) + colon + preset
