"""Files that a real server of lakeFS wrote: see `lakefs_history`."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.foreign.lakefs_history import BLOCKS

PLACE = Path(__file__).parent / "lakefs"
NAMESPACE = PLACE / "blocks" / "flights"
TABLES = sorted(path for path in (NAMESPACE / "_lakefs").iterdir() if path.name != "dummy")
TWO_LEVELS = PLACE / "two-level.sst"
"""Table with an index of two levels, written with Pebble with blocks of 300 bytes and index blocks of 200."""


def manifest(state: str) -> str:
    """URI of the manifest of a dump: `first` or `second`."""
    return (PLACE / f"refs-{state}.json").as_uri()


@cache
def expected(state: str) -> Any:
    """What the server said of branches, tags and commits, at the time of a dump."""
    return _read("expected")[state]


@cache
def answers() -> Any:
    """The answers of the server to a migration with uncommitted changes."""
    return _read("answers")


def _read(name: str) -> Any:
    text = gzip.decompress((PLACE / f"{name}.json.gz").read_bytes()).decode()
    return json.loads(text.replace(BLOCKS, str(PLACE / "blocks")))
