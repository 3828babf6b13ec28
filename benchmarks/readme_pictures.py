"""The two pictures of README.md as SVG: one review with its proof, and the methods of Table 1 as bars."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from sgbt.evaluate import RunRecord, read_records
from sgbt.report.charts import Axis, Drawing

ROOT = Path(__file__).parents[1]
METHODS = ("standard", "gbm", "sgbt", "ascc", "atfl", "sem", "ibp", "certified-ties")
NAMES = {"certified-ties": "tied words"}
ATTACKS = ("pwws", "genetic", "pso")
BARS = (("clean", "s7", 0.35), ("robust", "s0", 0.75), ("certified", "s2", 0.95))
WIDTH = 860
STYLE = (
    "<style>svg .bar { stroke: none; } "
    + " ".join(f"svg .bar.s{n} {{ fill: var(--s{n}); }}" for n in range(8))
    + " svg text.code { font: 13px ui-monospace, Menlo, Consolas, monospace; }</style>"
)
LETTER = 7.9
"""The width of a letter in the monospaced lines of the review."""


def shares(record: RunRecord) -> dict[str, float]:
    """Clean, robust and certified accuracy of one run, all on the texts that were attacked."""
    attacks = record.metrics["attacks"]
    one = attacks[ATTACKS[0]]
    kept = [record.outcome(attack) for attack in ATTACKS]
    robust = sum(all(each) for each in zip(*(each for each in kept if each is not None), strict=True))
    counts = {"clean": one["aua_total"], "robust": robust, "certified": one["certified_texts_attacked"]}
    return {name: count / one["robust_total"] for name, count in counts.items()}


def methods() -> str:
    """Clean, robust and certified accuracy by method: the TextCNN of results/table1-imdb, on the same 500 reviews."""
    records = read_records(ROOT / "results" / "table1-imdb" / "records.jsonl")
    drawing = Drawing(WIDTH, 300, "clean, robust and certified accuracy by method", [STYLE])
    y, left, wide = Axis(0.0, 1.0, 232, 24), 52, (WIDTH - 72) / len(METHODS)
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        drawing.line(left, y(value), WIDTH - 16, y(value), "grid")
        drawing.text(left - 8, y(value) + 4, f"{100 * value:.0f} %", "tick", "end")
    for number, name in enumerate(METHODS):
        runs = [shares(each) for each in records if (each.model, each.label) == ("cnn", name)]
        start = left + number * wide + 12
        for place, (kind, colour, strength) in enumerate(BARS):
            value = sum(run[kind] for run in runs) / len(runs)
            x, across = start + place * (wide - 24) / 3, (wide - 24) / 3 - 2
            drawing.rect(
                x, y(value), across, y(0.0) - y(value), f"bar {colour}", strength, f"{name}: {kind} {value:.1%}"
            )
            drawing.text(x + across / 2, y(value) - 4, f"{100 * value:.0f}", "tick")
        drawing.text(start + (wide - 24) / 2, 252, NAMES.get(name, name))
    for place, (kind, colour, strength) in enumerate(BARS):
        x = left + 160 + 170 * place
        drawing.rect(x, 272, 14, 14, f"bar {colour}", strength, kind)
        drawing.text(x + 20, 284, f"{kind} accuracy", "tick", "start")
    return drawing.svg()


def idea() -> str:
    """One review, what may replace its words, the attack that breaks one model and the proof about the other."""
    (line,) = (ROOT / "results" / "pictures" / "idea.jsonl").read_text(encoding="utf-8").splitlines()
    row = json.loads(line)
    lines = _lines(row["text"])
    drawing = Drawing(WIDTH, 0, "one review, its substitutes, an attack and a proof", [STYLE])
    drawing.text(20, 28, f"A review of IMDB, labelled {row['label']}. Marked words have substitutes:", anchor="start")
    top = 54
    choices = {word: substitutes for word, substitutes in row["words"] if substitutes}
    for number, words in enumerate(lines):
        _write(drawing, words, top + 24 * number, choices)
    top += 24 * len(lines) + 6
    replaced = [swap["old"] for swap in row["attack"]["swaps"] if swap["old"] in choices]
    for number, word in enumerate(replaced):
        drawing.text(20, top + 18 * number, f"{word} → {', '.join(choices[word])}", "tick", "start")
    top += 18 * len(replaced) + 2
    drawing.text(
        20, top + 4, f"and so on: about 10^{row['log10_variants']:.0f} variants of this review.", anchor="start"
    )
    top += 24
    _verdicts(drawing, row, top)
    return drawing.svg().replace(f'viewBox="0 0 {WIDTH} 0"', f'viewBox="0 0 {WIDTH} {top + 118}"')


def _lines(text: str) -> list[list[str]]:
    """The words of a text in lines that fit."""
    lines: list[list[str]] = [[]]
    for word in text.split():
        if lines[-1] and (len(" ".join(lines[-1])) + 1 + len(word)) * LETTER > WIDTH - 50:
            lines.append([])
        lines[-1].append(word)
    return lines


def _write(drawing: Drawing, words: list[str], y: float, choices: Mapping[str, Any]) -> None:
    """One line of the review, words with substitutes marked."""
    x = 24.0
    for word in words:
        across = LETTER * len(word)
        bare = word.strip(".,!?;:\"'()").lower()
        if bare in choices:
            told = f"{bare}: {', '.join(choices[bare])}"
            drawing.rect(x - 3, y - 15, across + 6, 21, "bar s1", 0.28, told)
        drawing.shapes.append(
            f'<text class="code" x="{x:.1f}" y="{y:.1f}" textLength="{across:.1f}">{escape(word)}</text>'
        )
        x += across + LETTER


def _verdicts(drawing: Drawing, row: Mapping[str, Any], top: float) -> None:
    """What becomes of the review under attack, and what is proven of all its variants."""
    half = (WIDTH - 60) / 2
    for x, colour in ((20.0, "s3"), (40.0 + half, "s2")):
        drawing.rect(x, top, half, 100, f"bar {colour}", 0.12, "")
    changes = row["attack"]["swaps"]
    told = ", ".join(f"{each['old']} → {each['new']}" for each in changes)
    drawing.text(34, top + 26, "TextCNN, standard training: broken", "value", "start")
    drawing.text(34, top + 52, f"{len(changes)} words replaced, and the label changes:", anchor="start")
    drawing.text(34, top + 78, told, anchor="start")
    drawing.text(54 + half, top + 26, "TextCNN, certified training: proven", "value", "start")
    drawing.text(54 + half, top + 52, f"margin of the review as it is: {row['clean_margin']:.2f}", anchor="start")
    proven = f"margin of every variant: at least {row['proven_margin']:.2f}, above 0"
    drawing.text(54 + half, top + 78, proven, anchor="start")
