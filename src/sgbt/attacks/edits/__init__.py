"""Attacks within any threat: its edits of one text as a search space, and texts that are read again."""

from sgbt.attacks.edits.reach import TableReach, ThreatReach
from sgbt.attacks.edits.space import ThreatSpace

__all__ = ["TableReach", "ThreatReach", "ThreatSpace"]
