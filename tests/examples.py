"""Numbers of examples of a property and of places that a sweep visits: fewer in the everyday tier and in CI."""

from __future__ import annotations

import os

FEW, HALF = "few", "half"
"""Values of the variable `EXAMPLES`: `./run test` sets the first one, `./run test --ci` the second one."""
_DIVISORS = {FEW: 5, HALF: 2}


def few() -> bool:
    """Return true in the everyday tier."""
    return _said() == FEW


def examples(count: int) -> int:
    """Return `count`, a half of it in CI, or a fifth of it where few are asked for.

    The examples are others in each run, so that several runs of CI see what one long run sees.
    """
    return max(count // _DIVISORS.get(_said(), 1), min(count, 5))


def stride() -> int:
    """Return how far apart the calls are at which a sweep breaks in: three where few are asked for, else one."""
    return 3 if few() else 1


def places(count: int) -> range:
    """Return the calls of a flow at which a sweep breaks in: all of `count`, or every third where few are asked for."""
    return range(0, count, stride())


def _said() -> str:
    return os.environ.get("EXAMPLES", "")
