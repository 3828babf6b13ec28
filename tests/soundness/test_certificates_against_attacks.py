"""Every attack there is against every kind of certificate: none breaks a certified text, within a budget or without."""

from __future__ import annotations

import pytest
from tests.soundness.trained import dataset, table, trained

from sgbt.attacks import attack
from sgbt.certify import certify, check_consistent

MODELS = [("cnn", "ibp", "mean"), ("cnn", "standard", "max"), ("bilstm", "standard", "last"), ("bilstm", "ibp", "max")]


@pytest.mark.parametrize("method", ["pwws", "greedy", "beam", "gradient", "genetic", "pso"])
def test_no_attack_breaks_a_certified_text(method: str) -> None:
    broken = compared = 0
    for kind, objective, pooling in MODELS:
        classifier, texts = trained(kind, objective, pooling), dataset().test[:30]
        results = attack(classifier, texts, table(), method=method, seed=0)
        compared += check_consistent(certify(classifier, texts), results)
        check_consistent(certify(classifier, texts, max_substitutions=1), results)
        broken += sum(result.status == "success" for result in results)
    assert compared > 10
    assert broken > 3, "an attack that never succeeds shows nothing"
