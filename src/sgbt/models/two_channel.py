"""TwoChannel: one part reads the words, another reads only their codes; their logits are added."""

from __future__ import annotations

from torch import Tensor, nn

from sgbt.models.bilstm import BiLSTM
from sgbt.models.cnn import TextCNN
from sgbt.models.gram_bag import GramBag


class TwoChannel(nn.Module):
    """The sum of a bounded channel over words and a channel over codes that substitutions hardly change.

    What reads only codes is the same for every substitution within communities, however deep it is, so it adds accuracy
    and costs a certificate nothing but for words whose substitutes have several codes, which are bounded as sets.
    """

    kind = "two-channel"

    def __init__(self, words: TextCNN | BiLSTM, codes: TextCNN | BiLSTM | GramBag) -> None:
        super().__init__()
        self.words = words
        self.codes = codes

    @property
    def parts(self) -> tuple[TextCNN | BiLSTM, TextCNN | BiLSTM | GramBag]:
        """The channels whose logits are added."""
        return self.words, self.codes

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Logits of token ids [texts, words]."""
        return self.words(ids, mask) + self.codes(ids, mask)
