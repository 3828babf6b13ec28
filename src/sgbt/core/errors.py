"""What a person reads when something is wrong: one sentence, and never a traceback.

Every error that bad input, a missing file or a full disk can cause is an `SgbtError`. Its text says what was expected,
what came instead, where, and what to do. The command line prints it and leaves with exit code 2.

File names, labels, words and texts of others can hold anything. What would steer a terminal, or turn the order of
letters, is written out (`visible`): control characters (C0 but for line break and tab, delete, C1), marks that override
the direction of writing, and halves of surrogate pairs appear as their escapes.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable
from numbers import Integral

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)


def visible(text: str) -> str:
    """The same text, with an escape in place of every character that does more than stand where it is."""
    return _STEERING.sub(_escape, text) if _STEERING.search(text) else text


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


class SgbtError(Exception):
    """An error that the user can correct: bad input, missing data, a wrong option.

    Build it from the four things a reader needs: `expected` and `got` state the mismatch, `where` names the file, line,
    column or option, and `remedy` is the next thing to try.
    """

    def __init__(self, *, expected: str, got: str, where: str = "", remedy: str = "") -> None:
        self.expected, self.got, self.where, self.remedy = expected, got, where, remedy
        place = f" in {where}" if where else ""
        advice = f"; {remedy}" if remedy else ""
        stop = "" if remedy.endswith("?") else "."
        super().__init__(visible(f"expected {expected}, got {got}{place}{advice}{stop}"))

    def __reduce__(self) -> tuple[object, ...]:  # an error of a worker process reaches its parent by pickling
        return _rebuilt, (type(self), self.expected, self.got, self.where, self.remedy)


def did_you_mean(got: str, known: Iterable[str]) -> str:
    """A remedy for a mistyped name: the nearest known one, or nothing."""
    near = difflib.get_close_matches(got, list(known), n=1)
    return f"did you mean {near[0]}?" if near else ""


def _rebuilt(kind: type[SgbtError], expected: str, got: str, where: str, remedy: str) -> SgbtError:
    return kind(expected=expected, got=got, where=where, remedy=remedy)


class DataError(SgbtError):
    """Labelled text that cannot be read or used as given."""


class ResourceError(SgbtError):
    """A named resource that no provider could supply, or that is not what its checksum says."""


class LexiconError(SgbtError):
    """A vocabulary or substitution table that cannot be built as asked."""


class EmbeddingError(SgbtError):
    """A word-vector file that cannot be read as one."""


class ModelError(SgbtError):
    """A model that cannot be built, saved or loaded as asked."""


class TrainingError(SgbtError):
    """Training that cannot begin or go on as asked."""


class AttackError(SgbtError):
    """An attack that cannot be made as asked."""


class BoundError(SgbtError, ValueError):
    """A bound that would not mean anything: an empty box, a size that does not fit, an unproven range."""


class CertificateError(SgbtError):
    """A certificate that cannot be made, read or reconciled as asked."""


class ForgedRowError(CertificateError):
    """A false row: it cannot be proven, or it is about another model, table or text."""


class RegistryError(SgbtError):
    """A name that cannot be added to a registry."""


class EvaluationError(SgbtError):
    """A benchmark, a run record or a report that cannot be made as asked."""


class ServeError(SgbtError):
    """A server that cannot be started, or a request that cannot be met, as asked."""


class SgbtWarning(UserWarning):
    """Something a person should know, although the work goes on."""


class NotVerifiedWarning(SgbtWarning):
    """What is used has no fingerprint that its content could be compared with. It is said each time, not once."""


warnings.filterwarnings("always", category=NotVerifiedWarning, append=True)  # behind whatever a person has chosen


LARGEST_SEED = 2**63 - 1


def check_seed(seed: object, kind: type[SgbtError]) -> None:
    """Refuse a seed that is no whole number from 0 to `LARGEST_SEED`."""
    if not isinstance(seed, Integral) or not 0 <= int(seed) <= LARGEST_SEED:
        got = f"{seed:.3g}" if isinstance(seed, int) and abs(seed) < 10**300 else "something else"
        raise kind(expected="a seed that is a whole number from 0 to 2**63 - 1", got=got, where="seed")
