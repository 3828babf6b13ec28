"""Formulas become MathML while the site is built, so that a page needs no script and no other host to show them."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Replace what pymdownx.arithmatex marked, \\(...\\) and \\[...\\], by MathML."""
    return FORMULA.sub(_drawn, content)


def _drawn(match: re.Match[str]) -> str:
    latex = html.unescape(match[2]).strip()
    for opening, closing in ((r"\(", r"\)"), (r"\[", r"\]")):
        latex = latex.removeprefix(opening).removesuffix(closing)
    block = match[1] == "div"
    drawn = convert(latex.strip(), display="block" if block else "inline")
    return f'<div class="formula">{drawn}</div>' if block else drawn
