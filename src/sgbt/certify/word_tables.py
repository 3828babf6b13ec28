"""What each word adds to a model's first layer, found once for the whole vocabulary instead of once per batch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sgbt.models import BiLSTM, TextCNN

LIMIT_BYTES = 1 << 30


class WordTables:
    """Projections of words by the affine maps through which they enter models.

    Words enter by affine maps, so the image of each word is a constant of the model. A table of all images is kept
    while all tables together stay below `limit` bytes; beyond that, the words asked for are projected each time. The
    models must not change meanwhile: a table belongs to one run over one frozen copy.
    """

    def __init__(self, *, limit: int = LIMIT_BYTES) -> None:
        self._left = limit
        self._tables: dict[tuple[int, str], Tensor | None] = {}

    def project(self, model: TextCNN | BiLSTM, name: str, weight: Tensor, bias: Tensor | None, codes: Tensor) -> Tensor:
        """weight @ vector + bias of the given codes, [codes, outputs]; `name` tells the maps of one model apart."""
        key = (id(model), name)
        if key not in self._tables:
            rows = model.embedding.weight.shape[0]
            size = rows * weight.shape[0] * weight.element_size()
            self._tables[key] = None
            if size <= self._left:
                self._left -= size
                everything = torch.arange(rows, device=codes.device)
                self._tables[key] = F.linear(model.embedding(everything), weight, bias)
        table = self._tables[key]
        return F.linear(model.embedding(codes), weight, bias) if table is None else table.index_select(0, codes)
