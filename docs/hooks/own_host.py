"""No built page asks another host for anything: the theme's one script from elsewhere is replaced by our own."""

from __future__ import annotations

from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
"""What the theme's plugin `offline` adds so that search works in pages opened from the disk."""

OWN = "assets/worker.js"


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Point the script at our own file, which does the same."""
    return output.replace(ELSEWHERE, get_relative_url(OWN, page.url))


def on_post_template(output_content: str, **_: object) -> str:
    """The page for addresses that do not exist needs no search."""
    return output_content.replace(f'<script src="{ELSEWHERE}"></script>', "")
