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
        within = [each for name, each in found.items() if name.startswith("certified, ")]
        attacks = [each for name, each in found.items() if not name.startswith(("clean", "certified"))]
        lines.append(
            [
                f"`{row['cell']}`",
                f"`{row['before'][:7]}`" + (", run again" if row["same_machine"] else ", published"),
                f"`{row['after'][:7]}`",
                "the same" if row["same_training"] else "another",
                *(_others(each) for each in ([found["clean"]], [found["certified"]], within, attacks)),
            ]
        )
    return lines


def _others(outcomes: list[dict[str, int]]) -> str:
    before, after, texts = (sum(each[name] for each in outcomes) for name in ("only_before", "only_after", "texts"))
    return f"{before} and {after} of {texts:,}" if before or after else f"0 of {texts:,}"
