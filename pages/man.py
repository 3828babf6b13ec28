"""The manual page docs/sgbt.1, written from the command line itself; wheels install it as `man sgbt`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sgbt.cli.verbs import VERBS
from sgbt.version import __version__

MAN = "docs/sgbt.1"
BEGINNING = f""".TH SGBT 1 "" "sgbt {__version__}" "User Commands"
.SH NAME
sgbt \\- text classifiers that word substitution cannot fool
.SH SYNOPSIS
.B sgbt
.I command
.RI [ options ]
.SH DESCRIPTION
Every command reports bad input in one sentence with exit code 2; \\fB\\-\\-debug\\fR shows the traceback.
An interrupted command, run again, resumes.
\\fBsgbt \\-\\-install\\-completion\\fR makes the shell
complete commands and options.
.SH COMMANDS"""


def man_page() -> str:
    """All commands with all their options, in roff."""
    lines = [BEGINNING]
    for name, verb in VERBS.items():
        command = verb.load(name)
        parts = getattr(command, "commands", None) or {"": command}
        for part, own in parts.items():
            lines += _command(f"sgbt {name} {part}".strip(), own)
        lines += [".PP", "For example:", f".B {_plain(verb.example)}"] if verb.example else []
    return "\n".join(lines) + "\n"


def _command(title: str, command: Any) -> Iterator[str]:
    yield f".SS {_plain(title)}"
    yield _plain(" ".join((command.help or "").split()))
    for parameter in command.params:
        names = [parameter.name.upper()] if parameter.param_type_name == "argument" else [*parameter.opts]
        yield ".TP"
        yield f".B {_plain(', '.join(names))}"
        yield _plain(" ".join((getattr(parameter, "help", None) or "").split()) or "-")


def _plain(text: str) -> str:
    """Text in which roff sees no command of its own."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
