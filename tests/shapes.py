"""A plugin for pytest, `-p tests.shapes`: modules that write shapes are loaded with jaxtyping, and calls are compared.

Only shapes and kinds of numbers are compared; mypy has the rest.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import jaxtyping

from sgbt.core import shapes

SOURCE = Path(__file__).parents[1] / "src"
WRITES_SHAPES = re.compile(r"^from sgbt\.(core|models)\.shapes import", re.MULTILINE)


def modules() -> list[str]:
    """The modules that write shapes."""
    found = [path for path in SOURCE.rglob("*.py") if WRITES_SHAPES.search(path.read_text("utf-8"))]
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in sorted(found)]


def compared(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, refusing a tensor of another shape than its hint. jaxtyping keeps the sizes within one call."""
    signature = inspect.signature(function)
    hints = {name: each.annotation for name, each in signature.parameters.items() if _shaped(each.annotation)}
    returned = signature.return_annotation

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        for name, hint in hints.items():
            if name in given:
                _compare(name, given[name], hint)
        result = function(*args, **kwargs)
        if _shaped(returned):
            _compare("what is returned", result, returned)
        return result

    return checked


def _shaped(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(_shaped(each) for each in get_args(hint))
    return inspect.isclass(hint) and issubclass(hint, jaxtyping.AbstractArray)


def _compare(name: str, value: Any, hint: Any) -> None:
    if not isinstance(value, get_args(hint) or hint):
        raise TypeError(f"{name}: expected {hint}, got {tuple(getattr(value, 'shape', ()))} {value!r:.80}")


def pytest_load_initial_conftests() -> None:
    """Before any module that writes shapes is loaded: a module that is there already would not be compared."""
    assert not {name for name in modules() if name in sys.modules}
    for kind in ("Bool", "Float", "Int"):
        setattr(shapes, kind, getattr(jaxtyping, kind))
    jaxtyping.install_import_hook(modules(), "tests.shapes.compared")
