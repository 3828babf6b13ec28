"""Single figures of any run record, and of two methods on the same texts.

METHOD is a path such as `table1-small/imdb/cnn/ibp`, `imdb-all/grams/certified-maps` or `trials/linear-search/ties-30`
(`pages.rows.matching`).
"""

from __future__ import annotations

from pages.registry import figure
from pages.rows import method, pair, percent, shown
from sgbt.core.errors import SgbtError


@figure
def clean(path: str) -> str:
    """METHOD: clean accuracy in percent."""
    return shown(method(path), "clean")


@figure
def certified(path: str) -> str:
    """METHOD: certified accuracy in percent."""
    return shown(method(path), "certified")


@figure
def certified_of_seed(path: str, seed: str) -> str:
    """METHOD SEED: certified accuracy in percent, of one seed."""
    (record,) = [record for record in method(path).records if record.seed == int(seed)]
    return percent(record.metrics["certified_accuracy"])


@figure
def robust(path: str, attack: str, digits: str = "1") -> str:
    """METHOD ATTACK [DIGITS]: robust accuracy in percent."""
    return percent(method(path).value("robust", attack) or 0.0, int(digits))


@figure
def core_hours(path: str, work: str) -> str:
    """METHOD certify|ATTACK: hours of one core for a thousand million texts like those of the record."""
    metrics = method(path).first.metrics
    seconds = metrics["certified_milliseconds"] / 1000 if work == "certify" else metrics["attacks"][work]["seconds"]
    return f"{round(seconds * 1e9 / 3600, -1):,.0f}"


@figure
def dev(path: str, name: str) -> str:
    """METHOD accuracy|certified: the first seed's figure on dev, in percent."""
    return percent(method(path).first.metrics["dev"][name])


@figure
def more(first: str, second: str, metric: str, digits: str = "1") -> str:
    """METHOD METHOD METRIC [DIGITS]: by how many points the first has more than the second, on the same texts."""
    difference = pair(first, second)[metric].difference
    if difference <= 0:
        raise SgbtError(
            expected=f"{first} above {second} in {metric}",
            got=f"{100 * difference:+.2f} points",
            remedy="the rows contradict the sentence: rewrite it",
        )
    return percent(difference, int(digits))


@figure
def less(first: str, second: str, metric: str, digits: str = "1") -> str:
    """METHOD METHOD METRIC [DIGITS]: by how many points the first has less than the second, on the same texts."""
    return more(second, first, metric, digits)


@figure
def difference(first: str, second: str, metric: str, digits: str = "1") -> str:
    """METHOD METHOD METRIC [DIGITS]: the difference in points, with its sign."""
    return f"{100 * pair(first, second)[metric].difference:+.{int(digits)}f}"


@figure
def p(first: str, second: str, metric: str) -> str:
    """METHOD METHOD METRIC: the p-value of the paired test."""
    return f"{pair(first, second)[metric].p_value:.2g}"
