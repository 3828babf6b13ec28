"""Seeds: what every generator of random numbers here can begin from, and every row can name."""

from __future__ import annotations

from numbers import Integral

from sgbt.core.errors import SgbtError

LARGEST_SEED = 2**63 - 1


def check_seed(seed: object, kind: type[SgbtError]) -> None:
    """Refuse a seed that is no whole number from 0 to `LARGEST_SEED`."""
    if not isinstance(seed, Integral) or not 0 <= int(seed) <= LARGEST_SEED:
        got = f"{seed:.3g}" if isinstance(seed, int) and abs(seed) < 10**300 else "something else"
        raise kind(expected="a seed that is a whole number from 0 to 2**63 - 1", got=got, where="seed")
