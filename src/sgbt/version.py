"""The version of this package."""

from pathlib import Path

__version__ = "0.2.0"

PACKAGE = Path(__file__).resolve().parent
"""The folder that this package was imported from."""
