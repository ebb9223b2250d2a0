"""Numbers of examples of a property and of places that a sweep visits: all in CI, fewer in the everyday tier."""

from __future__ import annotations

import os

FEW = "few"
"""Value of the variable `EXAMPLES`, which `./run test` sets."""


def few() -> bool:
    """Return true in the everyday tier."""
    return os.environ.get("EXAMPLES") == FEW


def examples(count: int) -> int:
    """Return `count`, or a fifth of it where few are asked for."""
    return max(count // 5, 5) if few() else count


def places(count: int) -> range:
    """Return the calls of a flow at which a sweep breaks in: all of `count`, or every third where few are asked for."""
    return range(0, count, 3 if few() else 1)
