"""sgbt: text classifiers that word substitution cannot fool.

Growth bounds of first order (GBM) and second order (S-GBT) train a classifier to be smooth; certificates prove for
a given text that no combination of synonyms changes its label; attacks try to break it; one protocol compares them.
"""

__version__ = "0.1.0"
