"""The names that users reach from `import sgbt`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sgbt


@pytest.mark.parametrize("name", sgbt.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(sgbt, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sgbt.nothing  # noqa: B018


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, sgbt; print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
