"""Guarded: a small proven model before a large one.

The small model answers a text where its label is proven to stay whatever its table replaces, and its probability is
at least `sure`; everything else is passed on to the large model behind it, about which nothing is proven. Every answer
says which of the two gave it.
"""

from __future__ import annotations

import http.client
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np

from sgbt.certify import Prepared, certify
from sgbt.core.errors import ServeError

SURE = 0.9
SECONDS = 30.0
"""So long a web service may take for its answer."""
MOST_BYTES = 1 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")
Behind = Callable[[Sequence[str]], Any]
"""From texts to a label name each, or to a row of scores each, in the order of the small model's labels."""


@dataclass(frozen=True, slots=True)
class GuardedAnswer:
    """A label and who gave it; `probability` and `verdict` are the small model's."""

    label: str
    answered_by: Literal["proof", "behind"]
    probability: float
    verdict: str


@dataclass(frozen=True, eq=False)
class Guarded:
    """The small model, the large one behind it, and how sure the small one has to be."""

    prepared: Prepared
    behind: Behind
    sure: float = SURE

    def __post_init__(self) -> None:
        if not 0 <= self.sure <= 1:
            raise ServeError(expected="a probability from 0 to 1", got=str(self.sure), where="--sure")

    def answers(self, texts: Sequence[str]) -> list[GuardedAnswer]:
        """The answer for every text; the large model is asked once, about all that are not proven."""
        classifier = self.prepared.classifier
        proofs = certify(self.prepared, texts) if texts else []
        sure = classifier.predict(texts).probabilities.max(axis=1).tolist() if texts else []
        proven = [proof.stays and each >= self.sure for proof, each in zip(proofs, sure, strict=True)]
        asked = [text for text, holds in zip(texts, proven, strict=True) if not holds]
        others = iter(labels_of(self.behind(asked), len(asked), classifier.label_names) if asked else [])
        return [
            GuardedAnswer(
                classifier.label_names[proof.predicted] if holds else next(others),
                "proof" if holds else "behind",
                chance,
                str(proof.verdict),
            )
            for proof, chance, holds in zip(proofs, sure, proven, strict=True)
        ]


def labels_of(found: Any, count: int, names: Sequence[str]) -> list[str]:
    """What the model behind said, as label names; anything else is refused."""
    values = np.asarray(found)
    if values.ndim == 2 and values.shape == (count, len(names)) and values.dtype.kind in "fiu":
        if np.isfinite(values).all():
            return [names[place] for place in values.argmax(axis=1).tolist()]
    elif values.shape == (count,) and all(str(each) in names for each in values.tolist()):
        return [str(each) for each in values.tolist()]
    raise ServeError(
        expected=f"for each of {count} texts one of the labels {', '.join(names)}, or a score for each of them",
        got=repr(found)[:80],
        where="the model behind",
    )


def behind_of(name: str) -> Behind:
    """A function by `module:function`, or a web service of this machine by its address.

    The service is sent `{"texts": [...]}` by POST and answers `{"labels": [...]}`.
    """
    if name.startswith(("http://", "https://")):
        return _service(name)
    return function_named(name, where="--behind")


def function_named(name: str, *, where: str) -> Callable[..., Any]:
    """The function that `module:function` names; modules of the folder that one stands in are found too."""
    module, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as problem:
        raise ServeError(
            expected="module:function of an importable module", got=f"{name!r} ({problem})", where=where
        ) from problem
    if not callable(found):
        raise ServeError(expected="a function", got=type(found).__name__, where=f"{where} {name}")
    return found  # type: ignore[no-any-return]


def _service(address: str) -> Behind:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("http://")
    if parts.scheme != "http" or host not in LOOPBACK:
        raise ServeError(
            expected="an http address of this machine, as http://127.0.0.1:9000/labels, so that texts do not leave it",
            got=repr(address)[:80],
            where="--behind",
            remedy="for a service elsewhere, name a function that asks it",
        )

    def ask(texts: Sequence[str]) -> Any:
        body = json.dumps({"texts": list(texts)}).encode()
        connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
        try:
            connection.request("POST", parts.path or "/", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read(MOST_BYTES + 1)
            if answer.status != http.client.OK or len(content) > MOST_BYTES:
                raise ValueError(f"status {answer.status}, {len(content)} bytes")
            return json.loads(content)["labels"]
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as problem:
            raise ServeError(
                expected='{"labels": [...]} from the model behind', got=str(problem)[:80] or "nothing", where=address
            ) from problem
        finally:
            connection.close()

    return ask
