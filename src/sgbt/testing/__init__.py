"""What every model, tier, attack and objective must do, as test classes to inherit; they need pytest.

A package that adds one inherits the class of its kind and says by which name it is registered:

    class TestMine(sgbt.testing.ModelContract):
        @pytest.fixture
        def name(self) -> str:
            return "mine"
"""

from sgbt.testing.attack_contract import AttackContract
from sgbt.testing.model_contract import ModelContract
from sgbt.testing.objective_contract import ObjectiveContract
from sgbt.testing.tier_contract import TierContract

__all__ = ["AttackContract", "ModelContract", "ObjectiveContract", "TierContract"]
