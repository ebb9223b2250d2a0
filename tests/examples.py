"""Numbers of examples of a property and of places that a sweep visits: fewer in the everyday tier and in CI.

Examples and places are others in each run, so that several runs of CI see what one long run sees.
"""

from __future__ import annotations

import os
import random

FEW, HALF = "few", "half"
"""Values of the variable `EXAMPLES`: `./run test` sets the first one, `./run test --ci` the second one."""
_DIVISORS = {FEW: 8, HALF: 2}
_LEAST = {FEW: 3}
_STRIDES = {FEW: 5, HALF: 2}


def few() -> bool:
    """Return true in the everyday tier."""
    return _said() == FEW


def examples(count: int) -> int:
    """Return `count`, a half of it in CI, or an eighth of it where few are asked for."""
    return max(count // _DIVISORS.get(_said(), 1), min(count, _LEAST.get(_said(), 5)))


def stride() -> int:
    """Return the distance of calls at which a sweep breaks in: five where few are asked for, two in CI, or one."""
    return _STRIDES.get(_said(), 1)


def first_place(step: int) -> int:
    """Return the call at which a sweep breaks in first, if it breaks in at each call that is `step` behind the last."""
    return random.randrange(step)


def places(count: int, step: int = 1) -> range:
    """Return the calls of a flow at which a sweep breaks in.

    Args:
        count: Number of calls of the flow.
        step: Distance of the calls in the longest tier.
    """
    apart = step * stride()
    return range(first_place(apart), count, apart)


def _said() -> str:
    return os.environ.get("EXAMPLES", "")
