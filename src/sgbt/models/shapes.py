"""What passes between models, their worst cases, training and certificates, by shape (`sgbt.core.shapes`).

A text is a row of ids, padding behind its words. With substitutions, every word has a row of choices, itself the first.
"""

from __future__ import annotations

from typing import TypeAlias

from torch import Tensor

from sgbt.core.shapes import Bool, Float, Int

Ids: TypeAlias = Int[Tensor, "texts words"]
Mask: TypeAlias = Bool[Tensor, "texts words"]
Choices: TypeAlias = Int[Tensor, "texts words choices"]
Allowed: TypeAlias = Bool[Tensor, "texts words choices"]
Labels: TypeAlias = Int[Tensor, " texts"]
Lengths: TypeAlias = Int[Tensor, " texts"]
Logits: TypeAlias = Float[Tensor, "texts classes"]
Vectors: TypeAlias = Float[Tensor, "texts words width"]
Features: TypeAlias = Float[Tensor, "texts features"]
