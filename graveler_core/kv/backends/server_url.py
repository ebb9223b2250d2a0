"""URLs of stores on a server: `scheme://user:password@host:port/path?option=value`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from graveler_core.errors import InvalidInput, Kind
from graveler_core.telemetry.secrets import without_password

Options = Mapping[str, Callable[[str], Any]]
"""A function for each option that a URL may have. It converts the text, or raises `ValueError` with the valid form."""


@dataclass(frozen=True, slots=True)
class ServerURL:
    """Parts of a URL, decoded."""

    host: str
    port: int | None
    user: str | None
    password: str | None = field(repr=False)
    path: str
    """The path without the slash at its beginning."""
    options: Mapping[str, Any]
    shown: str
    """URL without secrets, for messages."""


def parse_server_url(url: str, example: str, options: Options) -> ServerURL:
    """Parse the URL of a store.

    Args:
        url: The URL.
        example: Example of such a URL, for messages.
        options: The options that it may have.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    shown = without_password(url)
    try:
        parts = urlsplit(f"store://{url.partition('://')[2]}")
        host, port = parts.hostname, parts.port
    except ValueError:
        # The original error is dropped, because its message may contain the password.
        raise invalid_url(shown, "host and port cannot be read", example) from None
    given: dict[str, Any] = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name not in options:
            raise invalid_url(shown, f"{name} is not one of the options {', '.join(sorted(options))}", example)
        try:
            given[name] = options[name](text)
        except ValueError as error:
            raise invalid_url(shown, f"{name} must be {error}", example) from None
    if parts.fragment:
        raise invalid_url(shown, "it has a fragment", example)
    return ServerURL(
        host=host or "127.0.0.1",
        port=port,
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        path=unquote(parts.path.removeprefix("/")),
        options=given,
        shown=shown,
    )


def invalid_url(shown: str, why: str, example: str) -> InvalidInput:
    """Return the error for a URL that cannot be used.

    Args:
        shown: URL without secrets.
        why: The rule that it breaks.
        example: Example of such a URL.
    """
    return InvalidInput(f"{shown!r} is not a valid URL: {why}; write {example}", kind=Kind.InvalidUrl, url=shown)


def seconds(text: str) -> int:
    """Return the value of an option that is a time-out."""
    if not text.isdecimal() or not int(text):
        raise ValueError("a number of seconds, 1 or more")
    return int(text)


def truth(text: str) -> bool:
    """Return the value of an option that is true or false."""
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def file(text: str) -> str:
    """Return the value of an option that names a file."""
    if not Path(text).is_file():
        raise ValueError("the path of a file")
    return text
