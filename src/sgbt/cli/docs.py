"""`sgbt docs`: the documentation as a site that was built, in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from sgbt.cli.screen import Screen
from sgbt.version import PACKAGE

console = Screen()
SITE = Path("site") / "index.html"


def docs() -> None:
    """Open the documentation in the browser: the site that `make docs` builds, here or where sgbt was cloned."""
    clone = PACKAGE.parents[1]
    built = next((path for path in (SITE.absolute(), clone / SITE) if path.is_file()), None)
    if built is not None:
        console.print(str(built), soft_wrap=True, markup=False)
        webbrowser.open(built.as_uri())
        return
    if (clone / "mkdocs.yml").is_file():
        console.print(f"the site is not built yet: run make docs in {clone}", soft_wrap=True, markup=False)
        console.print(f"its pages are Markdown: {clone / 'docs' / 'index.md'}", soft_wrap=True, markup=False)
        return
    console.print("an installed sgbt has no pages: make docs in a clone of its repository builds the site")
    console.print("here, sgbt --help, sgbt train --help and man sgbt say what each command takes")
