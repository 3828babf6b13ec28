"""Plain torch modules that respect padding masks: networks and linear models, their worst cases, their folders."""

from sgbt.models.bag_of_ngrams import BagOfNgrams, BagOfNgramsConfig
from sgbt.models.bag_of_words import BagOfWords, BagOfWordsConfig
from sgbt.models.bilstm import BiLSTM, BiLSTMConfig
from sgbt.models.blueprint import AnyModel, Bag, Network
from sgbt.models.classifier import Predictions, TextClassifier
from sgbt.models.cnn import CNNConfig, TextCNN
from sgbt.models.embedding import WordEmbedding
from sgbt.models.folder import load_classifier, save_classifier
from sgbt.models.identity import Identity, Naming, covers_weights_alone, identity_of
from sgbt.models.sum import Sum
from sgbt.models.weights import weights_hash
from sgbt.models.worst_case import feature_box, worst_case_logits

__all__ = [
    "AnyModel",
    "Bag",
    "BagOfNgrams",
    "BagOfNgramsConfig",
    "BagOfWords",
    "BagOfWordsConfig",
    "BiLSTM",
    "BiLSTMConfig",
    "CNNConfig",
    "Identity",
    "Naming",
    "Network",
    "Predictions",
    "Sum",
    "TextCNN",
    "TextClassifier",
    "WordEmbedding",
    "covers_weights_alone",
    "feature_box",
    "identity_of",
    "load_classifier",
    "save_classifier",
    "weights_hash",
    "worst_case_logits",
]
