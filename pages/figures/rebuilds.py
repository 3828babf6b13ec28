"""Models that were trained again at a later commit (results/rebuilds), beside their rows."""

from __future__ import annotations

from pages.registry import figure
from pages.rows import rows


@figure
def rebuilds() -> list[list[str]]:
    """One line for each run that was repeated."""
    lines = []
    for row in rows("rebuilds/rows"):
        found = row["outcomes"]
        attacks = [each for name, each in found.items() if name != "clean" and not name.startswith("certified")]
        clean, certified = found["clean"], found["certified"]
        lines.append(
            [
                f"`{row['cell']}`",
                f"`{row['before'][:7]}`" + (", run again" if row["same_machine"] else ", published"),
                f"`{row['after'][:7]}`",
                "the same" if row["same_training"] else "another",
                *(_others([each]) for each in (clean, certified)),
                _others(attacks),
            ]
        )
    return lines


def _others(outcomes: list[dict[str, int]]) -> str:
    return f"{sum(each['other'] for each in outcomes)} of {sum(each['texts'] for each in outcomes):,}"
