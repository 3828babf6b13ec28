"""Word vectors as a value, and one loader per file format.

`load_embeddings("glove")` gives an `EmbeddingTable`: words, and one vector for each. Any GloVe or word2vec file does as
well: text or binary, plain, gzipped or zipped. What was parsed once is kept in the user's cache folder and is mapped
into memory the next time.
"""

from sgbt.embeddings.load import load_embeddings
from sgbt.embeddings.table import CLITIC_ALIASES, Coverage, EmbeddingTable

__all__ = ["CLITIC_ALIASES", "Coverage", "EmbeddingTable", "load_embeddings"]
