"""A SQL database to migrate from, in which there is nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.lifecycle.sources import make_tables, opened


@cache
def nothing() -> str:
    """The URL of a database with the tables, and no rows."""
    url = f"sqlite:///{mkdtemp()}/source.db"
    with opened(url) as connection:
        make_tables(connection)
    return url


def new_file() -> Path:
    """Where a file can be made."""
    return Path(mkdtemp()) / "new"
