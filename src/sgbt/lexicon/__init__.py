"""Words, and which words may stand in for which.

`Vocabulary` numbers words. `SubstitutionTable` says which words an adversary may put in the place of which:
counter-fitted neighbours, embedding neighbours, WordNet synonyms, words with the same sememes, or your own JSON.
`SubstitutionIndex` joins the two, and gives for any batch its `Substitutions`: the allowed ids at every position. That
is the one value that attackers, certifiers and trainers all take.
"""

from sgbt.lexicon.counter_fitting import CounterFitting
from sgbt.lexicon.named_entities import named_entities
from sgbt.lexicon.smoothing import EmbeddingStart, smoothed_vectors
from sgbt.lexicon.statistics import BatchStatistics, TableDescription, TextStatistics, combinations
from sgbt.lexicon.substitution_index import SubstitutionIndex
from sgbt.lexicon.substitutions import Substitutions
from sgbt.lexicon.table import SubstitutionTable
from sgbt.lexicon.vocabulary import PADDING, UNKNOWN, Vocabulary
from sgbt.lexicon.wordnet import load_wordnet, wordnet_synonyms
from sgbt.lexicon.wordnet_database import WordNet, read_wordnet

__all__ = [
    "PADDING",
    "UNKNOWN",
    "BatchStatistics",
    "CounterFitting",
    "EmbeddingStart",
    "SubstitutionIndex",
    "SubstitutionTable",
    "Substitutions",
    "TableDescription",
    "TextStatistics",
    "Vocabulary",
    "WordNet",
    "combinations",
    "load_wordnet",
    "named_entities",
    "read_wordnet",
    "smoothed_vectors",
    "wordnet_synonyms",
]
