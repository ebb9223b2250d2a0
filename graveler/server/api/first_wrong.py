"""Maps of requests in which only the first wrong value is reported.

pydantic reports every wrong value. A body of a request has room for some hundred thousand, and their report would take
the event loop seconds.
"""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BeforeValidator


def first_wrong(is_right: Callable[[object], bool]) -> BeforeValidator:
    """Return a validator that removes all but the first wrong value of a map, if there is one.

    Args:
        is_right: Returns true if the validation of a value will succeed.
    """

    def shortened(given: object) -> object:
        if isinstance(given, dict):
            for key, value in given.items():
                if not is_right(value):
                    return {key: value}
        return given

    return BeforeValidator(shortened)
