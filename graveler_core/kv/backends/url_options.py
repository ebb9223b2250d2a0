"""The query of a store's URL, as options by name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import parse_qsl

from graveler_core.errors import InvalidInput, Kind
from graveler_core.telemetry.secrets import without_password

ANSWER_SECONDS: Final = 20
"""Default of the maximum time until an answer arrives."""
CONNECT_SECONDS: Final = 5
"""Maximum time until a connection is made."""
_FOREVER: Final = 1_000_000


def query_options(url: str, known: Collection[str] | None = None) -> dict[str, str]:
    """Return the options of a URL.

    Args:
        url: The URL.
        known: Names of the options that the store has. `None` if this function does not check them.

    Raises:
        InvalidInput: Kind InvalidUrl: an option is unknown, repeated or without a value.
    """
    options: dict[str, str] = {}
    for name, value in parse_qsl(url.partition("?")[2], keep_blank_values=True):
        if name in options or not value or (known is not None and name not in known):
            names = "" if known is None else f"; the options are {', '.join(sorted(known))}"
            raise invalid_url(url, f"the option {name!r} is unknown, repeated or empty{names}")
        options[name] = value
    return options


def seconds(url: str, given: str | None, default: float) -> float:
    """Return a time in seconds that an option gives, or the default.

    Args:
        url: The URL.
        given: Value of the option.
        default: Value without the option.

    Raises:
        InvalidInput: Kind InvalidUrl: it is not a positive number.
    """
    try:
        found = default if given is None else float(given)
    except ValueError:
        found = 0.0
    if not 0 < found < _FOREVER:
        raise invalid_url(url, f"the timeout is {given!r}; it must be a positive number of seconds")
    return found


def invalid_url(url: str, rule: str) -> InvalidInput:
    """Return the error for a URL that breaks a rule."""
    shown = without_password(url)
    return InvalidInput(f"{shown!r} is not a valid URL of a store: {rule}", kind=Kind.InvalidUrl, url=shown)
