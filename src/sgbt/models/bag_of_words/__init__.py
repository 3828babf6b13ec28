"""BagOfWords: its features, its worst case, and the margins of a corpus by blocks; it is registered here."""

from sgbt.models.bag_of_words import worst_case  # noqa: F401  registered
from sgbt.models.bag_of_words.model import BagOfWords, BagOfWordsConfig

__all__ = ["BagOfWords", "BagOfWordsConfig"]
