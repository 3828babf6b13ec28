"""Shapes of tensors in signatures: `Float[Tensor, "texts classes"]` is a tensor of reals with these two dimensions.

A name stands for one size within one call; `*batch` is any number of dimensions, a number is itself, and a space goes
before a single name. Where the library is used nothing is checked: such a hint is its tensor. Tests load the modules
that write it with jaxtyping in its place, which then compares every call (`tests/shapes.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Annotated as Bool
    from typing import Annotated as Float
    from typing import Annotated as Int
else:

    class Float:
        """A hint that is its tensor."""

        def __class_getitem__(cls, hint: tuple[Any, str]) -> Any:
            return hint[0]

    Bool = Int = Float

__all__ = ["Bool", "Float", "Int"]
