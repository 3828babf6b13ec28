"""The page on extensions: the section of CONTRIBUTING.md whose examples the tests install and run."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGE = "howto/extending.md"
TITLE = "Adding a model, a threat, a tier, an attack or an objective\n"


def on_files(files: Files, config: MkDocsConfig, **_: object) -> Files:
    """Add the page to the site."""
    text = (Path(config.config_file_path).parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split(f"## {TITLE}")[1].split("\n## ")[0]
    files.append(File.generated(config, PAGE, content=f"# {TITLE}{section}"))
    return files
