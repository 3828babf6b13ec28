"""The command `sgbt`: one thin file per verb, and one way to report what went wrong."""

from sgbt.cli.app import main

__all__ = ["main"]
