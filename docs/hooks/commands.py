"""The page of commands, written from the command line itself while the site is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from sgbt.cli.verbs import VERBS

PAGE = "reference/commands.md"
INTRODUCTION = """# Commands

Every command reports bad input in one sentence with exit code 2; `--debug` shows the traceback. Each prints with
`--help` what this page says. An interrupted command, run again, resumes.
"""


def on_files(files: Files, config: MkDocsConfig, **_: object) -> Files:
    """Add the page to the site."""
    files.append(File.generated(config, PAGE, content=page()))
    return files


def page() -> str:
    """All commands with all their options."""
    sections = [INTRODUCTION]
    for name, verb in VERBS.items():
        command = verb.load(name)
        parts = getattr(command, "commands", None)
        if parts is None:
            sections += section(f"sgbt {name}", command)
            continue
        for part, own in parts.items():
            sections += section(f"sgbt {name} {part}", own)
    return "\n".join(sections)


def section(title: str, command: Any) -> Iterator[str]:
    """One command: what it does, and a table of what it takes."""
    yield f"\n## {title}\n\n{command.help}\n"
    yield "| | what | default |\n|---|---|---|"
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name, default = f"`{parameter.name.upper()}`", "" if parameter.required else "none"
        else:
            name = ", ".join(f"`{option}`" for option in parameter.opts)
            default = "required" if parameter.required else shown(parameter.default)
        yield f"| {name} | {escaped(parameter.help or '')} | {default} |"


def shown(default: object) -> str:
    """A default value as a person would write it."""
    return "" if default is None or default is False or default == "" else f"`{default}`"


def escaped(text: str) -> str:
    """A help text inside a table of Markdown."""
    return text.replace("|", "\\|").replace("<", "&lt;")
