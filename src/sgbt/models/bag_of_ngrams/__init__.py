"""BagOfNgrams: what substitution can make of a text's n-grams, and the worst case; it is registered here."""

from sgbt.models.bag_of_ngrams import worst_case  # noqa: F401  registered
from sgbt.models.bag_of_ngrams.model import BagOfNgrams, BagOfNgramsConfig

__all__ = ["BagOfNgrams", "BagOfNgramsConfig"]
