"""Plain torch modules that respect padding masks: TextCNN and BiLSTM, their boxes over substitutions, their folders."""

from sgbt.models.bilstm import BiLSTM, BiLSTMConfig
from sgbt.models.blueprint import Model
from sgbt.models.classifier import Predictions, TextClassifier
from sgbt.models.cnn import CNNConfig, TextCNN
from sgbt.models.embedding import WordEmbedding
from sgbt.models.folder import load_classifier, save_classifier, weights_hash
from sgbt.models.two_channel import TwoChannel
from sgbt.models.worst_case import feature_box, worst_case_logits

__all__ = [
    "BiLSTM",
    "BiLSTMConfig",
    "CNNConfig",
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
