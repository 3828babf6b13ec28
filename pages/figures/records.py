"""Single figures of any run record, and of two methods on the same texts.

METHOD is a path such as `table1-small/imdb/cnn/ibp`, `imdb-all/grams/certified-maps` or `trials/linear-search/ties-30`
(`pages.rows.matching`).
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from pages.registry import figure
from pages.rows import RESULTS, method, pair, percent, shown
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


@figure
def report_table(folder: str, *wanted: str) -> str:
    """FOLDER MODEL/LABEL ...: lines of the first table of results/FOLDER/report.md for each; * stands for anything."""
    heads, lines = set(), []
    for each in wanted:
        model, _, label = each.partition("/")
        header, rule, *body = _first_table(folder, model)
        heads.add((header, rule))
        found = [line for line in body if fnmatchcase(line.split(" | ", 1)[0].removeprefix("| "), label)]
        if not found or len(heads) > 1:
            raise SgbtError(
                expected=f"{each} in a table with the same columns as the others",
                got="other columns" if found else "none",
                where=f"results/{folder}/report.md",
                remedy="name what stands there, or make two tables",
            )
        lines += found
    return "\n".join([*heads.pop(), *lines])


def _first_table(folder: str, model: str) -> list[str]:
    """The lines of the first table about a kind of model."""
    text = (RESULTS / folder / "report.md").read_text(encoding="utf-8")
    section = text.split(f"\n### imdb, {model}, ")[1]
    return section.split("\n\n")[1].splitlines()
