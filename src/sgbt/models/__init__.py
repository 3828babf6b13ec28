"""Plain torch modules that respect padding masks: TextCNN and BiLSTM, their boxes over substitutions, their folders."""

from sgbt.models.bilstm import BiLSTM, BiLSTMConfig
from sgbt.models.cnn import CNNConfig, TextCNN
from sgbt.models.embedding import WordEmbedding
from sgbt.models.worst_case import feature_box, worst_case_logits

__all__ = ["BiLSTM", "BiLSTMConfig", "CNNConfig", "TextCNN", "WordEmbedding", "feature_box", "worst_case_logits"]
