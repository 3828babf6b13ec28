"""Attacks: PWWS, genetic and swarm search as published, greedy, beam and gradient search, and all of them together.

All attacks work in one space, the texts that a substitution table allows, ask through one engine that answers thousands
of variants of a text at once, and return through one check: what comes out is an adversarial example.
"""

from sgbt.attacks.beam import Beam
from sgbt.attacks.campaign import attack
from sgbt.attacks.check import AttackBugError
from sgbt.attacks.ensemble import BLACK_BOX, WHITE_BOX, Ensemble
from sgbt.attacks.genetic import GENETIC_PRESETS, Genetic
from sgbt.attacks.gradient import Gradient
from sgbt.attacks.greedy import Greedy
from sgbt.attacks.method import Attack
from sgbt.attacks.methods import method_named
from sgbt.attacks.parts_of_speech import PartsOfSpeech
from sgbt.attacks.pso import PSO, PSO_PRESETS
from sgbt.attacks.pwws import PWWS
from sgbt.attacks.result import AttackResult, Swap
from sgbt.attacks.rows import read_rows
from sgbt.attacks.summary import AttackSummary, summarise
from sgbt.attacks.textattack_csv import write_textattack_csv
from sgbt.attacks.victim import CallableVictim
from sgbt.core.shares import Share

__all__ = [
    "BLACK_BOX",
    "GENETIC_PRESETS",
    "PSO",
    "PSO_PRESETS",
    "PWWS",
    "WHITE_BOX",
    "Attack",
    "AttackBugError",
    "AttackResult",
    "AttackSummary",
    "Beam",
    "CallableVictim",
    "Ensemble",
    "Genetic",
    "Gradient",
    "Greedy",
    "PartsOfSpeech",
    "Share",
    "Swap",
    "attack",
    "method_named",
    "read_rows",
    "summarise",
    "write_textattack_csv",
]
