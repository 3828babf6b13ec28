"""Words, and which words may stand in for which.

`Vocabulary` numbers words. `SubstitutionTable` says which words an adversary may put in the place of which:
counter-fitted neighbours, embedding neighbours, WordNet synonyms, words with the same sememes, or your own JSON.
`SubstitutionIndex` joins the two, and gives for any batch its `Substitutions`: the allowed ids at every position. That
is the one value that attackers, certifiers and trainers all take. `Threat` says what else an adversary may do to a
text (typing errors, words left out, written twice, put in or swapped), and its `Lattice` what that makes of one text.
"""

from sgbt.threats.budgets import LatticeDescription, describe
from sgbt.threats.counter_fitting import CounterFitting
from sgbt.threats.grammar import parse_threat
from sgbt.threats.lattice import Lattice
from sgbt.threats.maker import LatticeMaker, is_reachable
from sgbt.threats.named_entities import named_entities
from sgbt.threats.smoothing import EmbeddingStart, smoothed_vectors
from sgbt.threats.statistics import BatchStatistics, TableDescription, TextStatistics, combinations
from sgbt.threats.substitutions import SubstitutionIndex, Substitutions
from sgbt.threats.table import SubstitutionTable
from sgbt.threats.threat import Threat
from sgbt.threats.vocabulary import PADDING, UNKNOWN, Vocabulary
from sgbt.threats.wordnet import load_wordnet, wordnet_synonyms
from sgbt.threats.wordnet_database import WordNet, read_wordnet

__all__ = [
    "PADDING",
    "UNKNOWN",
    "BatchStatistics",
    "CounterFitting",
    "EmbeddingStart",
    "Lattice",
    "LatticeDescription",
    "LatticeMaker",
    "SubstitutionIndex",
    "SubstitutionTable",
    "Substitutions",
    "TableDescription",
    "TextStatistics",
    "Threat",
    "Vocabulary",
    "WordNet",
    "combinations",
    "describe",
    "is_reachable",
    "load_wordnet",
    "named_entities",
    "parse_threat",
    "read_wordnet",
    "smoothed_vectors",
    "wordnet_synonyms",
]
