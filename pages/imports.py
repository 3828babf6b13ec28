"""How modules of the package import each other at any commit: counts, and the packages as a Mermaid diagram.

    python -m pages.imports COMMIT [--diagram]

What is counted: modules and lines; pairs of packages and of modules of which one imports the other, and of these those
that import each other; and places that ask for a type by isinstance. Imports inside functions count.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Imports:
    """The modules of a commit by name, what each imports, and how many lines and type tests there are."""

    imports: dict[str, set[str]]
    lines: int
    type_tests: int

    @staticmethod
    def at(commit: str) -> Imports:
        """Read from git, not from the working tree."""
        packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            files = {
                member.name: archive.extractfile(member).read().decode()  # type: ignore[union-attr]
                for member in archive.getmembers()
                if member.name.endswith(".py")
            }
        names = {_name(file): text for file, text in files.items()}
        trees = {name: ast.parse(text) for name, text in names.items()}
        tests = sum(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
            for tree in trees.values()
            for node in ast.walk(tree)
        )
        found = {name: _imported(tree, set(names)) - {name} for name, tree in trees.items()}
        return Imports(found, sum(text.count("\n") for text in names.values()), tests)

    def between_packages(self) -> Counter[tuple[str, str]]:
        """How many imports go from one package to another."""
        found: Counter[tuple[str, str]] = Counter()
        for name, others in self.imports.items():
            found.update((_package(name), _package(other)) for other in others if _package(name) != _package(other))
        return Counter({pair: count for pair, count in found.items() if "sgbt" not in pair})

    def counts(self) -> dict[str, int]:
        """What the table of the page shows."""
        packages = self.between_packages()
        pairs = {(name, other) for name, others in self.imports.items() for other in others}
        return {
            "modules": len(self.imports),
            "lines": self.lines,
            "imports between modules": len(pairs),
            "pairs of modules that import each other": sum((b, a) in pairs for a, b in pairs if a < b),
            "imports between packages": len(packages),
            "pairs of packages that import each other": sum((b, a) in packages for a, b in packages if a < b),
            "type tests (isinstance)": self.type_tests,
        }

    def diagram(self) -> str:
        """Packages and who imports whom, as Mermaid draws it; what follows from another path is left out."""
        pairs = set(self.between_packages())
        names = {name for pair in pairs for name in pair}
        shown = {(a, b) for a, b in pairs if not any((a, mid) in pairs and (mid, b) in pairs for mid in names)}
        return "\n".join(["graph TD", *(f"    {a} --> {b}" for a, b in sorted(shown))])


def _name(file: str) -> str:
    return file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _package(name: str) -> str:
    return name.split(".")[1] if "." in name else "sgbt"


def _imported(tree: ast.Module, known: set[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            within = {f"{node.module}.{each.name}" for each in node.names} & known
            found |= within or {node.module}
    return found & known


def main() -> None:
    """Print the counts of a commit, or its diagram."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("--diagram", action="store_true")
    given = parser.parse_args()
    found = Imports.at(given.commit)
    counts = "\n".join(f"{name}: {count:,}" for name, count in found.counts().items())
    print(found.diagram() if given.diagram else counts)


if __name__ == "__main__":
    main()
