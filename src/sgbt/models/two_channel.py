"""TwoChannel: a network over the words and a channel beside it, of codes or of single words; their logits are added."""

from __future__ import annotations

from torch import Tensor, nn

from sgbt.models.bag_of_ngrams import BagOfNgrams
from sgbt.models.bag_of_words import BagOfWords
from sgbt.models.bilstm import BiLSTM
from sgbt.models.cnn import TextCNN


class TwoChannel(nn.Module):
    """The sum of a bounded channel over words and a second channel, mostly over codes that substitutions hardly change.

    What reads only codes is the same for every substitution within communities, however deep it is, so it adds accuracy
    and costs a certificate nothing but for words whose substitutes have several codes, which are bounded as sets. A
    `BagOfWords` of single words as the second channel says exactly what words weigh, and leaves to the network what
    words say together. Bounds of both add up.
    """

    kind = "two-channel"

    def __init__(self, words: TextCNN | BiLSTM, codes: TextCNN | BiLSTM | BagOfNgrams | BagOfWords) -> None:
        super().__init__()
        self.words = words
        self.codes = codes

    @property
    def parts(self) -> tuple[TextCNN | BiLSTM, TextCNN | BiLSTM | BagOfNgrams | BagOfWords]:
        """The channels whose logits are added."""
        return self.words, self.codes

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Logits of token ids [texts, words]."""
        logits: Tensor = self.words(ids, mask) + self.codes(ids, mask)
        return logits
