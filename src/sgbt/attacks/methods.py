"""Every attack by its name on the command line."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from sgbt.attacks.beam import Beam
from sgbt.attacks.ensemble import Ensemble
from sgbt.attacks.genetic import GENETIC_PRESETS
from sgbt.attacks.gradient import Gradient
from sgbt.attacks.greedy import Greedy
from sgbt.attacks.method import Attack
from sgbt.attacks.pso import PSO_PRESETS
from sgbt.attacks.pwws import PWWS
from sgbt.errors import AttackError, did_you_mean

METHODS: dict[str, Attack] = {
    "pwws": PWWS(),
    "genetic": GENETIC_PRESETS["alzantot"],
    **{f"genetic:{name}": attack for name, attack in GENETIC_PRESETS.items()},
    "pso": PSO_PRESETS["zang"],
    **{f"pso:{name}": attack for name, attack in PSO_PRESETS.items()},
    "greedy": Greedy(),
    "beam": Beam(),
    "gradient": Gradient(),
    "ensemble": Ensemble(),
}
"""A name, or a name and a preset."""

ALIASES = {"ga": "genetic"}


def method_named(name: str, **options: Any) -> Attack:
    """The attack of a name, with some of its options changed."""
    head, colon, preset = name.strip().lower().partition(":")
    full = ALIASES.get(head, head) + colon + preset
    if full not in METHODS:
        raise AttackError(
            wanted=f"one of {', '.join(METHODS)}",
            got=repr(name),
            where="method",
            remedy=did_you_mean(full, METHODS) or "choose one of them",
        )
    attack = METHODS[full]
    known = {field.name for field in fields(attack)}  # type: ignore[arg-type]
    if unknown := sorted(set(options) - known):
        raise AttackError(
            wanted=f"options of {full} ({', '.join(sorted(known))})", got=unknown[0], where="the options of an attack"
        )
    return replace(attack, **options)  # type: ignore[type-var]


def full_name(method: str) -> str:
    """The name under which rows are kept: `ga` is `genetic`."""
    head, colon, preset = method.strip().lower().partition(":")
    return ALIASES.get(head, head) + colon + preset
