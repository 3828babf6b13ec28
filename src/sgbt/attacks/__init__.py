"""Attacks: PWWS, genetic and swarm search as published, greedy, beam and gradient search, and all of them together.

All attacks work in one space, the texts that a substitution table allows, ask through one engine that answers thousands
of variants of a text at once, and return through one check: what comes out is an adversarial example.
"""

from sgbt.attacks.campaign import attack
from sgbt.attacks.edits.reach import AttackBugError
from sgbt.attacks.queries import QueryEngine, query_engine
from sgbt.attacks.result import AttackResult, AttackSummary, Swap, summarise
from sgbt.attacks.rows import read_rows, write_textattack_csv
from sgbt.attacks.search.beam import Beam
from sgbt.attacks.search.ensemble import BLACK_BOX, WHITE_BOX, Ensemble
from sgbt.attacks.search.genetic import GENETIC_PRESETS, Genetic
from sgbt.attacks.search.gradient import Gradient
from sgbt.attacks.search.greedy import Greedy
from sgbt.attacks.search.method import Attack, Limited, method_named
from sgbt.attacks.search.pso import PSO, PSO_PRESETS
from sgbt.attacks.search.pwws import PWWS, PartsOfSpeech
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
    "Limited",
    "PartsOfSpeech",
    "QueryEngine",
    "Share",
    "Swap",
    "attack",
    "method_named",
    "query_engine",
    "read_rows",
    "summarise",
    "write_textattack_csv",
]
