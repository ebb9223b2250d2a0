"""Version of the installed package."""

from __future__ import annotations

import sys
from importlib.metadata import version

__version__ = version("graveler")


def show_version() -> None:
    """Print the name and the version of the package."""
    sys.stdout.write(f"graveler {__version__}\n")
