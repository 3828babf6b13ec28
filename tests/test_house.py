"""What keeps the source readable: short modules, short functions, roles by dispatch."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "sgbt"
MODULES = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
LONGEST_MODULE = 300
LONGEST_FUNCTION = 60
KINDS_OF_MODELS = {"TextCNN", "BiLSTM", "BagOfWords", "BagOfNgrams", "Sum"}


def test_a_module_fits_on_four_screens() -> None:
    lines = {module: text.splitlines() for module, text in MODULES.items()}
    assert not {module: len(found) for module, found in lines.items() if len(found) > LONGEST_MODULE}


def test_a_function_is_at_most_sixty_lines_long() -> None:
    """Signature and docstring count."""
    assert not {
        f"{module}:{node.name}": lines
        for module, text in MODULES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    }


def test_no_line_asks_which_kind_of_model_it_has() -> None:
    """Roles are found by dispatch. An assertion narrows a type for the type checker; only a sum flattens sums."""
    found = set()
    for module, text in MODULES.items():
        tree = ast.parse(text)
        asserted = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Assert) for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and id(node) not in asserted:
                named = {each.id for part in node.args[1:] for each in ast.walk(part) if isinstance(each, ast.Name)}
                if node.func.id in ("isinstance", "issubclass") and named & KINDS_OF_MODELS:
                    found.add(module)
            if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name) and node.cls.id in KINDS_OF_MODELS:
                found.add(module)
    assert found == {"models/sum.py"}


def test_a_class_has_a_name_of_its_own() -> None:
    found: dict[str, set[str]] = {}
    for module, text in MODULES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).add(module)
    assert not {name: modules for name, modules in found.items() if len(modules) > 1}
