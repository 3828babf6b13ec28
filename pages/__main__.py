"""Write the numbers and tables of every page, and the manual page, anew: `make pages`."""

from __future__ import annotations

import sys
from pathlib import Path

from pages.figures import FIGURES
from pages.man import MAN, man_page
from pages.markers import filled
from pages.rows import ROOT
from sgbt.core.errors import SgbtError
from sgbt.core.files import atomic_write


def current(root: Path = ROOT) -> dict[str, tuple[str, str]]:
    """Every page by its name: as it is, and as the rows would have it."""
    found = {}
    for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        found[name] = text, filled(text, FIGURES, name)
    manual = root / MAN
    found[MAN] = manual.read_text(encoding="utf-8") if manual.is_file() else "", man_page()
    return found


def write(root: Path = ROOT) -> list[str]:
    """Write the pages that are not current, and name them; none is written if one of them cannot be filled."""
    changed = {name: new for name, (old, new) in current(root).items() if old != new}
    for name, new in changed.items():
        with atomic_write(root / name) as stream:
            stream.write(new.encode())
    return list(changed)


def main() -> None:
    """Write the pages and say which; a page that cannot be filled is one sentence."""
    try:
        print("\n".join(f"wrote {name}" for name in write()) or "every page is current")
    except SgbtError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
