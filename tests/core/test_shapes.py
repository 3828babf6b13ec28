"""Shapes in signatures are those of the tensors that pass, and cost a user nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from tests.shapes import compared, modules
from torch import Tensor

from sgbt.core.shapes import Float

ROOT = Path(__file__).parents[2]
TESTS = (
    "tests/bounds/test_ibp.py",
    "tests/bounds/test_operators.py",
    "tests/bounds/test_lstm.py",
    "tests/bounds/test_penalty.py",
    "tests/bounds/test_windows.py",
    "tests/models/test_cnn.py",
    "tests/models/test_bilstm.py",
    "tests/models/test_bag_of_words.py",
    "tests/models/test_bag_of_ngrams.py",
    "tests/contracts/test_contracts.py::TestTiers",
)
"""Every bound, the models, and every tier of certificates for every model that has it."""
ENUMERATED = "holds_for_every_text or lower_the_bound or lies_above_the_bound"
"""Of these, which enumerate texts for many options, one case each: other values have the same shapes."""
CASES = f"not ({ENUMERATED}) or 0-1 or 4-2 or 0-2-2-2"


def test_every_tensor_that_passes_has_the_shape_that_is_written() -> None:
    options = ["-q", "-x", "-p", "tests.shapes", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, "-k", CASES, *TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_bounds_models_and_certificates_write_shapes() -> None:
    packages = [name.split(".")[1] for name in modules()]
    assert {package: packages.count(package) > 5 for package in set(packages)} == dict.fromkeys(
        ("bounds", "models", "certify"), True
    )


def joined(left: Any, right: Any) -> Any:
    return torch.cat([left, right])


def test_a_wrong_shape_is_found_and_a_right_one_passes() -> None:
    joined.__annotations__ = {
        "left": jaxtyping.Float[Tensor, "rows width"],
        "right": jaxtyping.Float[Tensor, "others width"] | None,
        "return": jaxtyping.Float[Tensor, "rows+others width"],
    }
    checked = jaxtyping.jaxtyped(typechecker=compared)(joined)
    assert checked(torch.zeros(2, 3), torch.zeros(4, 3)).shape == (6, 3)
    for wrong in (torch.zeros(4, 2), torch.zeros(4), torch.zeros(4, 3, dtype=torch.int64)):
        with pytest.raises(jaxtyping.TypeCheckError, match="right"):
            checked(torch.zeros(2, 3), wrong)


def test_a_user_has_plain_tensors_and_no_jaxtyping() -> None:
    assert Float[Tensor, "texts classes"] is Tensor
    command = "import sys, sgbt.certify, sgbt.models, sgbt.bounds; print('jaxtyping' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
