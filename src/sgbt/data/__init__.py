"""Labelled text as a value: datasets with distinct train, dev and test splits, readers, the tokenizer, batches."""

from sgbt.data.batches import Batch, batches
from sgbt.data.dataset import Split, TextDataset
from sgbt.data.load import load_dataset
from sgbt.data.tokenised import RaggedIds, TokenisedTexts, tokenise
from sgbt.data.tokenizer import Tokenizer, Tokens

__all__ = [
    "Batch",
    "RaggedIds",
    "Split",
    "TextDataset",
    "TokenisedTexts",
    "Tokenizer",
    "Tokens",
    "batches",
    "load_dataset",
    "tokenise",
]
