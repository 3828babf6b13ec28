"""BiLSTM: equal to torch's own bidirectional LSTM on each text alone; padding is never read."""

from __future__ import annotations

import pytest
import torch
from tests import small
from torch import Tensor, nn

from sgbt.models import BiLSTM


def textbook(model: BiLSTM, words: Tensor) -> Tensor:
    """One unpadded text through nn.LSTM(bidirectional=True) with the same weights."""
    lstm = nn.LSTM(model.embedding.width, model.config.hidden, batch_first=True, bidirectional=True)
    state = {}
    for ours, suffix in ((model.forwards, ""), (model.backwards, "_reverse")):
        state |= {name + suffix: value for name, value in ours.state_dict().items()}
    lstm.load_state_dict(state)
    states, (last, _) = lstm(model.embedding(words).unsqueeze(0))
    pooled = {"last": last.transpose(0, 1).flatten(1), "mean": states.mean(dim=1), "max": states.amax(dim=1)}
    return model.head(pooled[model.config.pooling])[0]


@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
@pytest.mark.parametrize("projection", [None, 3])
def test_it_equals_the_bidirectional_lstm_of_torch_on_each_text_alone(pooling: str, projection: int | None) -> None:
    model = small.model_of("bilstm", pooling=pooling, projection=projection, classes=3)
    texts = [torch.tensor(small.VOCABULARY.encode(words)) for words in small.random_texts(12, 9, seed=2)]
    ids = torch.stack([nn.functional.pad(text, (0, 12 - len(text))) for text in texts])
    expected = torch.stack([textbook(model, text) for text in texts])
    assert torch.allclose(model(ids), expected, atol=1e-6)
    assert torch.allclose(model.from_vectors(model.embedding(ids), ids != 0), expected, atol=1e-6)
