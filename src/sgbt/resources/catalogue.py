"""The resources that sgbt knows, by their names: licences, layouts with their fingerprints, and providers in order."""

from __future__ import annotations

import difflib

from sgbt.core.errors import ResourceError
from sgbt.resources.known_lexicons import COUNTER_FITTED, SEMEMES, WORDNET
from sgbt.resources.known_texts import IMDB, YAHOO_ANSWERS
from sgbt.resources.known_vectors import GLOVE, GLOVE_6B_50D, GLOVE_6B_100D, GLOVE_840B_300D
from sgbt.resources.resource import Resource

CATALOGUE: dict[str, Resource] = {
    resource.name: resource
    for resource in (
        IMDB,
        YAHOO_ANSWERS,
        GLOVE,
        GLOVE_840B_300D,
        GLOVE_6B_50D,
        GLOVE_6B_100D,
        WORDNET,
        COUNTER_FITTED,
        SEMEMES,
    )
}


def resource_named(name: str) -> Resource:
    """The resource of that name, or an error that suggests the nearest one."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=1)
    remedy = f"did you mean {near[0]}?" if near else "see: sgbt data list"
    raise ResourceError(
        expected=f"one of {', '.join(CATALOGUE)}", got=repr(name), where="the resource name", remedy=remedy
    )
