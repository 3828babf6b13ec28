"""Where real things come from: named resources (imdb, glove, wordnet, ...) and their providers, in order.

A resource is looked up in the data home, then at its official public address, then in a registry package that is read
without being installed. Whatever supplies it, its content is checked against a known fingerprint before it is used.
"""

from sgbt.resources.acquire import Copy, UnavailableError, check, get, locate
from sgbt.resources.catalogue import CATALOGUE, resource_named
from sgbt.resources.resource import Attempt, Layout, Located, Provider, Resource
from sgbt.resources.sources import Progress, Silent

__all__ = [
    "CATALOGUE",
    "Attempt",
    "Copy",
    "Layout",
    "Located",
    "Progress",
    "Provider",
    "Resource",
    "Silent",
    "UnavailableError",
    "check",
    "get",
    "locate",
    "resource_named",
]
