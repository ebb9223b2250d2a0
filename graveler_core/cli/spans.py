"""Time spans in short form: 7d, 36h, 90m, 30s."""

from __future__ import annotations

import re
from datetime import timedelta

from graveler_core.errors import InvalidInput
from graveler_core.model.clock import to_the_second

_SPAN = re.compile(r"([0-9]{1,6})([dhms])")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def span(option: str, text: str, *, positive: bool = False) -> timedelta:
    """Parse the value of an option that is a time span, such as 7d.

    Args:
        option: Name of the option, for the error message.
        text: Value of the option.
        positive: Refuse a span of zero.

    Raises:
        InvalidInput: The value is not a time span.
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        raise InvalidInput(f"{option} {text!r}: must be a number and d, h, m or s, as in 7d")
    if positive and not int(found[1]):
        raise InvalidInput(f"{option} {text!r}: must be more than zero, as in 7d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def span_for_people(time: timedelta) -> str:
    """Format a time span, rounded to the second."""
    return str(to_the_second(time))
