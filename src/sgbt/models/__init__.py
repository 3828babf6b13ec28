"""Plain torch modules that respect padding masks: LinearBag, TextCNN and BiLSTM, their worst cases, their folders."""

from sgbt.models.bilstm import BiLSTM, BiLSTMConfig
from sgbt.models.blueprint import AnyModel, Model
from sgbt.models.classifier import Predictions, TextClassifier
from sgbt.models.cnn import CNNConfig, TextCNN
from sgbt.models.embedding import WordEmbedding
from sgbt.models.folder import load_classifier, save_classifier, weights_hash
from sgbt.models.linear_bag import LinearBag, LinearBagConfig
from sgbt.models.two_channel import TwoChannel
from sgbt.models.worst_case import feature_box, worst_case_logits

MODELS: dict[str, type[TextCNN] | type[BiLSTM] | type[LinearBag]] = {
    kind.kind: kind for kind in (TextCNN, BiLSTM, LinearBag)
}
"""Every kind of model by its name on the command line."""

__all__ = [
    "MODELS",
    "AnyModel",
    "BiLSTM",
    "BiLSTMConfig",
    "CNNConfig",
    "LinearBag",
    "LinearBagConfig",
    "Model",
    "Predictions",
    "TextCNN",
    "TextClassifier",
    "TwoChannel",
    "WordEmbedding",
    "feature_box",
    "load_classifier",
    "save_classifier",
    "weights_hash",
    "worst_case_logits",
]
