"""What is published: the package and what describes it, not the results or tests of the repository."""

from __future__ import annotations

import tarfile
from pathlib import Path, PurePosixPath

import pytest

builders = pytest.importorskip("hatchling.builders.sdist", reason="hatchling is not installed: pip install hatchling")
ROOT = Path(__file__).parents[1]
DESCRIBING = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "constraints.txt", "pyproject.toml"}


def test_a_source_distribution_has_the_package_and_no_results_or_tests(tmp_path: Path) -> None:
    (archive,) = builders.SdistBuilder(str(ROOT)).build(directory=str(tmp_path))
    with tarfile.open(archive) as packed:
        names = {PurePosixPath(*PurePosixPath(name).parts[1:]) for name in packed.getnames()}
    manual = PurePosixPath("docs/sgbt.1")
    assert {name.parts[0] for name in names - {manual}} - {".gitignore"} == DESCRIBING | {"src"}
    assert manual in names
    package = {PurePosixPath(path.relative_to(ROOT).as_posix()) for path in (ROOT / "src" / "sgbt").rglob("*.py")}
    assert package <= names
