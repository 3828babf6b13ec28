"""Bridges to other tools: TextAttack, OpenAttack, and folders shaped as the Hugging Face hub has them.

None of those tools is needed by sgbt; where one is missing, the bridge to it says so in one sentence. Going the other
way needs no bridge: `sgbt.attack` takes any callable from texts to probabilities, and `sgbt.GrowthPenalty` any module.
"""

from sgbt.bridges.hub import export, load_from_hub, push
from sgbt.bridges.model_card import model_card
from sgbt.bridges.openattack import openattack_classifier
from sgbt.bridges.textattack import textattack_wrapper

__all__ = ["export", "load_from_hub", "model_card", "openattack_classifier", "push", "textattack_wrapper"]
