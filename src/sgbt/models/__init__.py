"""Plain torch modules that respect padding masks: networks and linear models, their worst cases, their folders."""

import warnings

from sgbt.models.bag_of_ngrams import BagOfNgrams, BagOfNgramsConfig
from sgbt.models.bag_of_words import BagOfWords, BagOfWordsConfig
from sgbt.models.bilstm import BiLSTM, BiLSTMConfig
from sgbt.models.classifier import Predictions, TextClassifier
from sgbt.models.cnn import CNNConfig, TextCNN
from sgbt.models.embedding import WordEmbedding
from sgbt.models.folder import load_classifier, save_classifier
from sgbt.models.identity import Identity, Naming, covers_weights_alone, identity_of, weights_hash
from sgbt.models.sum import Sum
from sgbt.models.worst_case import clean_and_worst_logits, feature_box, worst_case_logits

Network = TextCNN | BiLSTM
"""The networks over word vectors, which every objective can train."""

Bag = BagOfWords | BagOfNgrams
"""The linear models, which need no word vectors and have a worst case of their own."""

AnyModel = Network | Sum | Bag
"""Whatever a folder can hold, and predict and certify with."""

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
    "clean_and_worst_logits",
    "covers_weights_alone",
    "feature_box",
    "identity_of",
    "load_classifier",
    "save_classifier",
    "weights_hash",
    "worst_case_logits",
]

RENAMED = {"LinearBag": "BagOfWords", "GramBag": "BagOfNgrams"}
"""Names of earlier versions, which give a warning."""


def __getattr__(name: str) -> object:
    if name not in RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{name} is now called {RENAMED[name]}", DeprecationWarning, stacklevel=2)
    return globals()[RENAMED[name]]
