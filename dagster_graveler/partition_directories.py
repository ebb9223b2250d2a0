"""Names of the directories of partitions below a table: `month=2026-01/`, as Hive writes them."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote


def directory(names: Sequence[str], values: Sequence[str]) -> str:
    """Return the directory of a partition below its table. Ends in a slash."""
    return "".join(f"{escaped(name)}={escaped(value)}/" for name, value in zip(names, values, strict=True))


def escaped(text: str) -> str:
    """Return a text as part of a directory name: all but letters, digits and `-_.~` are escaped as in URLs."""
    return quote(text, safe="-_.~")
