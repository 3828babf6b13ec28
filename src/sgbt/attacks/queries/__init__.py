"""Query engines: the scores of many variants of a text at once, equal to the model's own.

Importing this package registers the engine of each kind of model that has one.
"""

from sgbt.attacks.queries import bag_of_ngrams, bag_of_words, bilstm, cnn
from sgbt.attacks.queries.engine import QueryEngine, query_engine

__all__ = ["QueryEngine", "bag_of_ngrams", "bag_of_words", "bilstm", "cnn", "query_engine"]
